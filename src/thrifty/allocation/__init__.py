"""The allocation program: the pulls of each arm that identify the best arms at least regret.

`allocate` is the interface for Python. Compiled code calls `arms.allocate_arms`,
`differences.allocate_differences` or `working_sets.solve_program`.
"""

from thrifty.allocation.allocations import Allocation, Status, allocate

__all__ = ["Allocation", "Status", "allocate"]
