"""Pages of the reproduction and of the arena."""
