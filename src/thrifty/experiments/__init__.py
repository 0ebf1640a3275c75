"""Studies with something to say: the paper's experiments and claims, the arena and its ranking."""
