"""Learned directions read off the weights, and their alignment with known ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize

from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_array, check_int, check_option
from derand.exceptions import InputError

__all__ = ["Alignment", "ExtractedDirections", "alignment", "extract_directions"]

_REWEIGHTINGS = 3


class ExtractedDirections(NamedTuple):
    """Directions found in the weights.

    Attributes
    ----------
    directions : ndarray of shape (m, d)
        Unit vectors.
    strength : ndarray of shape (m,)
        Norms of the regression coefficients, or singular values.
    """

    directions: FloatArray
    strength: FloatArray

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class Alignment(NamedTuple):
    """How well directions agree with targets.

    Attributes
    ----------
    cosine : ndarray of shape (m, K)
        Cosine of direction i with target j, with its sign.
    span : ndarray of shape (K,)
        Norm of the projection of the unit target j on the span of all directions.
    chance : float or ndarray of shape (K,)
        Root mean square of ``span`` by chance: sqrt(m/d), that of random directions, or the given one.
    corrected : ndarray of shape (K,)
        ``span`` with the chance level taken out: sqrt((span^2 - chance^2)/(1 - chance^2)), 0 where negative.
    """

    cosine: FloatArray
    span: FloatArray
    chance: float | FloatArray
    corrected: FloatArray

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def extract_directions(dW: Any, a0: Any, n_directions: int = 3, *, method: str = "wls") -> ExtractedDirections:
    r"""Return the directions in a change of the first layer.

    ``"wls"`` regresses the rows of dW on powers of the second layer, :math:`dW_i \approx \sum_k a_i^{k+1}
    \theta_k^\top`, each row weighted by the inverse of its noise, which grows with :math:`|a_i|`.  It needs the
    second layer, but separates the orders and finds spikes inside the bulk.  ``"svd"`` returns the first right
    singular vectors.

    Parameters
    ----------
    dW : array_like of shape (N, d)
        W2 - W0.
    a0 : array_like of shape (N,)
        Second layer, without zeros for ``"wls"``.
    n_directions : int, default 3
        Number of orders k = 0, 1, ..., or of singular vectors.
    method : {"wls", "svd"}, default "wls"
        Which.

    Returns
    -------
    ExtractedDirections
        Unit directions and their strengths; those of ``"svd"`` have an arbitrary sign.

    Raises
    ------
    InputError
        If shapes don't fit together, an entry of a0 is zero, or there are fewer rows than directions.

    Notes
    -----
    Weights: the squared residuals of dW_i / a_i are fitted by a polynomial in a_i^2, three times over.  O(N d m) for
    ``"wls"``; a full singular value decomposition for ``"svd"``, since randomised ones fail near the edge of the bulk.
    Deterministic.

    Examples
    --------
    >>> a = np.array([1.0, 2.0, -1.0, 0.5])
    >>> dW = np.outer(a, [3.0, 0.0]) + np.outer(a**2, [0.0, 4.0])
    >>> found = extract_directions(dW, a, 2)
    >>> found.directions.round(9).tolist(), found.strength.round(9).tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    """
    dW = check_array(dW, "dW", ndim=2)
    a0 = check_array(a0, "a0", shape=(dW.shape[0],))
    check_option(method, "method", ("wls", "svd"))
    m = check_int(n_directions, "n_directions", low=1, high=min(dW.shape))
    if method == "svd":
        _, values, rows = scipy.linalg.svd(dW, full_matrices=False)
        return ExtractedDirections(rows[:m], values[:m])
    if np.any(a0 == 0.0):
        raise InputError('a0 must have no zero entries for method="wls"')
    unit = a0 / math.sqrt(float(np.mean(a0**2)))
    coefficients = _regress(dW / unit[:, None], unit, m)
    scale = (unit[0] / a0[0]) ** np.arange(1.0, m + 1.0)
    strength = np.linalg.norm(coefficients, axis=1)
    directions = coefficients / np.where(strength > 0.0, strength, 1.0)[:, None]
    return ExtractedDirections(directions, strength * scale)


def _regress(rows: FloatArray, a: FloatArray, m: int) -> FloatArray:
    """Return coefficients (m, d) of the rows on 1, a, a^2, ..., weighted by the inverse of the rows' noise."""
    design = np.vander(a, m, increasing=True)
    spread = np.stack([np.ones_like(a), a**2, a**4], axis=1)
    weights = np.ones_like(a)
    for _ in range(_REWEIGHTINGS):
        root = np.sqrt(weights)[:, None]
        coefficients = np.linalg.lstsq(design * root, rows * root, rcond=None)[0]
        noise = np.mean((rows - design @ coefficients) ** 2, axis=1)
        level = float(np.mean(noise))
        if level <= 1e-24 * float(np.mean(rows**2)) or rows.shape[0] < 4 * m:
            return np.asarray(coefficients)
        # Relative errors of the variances are equal, so that they are fitted with weights 1/variance^2.
        guess = np.maximum(noise, 1e-3 * level) if np.all(weights == 1.0) else 1.0 / weights
        fitted, _ = scipy.optimize.nnls(spread / guess[:, None], noise / guess)
        weights = 1.0 / np.maximum(spread @ fitted, 1e-3 * level)
    return np.asarray(coefficients)


