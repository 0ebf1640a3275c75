"""Whether the optimal allocation of a problem without base information is the only one.

In the normal form with unit costs (docs/allocation.md, section 3), let a be optimal with dual
variables w, A = A(a) and y_i = A^-1 z_i. The Lagrangian is convex, and another optimal point a + e
minimises it, too: it is constant between the two. The second derivative of g_i along e vanishes
only if D y_i = 0 with D = sum_j e_j u_j u_j^T, so that

    sum_j e_j (u_j . y_i) u_j = 0   for all i with w_i > 0,

and e_j = 0 where the reduced cost 1 - der_j is positive, e_j >= 0 where a_j = 0. The allocation is
unique if e = 0 is the only such e.
"""

import numpy as np

from thrifty.allocation.arms import reduced_point
from thrifty.allocation.reduction import reduce_arms
from thrifty.numerics.arrays import Bools, Floats

REDUCED_COST = 1e-6  # up to this, a column could have positive spend
POSITIVE = 1e-6  # spend and dual variables below this share of the largest count as zero
DEPENDENT = 1e-6  # singular values below this share of the largest count as zero
MOST_ENTRIES = 5_000_000  # of the system of equations; larger ones are not examined


def is_unique(
    features: Floats, gaps: Floats, best: Bools, noise: float, pulls: Floats, prices: Floats
) -> bool | None:
    """Whether pulls (k,), optimal with prices (k,), are unique; None if too large to tell."""
    reduction = reduce_arms(np.array(features), gaps, best, noise)
    columns, constraints, _, _, rows, costs, pulls_unit, value_unit, _ = reduction
    spend, duals = reduced_point(rows, costs, pulls_unit, value_unit, pulls, prices, True)
    if columns.shape[0] == 0 or not spend.any():
        return True
    inverse = np.linalg.inv((columns * spend) @ columns.T)
    binding = duals > POSITIVE * duals.max()
    y = inverse @ constraints[:, binding]
    along = columns.T @ y  # (k', l) u_j . y_i
    der = (along**2) @ duals[binding]
    usable = der >= der.max() * (1 - REDUCED_COST)
    if usable.sum() * y.size > MOST_ENTRIES:
        return None
    system = np.einsum("ji,dj->idj", along[usable], columns[:, usable]).reshape(y.size, -1)
    return not _has_other_solution(system, spend[usable] > POSITIVE * spend.max())


def _has_other_solution(system: Floats, free: Bools) -> bool:
    """Whether system e = 0 for an e other than 0, with e_j >= 0 unless free."""
    singular, right = np.linalg.svd(system)[1:]
    rank = int((singular > DEPENDENT * singular[0]).sum())
    null = right[rank:].T
    if null.shape[1] == 0:
        return False
    if free.all():
        return True
    from scipy.optimize import linprog  # slow to import, and rarely needed

    # the e of the null space, e = null c, with the largest sum over the entries that must be >= 0;
    # if that is 0 they are all 0, and the free ones must have a null space of their own
    weights = null[~free].sum(axis=0)
    optimum = linprog(-weights, A_ub=-null[~free], b_ub=np.zeros((~free).sum()), bounds=(-1, 1))
    if optimum.status == 0 and -optimum.fun > DEPENDENT:
        return True
    smaller = np.linalg.svd(system[:, free], compute_uv=False) if free.any() else np.empty(0)
    return int((smaller > DEPENDENT * singular[0]).sum()) < free.sum()
