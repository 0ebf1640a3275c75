"""Figures, tables and pages of results; simulates nothing and knows no particular experiment."""
