"""Clients of the service in Python."""
