"""One kind of attack for some seconds: `python -m tests.fuzz KIND SECONDS SEED`."""

import sys
import time
from importlib import import_module

import numpy as np


def main():
    kind, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    module = import_module(f"tests.fuzz.{kind}")
    try:
        print(f"{attacked(module.attack, kind, seconds, seed)} attacks")
    finally:
        getattr(module, "finish", lambda: None)()


def attacked(attack, kind, seconds, seed):
    """Attack for some seconds; returns how often."""
    attack(np.random.default_rng([seed, 0]))  # compiles, which does not count
    count, begun = 1, time.monotonic()
    while time.monotonic() - begun < seconds:
        try:
            attack(np.random.default_rng([seed, count]))
        except BaseException:
            print(f"attack {kind} failed with default_rng([{seed}, {count}])", file=sys.stderr)
            raise
        count += 1
    return count


if __name__ == "__main__":
    main()
