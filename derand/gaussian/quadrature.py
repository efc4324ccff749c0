"""Gauss-Hermite rules for the standard normal measure, in one and several dimensions.

The nodes are the zeros of the Hermite polynomial of degree n: eigenvalues of the tridiagonal Jacobi matrix (Golub and
Welsch), polished by one Newton step.  The weights 1/(n p_{n-1}(x)^2), with p_k orthonormal, come from a three-term
recurrence whose values carry their own exponents, since p_{n-1} overflows at the outer nodes from n = 400 on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from derand._utils.validation import FloatArray, check_int
from derand.exceptions import BudgetExceededError

__all__ = ["gauss_hermite", "tensor_gauss_hermite"]

_MAX_NODES = 20_000
# Values are brought back to size one every so many steps; growth over that many steps stays far below the overflow
# limit.
_RESCALE_EVERY = 32


def gauss_hermite(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the n-point Gauss rule for E[f(z)], z standard normal.

    E[f(z)] is approximated by ``weights @ f(nodes)``, exactly so for polynomials of degree at most 2n - 1.  Finite for
    every n: the smallest weights underflow to 0 from n = 400 on, where their true value is below 1e-308.

    Parameters
    ----------
    n : int
        Number of nodes, 1 to 20,000.

    Returns
    -------
    nodes : ndarray of shape (n,)
        Increasing, symmetric about 0.
    weights : ndarray of shape (n,)
        Nonnegative, symmetric, with sum 1.

    Raises
    ------
    InputError
        If ``n`` is out of range.
    InputTypeError
        If ``n`` isn't an integer.

    Notes
    -----
    O(n^2) operations, O(n) memory, deterministic.  Many nodes aren't the answer to a kinked or steep function: the
    error falls only like a power of 1/n.  Split the integral at the kinks instead, as `hermite_coefficients` does.

    References
    ----------
    G. H. Golub and J. H. Welsch (1969), Calculation of Gauss quadrature rules, Math. Comp. 23, 221-230.

    Examples
    --------
    >>> nodes, weights = gauss_hermite(3)  # nodes -sqrt(3), 0, sqrt(3); weights 1/6, 2/3, 1/6
    >>> float(weights @ nodes**4)
    3.0
    """
    n = check_int(n, "n", low=1, high=_MAX_NODES)
    if n == 1:
        return np.zeros(1), np.ones(1)
    jacobi = eigvalsh_tridiagonal(np.zeros(n), np.sqrt(np.arange(1.0, n)), lapack_driver="sterf")
    positive = jacobi[n // 2 :].astype(np.float64)
    if n % 2:
        positive[0] = 0.0
    ratio, _ = _last_two(positive, n)
    positive = positive - ratio / np.sqrt(n)
    ratio, log_square = _last_two(positive, n)
    # first-order correction for the distance between the stored node and the true zero: d(log w)/dx = -2 x at the zero
    correction = 1.0 + 2.0 * positive * ratio / np.sqrt(n)
    half = correction * np.exp(-log_square) / n
    nodes = np.concatenate([-positive[::-1][: n // 2], positive])
    weights = np.concatenate([half[::-1][: n // 2], half])
    return nodes, weights / np.sum(weights)


def tensor_gauss_hermite(n: int, dim: int, *, max_nodes: int = 10_000_000) -> tuple[FloatArray, FloatArray]:
    """Return the product rule with n points in each of ``dim`` dimensions, for E[f(z)], z ~ N(0, I).

    Exact for polynomials of degree at most 2n - 1 in each variable.

    Parameters
    ----------
    n : int
        Nodes in each dimension, at least 1.
    dim : int
        Number of dimensions, at least 1.
    max_nodes : int, default=10_000_000
        Refuse a rule with more nodes than this before any memory is taken for it.

    Returns
    -------
    nodes : ndarray of shape (n**dim, dim)
        The last coordinate runs fastest.
    weights : ndarray of shape (n**dim,)
        With sum 1.

    Raises
    ------
    InputError
        If ``n``, ``dim`` or ``max_nodes`` is out of range.
    InputTypeError
        If one of them isn't an integer.
    BudgetExceededError
        If n**dim exceeds ``max_nodes``.

    Notes
    -----
    Memory 8 (dim + 1) n**dim bytes; deterministic.

    Examples
    --------
    >>> nodes, weights = tensor_gauss_hermite(2, 3)
    >>> nodes.shape, float(weights @ (nodes[:, 0] * nodes[:, 2]) ** 2)
    ((8, 3), 1.0)
    """
    dim = check_int(dim, "dim", low=1)
    max_nodes = check_int(max_nodes, "max_nodes", low=1)
    n = check_int(n, "n", low=1, high=_MAX_NODES)
    if n > 1 and (dim > 64 or n**dim > max_nodes):
        raise BudgetExceededError(
            f"a product rule with n={n} nodes in dim={dim} dimensions has more than max_nodes={max_nodes} nodes; "
            "take fewer nodes or quasi-Monte Carlo"
        )
    line, line_weights = gauss_hermite(n)
    grids = np.meshgrid(*([line] * dim), indexing="ij")
    weights = np.ones(1)
    for _ in range(dim):
        weights = np.multiply.outer(weights, line_weights).reshape(-1)
    return np.stack([grid.reshape(-1) for grid in grids], axis=-1), weights


def _last_two(x: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return p_n(x)/p_{n-1}(x) and log p_{n-1}(x)^2 for the orthonormal Hermite polynomials."""
    before, current = np.zeros_like(x), np.ones_like(x)
    exponent = np.zeros(x.shape, dtype=np.int64)
    for k in range(1, n + 1):
        before, current = current, (x * current - np.sqrt(k - 1.0) * before) / np.sqrt(k)
        if k % _RESCALE_EVERY == 0:
            shift: Any = np.frexp(np.maximum(np.abs(before), np.abs(current)))[1]
            before, current = np.ldexp(before, -shift), np.ldexp(current, -shift)
            exponent += shift
    return current / before, 2.0 * (np.log(np.abs(before)) + exponent * np.log(2.0))
