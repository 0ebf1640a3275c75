"""A policy in use: the learner, its decisions, its state as a file."""
