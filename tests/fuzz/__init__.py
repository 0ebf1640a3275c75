"""Attacks with random input: bounded in `make test`, long by `make fuzz`."""
