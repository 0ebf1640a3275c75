"""Decisions over HTTP: a durable log, from which everything can be computed again."""
