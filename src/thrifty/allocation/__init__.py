"""The convex program at the heart of thrifty: how often each arm must be tried, at the least
regret.

`allocate` is the door for people, `arms.allocate_arms` and `working_sets.solve_program` the ones
for compiled code.
"""

from thrifty.allocation.allocations import Allocation, Status, allocate

__all__ = ["Allocation", "Status", "allocate"]
