"""Whether inputs look standard Gaussian in the moments that Stein's identity leans on first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.arrays import to_numpy
from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError
from derand.structure.large import LargeRows, row_blocks

__all__ = ["InputCheck", "check_inputs"]

# Deviations are measured in standard errors of a Gaussian sample; the largest of 4 d of them is compared, hence
# sqrt(2 log(4 d)) is added to this many.
_ALLOWED = 4.0


@dataclass(frozen=True)
class InputCheck(ResultRepr):
    """Deviations of weighted inputs from N(0, I), marginal by marginal, and of their covariance from I.

    Attributes
    ----------
    mean_error, variance_error, skewness, excess_kurtosis : float
        Largest absolute deviation over the columns of the mean from 0, the variance from 1, and the third and fourth
        standardised moments from 0 and 3.
    correlation : float
        Largest absolute off-diagonal entry of the covariance.
    n_effective : float
        1 / sum of squared weights.
    worst_score : float
        Largest of all of them in standard errors of a Gaussian sample of that size.
    is_gaussian : bool
        Whether the worst score is what a Gaussian sample could show, and there are more points than columns.  True is
        no proof: moments up to the fourth are looked at, not the dependence between columns beyond correlation.
    """

    mean_error: float
    variance_error: float
    skewness: float
    excess_kurtosis: float
    correlation: float
    n_effective: float
    worst_score: float
    is_gaussian: bool


def check_inputs(X: Any, weights: Any = None) -> InputCheck:
    """Return how far inputs are from standard Gaussian ones in their first four moments.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, of any array library, or `LargeRows`.
    weights : array of shape (n,), optional
        Nonnegative, with sum 1.

    Returns
    -------
    InputCheck
        The deviations and a verdict.

    Raises
    ------
    InputError
        If X is empty or not finite, or weights don't fit.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    O(n d^2); deterministic.  Standard errors are those of sample moments: sqrt(1/n), sqrt(2/n), sqrt(6/n), sqrt(24/n),
    and sqrt(1/n) for a covariance.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> check_inputs(rng.standard_normal((1000, 3))).is_gaussian, check_inputs(rng.random((1000, 3))).is_gaussian
    (True, False)
    """
    points = X
    if not isinstance(X, LargeRows):
        points = check_array(to_numpy(X) if hasattr(X, "shape") else X, "X", ndim=2)
    n, d = points.shape
    if n * d == 0:
        raise InputError("X must not be empty")
    mass = np.full(n, 1.0 / n) if weights is None else check_array(to_numpy(weights), "weights", shape=(n,))
    mean, covariance, third, fourth = _moments(points, mass)
    off = covariance - np.diag(np.diag(covariance))
    n_effective = 1.0 / float(np.sum(mass**2))
    found = {
        "mean_error": (_largest(mean), 1.0),
        "variance_error": (_largest(np.diag(covariance) - 1.0), 2.0),
        "skewness": (_largest(third), 6.0),
        "excess_kurtosis": (_largest(fourth), 24.0),
        "correlation": (_largest(off), 1.0),
    }
    worst = max(error * math.sqrt(n_effective / variance) for error, variance in found.values())
    return InputCheck(
        n_effective=n_effective,
        worst_score=worst,
        is_gaussian=n_effective > d and worst <= _ALLOWED + math.sqrt(2.0 * math.log(4.0 * d)),
        **{name: error for name, (error, _) in found.items()},
    )


def _moments(points: Any, mass: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean, covariance, and the third and fourth standardised moments less 3, from one block after another."""
    d = points.shape[1]
    mean, covariance, third, fourth = np.zeros(d), np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for rows, block in row_blocks(points):
        mean += mass[rows] @ block
    for rows, block in row_blocks(points):
        centred = block - mean
        covariance += (mass[rows, None] * centred).T @ centred
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    for rows, block in row_blocks(points):
        standard = (block - mean) / scale
        third += mass[rows] @ standard**3
        fourth += mass[rows] @ standard**4
    return mean, covariance, third, fourth - 3.0


def _largest(values: FloatArray) -> float:
    """Return the largest absolute entry."""
    return float(np.max(np.abs(values), initial=0.0))
