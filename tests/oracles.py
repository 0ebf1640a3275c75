"""Slow, obvious twins of the fast code: plain NumPy, SciPy and CVXPY, and nothing of thrifty."""

from typing import NamedTuple

import cvxpy as cp
import numpy as np


class NormalForm(NamedTuple):
    """minimise costs . a  subject to  z_i^T (base + sum_j a_j v_j v_j^T)^-1 z_i <= 1."""

    rows: np.ndarray  # (n,) arms that a column and a constraint stand for
    v: np.ndarray  # (n, r)
    z: np.ndarray  # (n, r)
    costs: np.ndarray  # (n,)
    base: np.ndarray  # (r, r)


def normal_form(features, gaps, best, noise=1.0, base=None) -> NormalForm:
    """Project the optimal arms away with a pseudo-inverse, and use an SVD basis of what is left."""
    features, gaps, best = (
        np.asarray(features, float),
        np.asarray(gaps, float),
        np.asarray(best, bool),
    )
    d = features.shape[1]
    projector = np.eye(d)
    if base is None and best.any():
        directions = features[best] / np.maximum(
            np.linalg.norm(features[best], axis=1, keepdims=True), 1e-300
        )
        projector -= np.linalg.pinv(directions, rcond=1e-10) @ directions
    projected = features @ projector
    lengths, sizes = np.linalg.norm(projected, axis=1), np.linalg.norm(features, axis=1)
    rows = np.flatnonzero(~best & (lengths > 1e-9 * sizes))
    known = np.zeros((d, d)) if base is None else np.asarray(base, float)
    spanning = [projected[rows] / np.maximum(lengths[rows, None], 1e-300)]
    if known.any():
        spanning.append(known / np.abs(known).max())
    _, singular, right = (
        np.linalg.svd(np.concatenate(spanning))
        if len(rows) or known.any()
        else (0, np.zeros(0), np.eye(d))
    )
    basis = right[: int((singular > 1e-9).sum())]
    v = projected[rows] @ basis.T
    return NormalForm(
        rows, v, np.sqrt(2) * noise * v / gaps[rows, None], gaps[rows], basis @ known @ basis.T
    )


def certificate(features, gaps, best, pulls, prices, noise=1.0, base=None) -> tuple[float, float]:
    """(lower, upper) on the optimal value, from pulls and prices alone (docs/allocation.md, section
    4).
    """
    form = normal_form(features, gaps, best, noise, base)
    if len(form.rows) == 0:
        return 0.0, 0.0
    a, w = np.asarray(pulls)[form.rows], np.asarray(prices)[form.rows]
    # base + sum a v v^T = R^T R by QR of the weighted rows, which does not square their condition
    # number; large rows first
    eigenvalues, eigenvectors = np.linalg.eigh(form.base)
    weighted = np.concatenate(
        [
            np.sqrt(a)[:, None] * form.v,
            np.sqrt(np.maximum(eigenvalues, 0))[:, None] * eigenvectors.T,
        ]
    )
    weighted = weighted[np.argsort(-np.linalg.norm(weighted, axis=1))]
    root = np.linalg.qr(weighted, mode="r")
    z, v = np.linalg.solve(root.T, form.z.T).T, np.linalg.solve(root.T, form.v.T).T
    g = (z**2).sum(axis=1)
    der = w @ (z @ v.T) ** 2
    if base is None:
        upper = form.costs @ a * g.max()
        lower = (w @ g) ** 2 / ((der / form.costs).max() * w.sum())
    elif not w.any():
        return 0.0, form.costs @ a if g.max() <= 1 + 1e-9 else np.inf
    else:
        scale = (form.costs / der).min()
        upper = form.costs @ a if g.max() <= 1 + 1e-9 else np.inf
        lower = max(0.0, scale * (w @ (g - 1) + der @ a))
    return float(lower), float(upper)


def conic_value(features, gaps, best, noise=1.0, base=None) -> float:
    """The optimal value of the reduced program by CVXPY and Clarabel, from a modelling layer that
    knows nothing of ours.
    """
    form = normal_form(features, gaps, best, noise, base)
    if len(form.rows) == 0:
        return 0.0
    # whitened by equal spending: the same value, and numbers that a conic solver can handle
    spread = form.base + np.einsum("j,jk,jl->kl", 1 / form.costs, form.v, form.v)
    whitener = np.linalg.inv(np.linalg.cholesky(spread)).T
    u, z = form.v @ whitener / np.sqrt(form.costs)[:, None], form.z @ whitener
    unit = (z**2).sum(axis=1).max()
    spend = cp.Variable(len(u), nonneg=True)
    information = whitener.T @ form.base @ whitener / unit + u.T @ cp.diag(spend) @ u
    problem = cp.Problem(
        cp.Minimize(cp.sum(spend)),
        [cp.matrix_frac(row / np.sqrt(unit), information) <= 1 for row in z],
    )
    tolerances = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}
    problem.solve(solver=cp.CLARABEL, **tolerances)
    assert problem.status == "optimal"
    return float(problem.value * unit)
