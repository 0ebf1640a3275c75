"""Experiments: the paper's reproduction and its claims, and the arena with its ranking."""
