"""The allocation program: the pulls of each arm that identify the best arms at least regret.

`allocate` is the interface for Python, `arms.allocate_arms` the one for compiled code.
"""

from thrifty.allocation.allocations import Allocation, Status, allocate

__all__ = ["Allocation", "Status", "allocate"]