def alignment(directions: Any, targets: Any, *, chance: Any = None) -> Alignment:
    """Return the alignment of directions with targets, and what chance would give.

    Parameters
    ----------
    directions : array_like of shape (m, d)
        Learned directions, of any length.
    targets : array_like of shape (K, d) or (d,)
        Target directions, of any length.
    chance : float or array_like of shape (K,), optional
        Level of chance in [0, 1), such as `sampling_chance`; that of uniformly random directions by default.

    Returns
    -------
    Alignment
        Cosines, projections on the span, chance level and the projections corrected for it.

    Raises
    ------
    InputError
        If shapes don't fit together, a target is zero, or the level is out of range.

    Notes
    -----
    For uniformly random directions the squared projection has mean m/d exactly, which the correction takes out.

    Examples
    --------
    >>> found = alignment([[2.0, 0.0, 0.0, 0.0]], [[1.0, 1.0, 0.0, 0.0]])
    >>> found.span.round(6).tolist(), found.chance, found.corrected.round(6).tolist()  # (1/2 - 1/4)/(3/4) = 1/3
    ([0.707107], 0.5, [0.57735])
    """
    directions = check_array(directions, "directions", ndim=2)
    targets = np.atleast_2d(check_array(targets, "targets"))
    if targets.ndim != 2 or targets.shape[1] != directions.shape[1]:
        raise InputError(f"targets must have {directions.shape[1]} columns, got shape {targets.shape}")
    lengths = np.linalg.norm(targets, axis=1)
    if np.any(lengths == 0.0):
        raise InputError("targets must not be zero")
    targets = targets / lengths[:, None]
    sizes = np.linalg.norm(directions, axis=1)
    unit = directions / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    basis = scipy.linalg.orth(unit.T, rcond=1e-10) if np.any(sizes > 0.0) else np.zeros((unit.shape[1], 0))
    span = np.minimum(np.linalg.norm(basis.T @ targets.T, axis=0), 1.0)
    level: float | FloatArray = math.sqrt(basis.shape[1] / unit.shape[1])
    if chance is not None:
        level = np.broadcast_to(check_array(chance, "chance"), span.shape)
        if not np.all((level >= 0.0) & (level < 1.0)):
            raise InputError("chance must lie in [0, 1)")
    share = np.broadcast_to(np.square(level), span.shape)
    excess = np.where(share < 1.0, np.maximum(span**2 - share, 0.0) / np.maximum(1.0 - share, 1e-300), 1.0)
    return Alignment(unit @ targets.T, span, level, np.sqrt(excess))
