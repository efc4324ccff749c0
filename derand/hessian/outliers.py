"""Eigenvalues outside the bulk of the spectrum, each with its residual bound."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError, NonConvergenceWarning, PrecisionWarning
from derand.hessian.deflation import BoolArray, search, search_budget
from derand.hessian.density import SpectralDensity, spectral_density
from derand.hessian.eigenpairs import DENSE_EXPLICIT, DENSE_OPERATOR, Eigenpairs, pairs_of_search, pairs_of_spectrum
from derand.hessian.symmetric import SymmetricMatrix, as_symmetric

__all__ = ["BulkEdges", "Outliers", "estimate_bulk_edges", "outliers"]

_SETTLED = (
    0.1  # spread of the recurrence coefficients, relative to the bulk's half width, up to which there is one bulk
)


@dataclass(frozen=True)
class BulkEdges(ResultRepr):
    """Ends of the bulk of a spectrum.

    Parameters
    ----------
    low, high : float
        The ends; infinite on a side that isn't looked at.
    low_error, high_error : float
        Their standard errors; 0.0 for given edges.
    is_estimated : bool
        Whether they were estimated from the matrix.
    is_settled : bool
        Whether the estimate found a single bulk; if not, the edges mean little.
    """

    low: float
    high: float
    low_error: float = 0.0
    high_error: float = 0.0
    is_estimated: bool = False
    is_settled: bool = True


@dataclass(frozen=True)
class Outliers(Eigenpairs):
    """Eigenvalues outside the bulk, in ascending order; see `Eigenpairs` for the other fields.

    Here `confidence` is the probability, over the random starts, that the intervals hold and that there are no further
    outliers (beyond the cut by more than the tolerance).

    Parameters
    ----------
    edges : BulkEdges
        The ends of the bulk, given or estimated.
    cut : tuple of (float, float)
        What lies below the first or above the second is an outlier: the edges, and for estimated ones three standard
        errors and the width of the Tracy-Widom fluctuations beyond them.
    """

    edges: BulkEdges
    cut: tuple[float, float]


def estimate_bulk_edges(density: SpectralDensity) -> BulkEdges:
    r"""Return the ends of the bulk, from the limit of the Lanczos coefficients.

    For a measure whose continuous part fills one interval, whatever isolated masses (outliers, exact zeros) lie
    outside, the recurrence coefficients converge, :math:`\alpha_j \to a`, :math:`\beta_j \to b`, and the interval is
    [a - 2b, a + 2b]. The medians over the second half of each vector's coefficients are averaged.

    Parameters
    ----------
    density : SpectralDensity
        From `spectral_density` with ``method="lanczos"``, with at most about 2 sqrt(n) steps.

    Returns
    -------
    BulkEdges
        The ends with their standard errors.  ``is_settled`` is False when the coefficients still vary by more than a
        tenth of the half width: then the bulk isn't a single interval, or n is too small for this many steps.

    Raises
    ------
    InputError
        If the density was computed exactly (there are no coefficients).

    Notes
    -----
    An estimate, not a bound, and the standard errors don't know of its bias: with a Marchenko-Pastur bulk and three
    outliers, eight matrices each, it was 1 to 4 % of the half width at n = 400 to 1600, and 13 % at n = 200.
    Deterministic.

    References
    ----------
    X. Ding, T. Trogdon, The conjugate gradient algorithm on a general class of spiked covariance matrices, Quarterly of
    Applied Mathematics 80 (2022), arXiv:2106.13902.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.random.default_rng(0).standard_normal((400, 400))
    >>> edges = estimate_bulk_edges(spectral_density((A + A.T) / np.sqrt(800), n_steps=20, method="lanczos", rng=0))
    >>> bool(abs(edges.high - 2.0) < 0.1 and abs(edges.low + 2.0) < 0.1)
    True
    """
    if density.is_exact:
        raise InputError("density must come from method='lanczos': an exact one has no Lanczos coefficients")
    edges, spreads = [], []
    for rule in density.rules:
        a, a_spread = _trend(rule.alpha)
        # A rule with a single node has no beta: its vector's measure is one mass, which is its own bulk.
        b, b_spread = _trend(rule.beta) if len(rule.beta) else (0.0, 0.0)
        edges.append((a - 2.0 * b, a + 2.0 * b))
        spreads.append(max(a_spread, 2.0 * b_spread) / (2.0 * b) if b > 0.0 else 0.0)
    low, high = (float(part) for part in np.mean(edges, axis=0))
    low_error, high_error = (float(part) for part in np.std(edges, axis=0, ddof=1) / math.sqrt(len(edges)))
    return BulkEdges(low, high, low_error, high_error, True, bool(np.mean(spreads) <= _SETTLED))


def outliers(
    A: Any,
    *,
    bulk_edge: Any = None,
    side: str = "both",
    tol: float = 1e-8,
    confidence: float = 1.0 - 1e-6,
    max_products: int | None = None,
    rng: RNGLike = None,
) -> Outliers:
    """Return every eigenvalue outside the bulk of a symmetric matrix, with bounds.

    Lanczos runs in the complement of the vectors found, as in `extreme_eigenpairs`, until a run proves that the
    complement's spectrum lies inside the cut.  Repeated outliers are found with their multiplicity.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Real symmetric matrix.  Arrays with n <= 1000 and operators with n <= 150 are decomposed densely, and so
        are those with n <= 3000 for which the search doesn't end within n products.
    bulk_edge : float or pair of float, optional
        End of the bulk on the given side, or (low, high) for ``side="both"``.  Default: estimated, see
        `estimate_bulk_edges`.
    side : {"both", "lower", "upper"}, default "both"
        Where to look.
    tol : float in (0, 1), default 1e-8
        Residuals, and the proof of completeness, relative to the largest absolute eigenvalue.
    confidence : float in (0, 1), default 1 - 1e-6
        Probability of completeness and of the intervals.
    max_products : int, optional
        Most products for the search.  Default: 10 n + 1000.
    rng : int, Generator or None
        Source of the starts.

    Returns
    -------
    Outliers
        Values, vectors, residuals, intervals, edges.

    Raises
    ------
    InputError
        If A isn't square, symmetric and finite, a product isn't finite, or a parameter lies outside its range.
    InputTypeError
        If A or a parameter has the wrong type.

    Warns
    -----
    NonConvergenceWarning
        If `max_products` ran out: there may be further outliers.
    PrecisionWarning
        If the edges were to be estimated and the spectrum doesn't look like one bulk.

    Notes
    -----
    The estimate of the edges takes 5 runs of at most 60 steps.  Deterministic for a given `rng` and number of BLAS
    threads.

    Examples
    --------
    >>> import numpy as np
    >>> outliers(np.diag([-0.5, 0.0, 0.5, 7.0, 7.0]), bulk_edge=1.0, side="upper").values
    array([7., 7.])
    """
    matrix = as_symmetric(A)
    side = check_option(side, "side", ("both", "lower", "upper"))
    tol = check_scalar(tol, "tol", low=0.0, high=1.0, low_open=True, high_open=True)
    confidence = check_scalar(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
    limit = 10 * matrix.n + 1000 if max_products is None else check_int(max_products, "max_products", low=1)
    generator = check_rng(rng)
    edges, cut, n_products = _cut(matrix, A, bulk_edge, side, generator)
    if matrix.n <= (DENSE_EXPLICIT if matrix.is_explicit else DENSE_OPERATOR):
        pairs = pairs_of_spectrum(matrix, lambda values: _is_outside(values, cut), n_products=n_products)
        return Outliers(**vars(pairs), edges=edges, cut=cut)
    budget, has_fallback = search_budget(matrix.n, limit)
    found = search(matrix, _Outside(*cut), tol=tol, delta=1.0 - confidence, max_products=budget, rng=generator)
    found.n_products += n_products
    if has_fallback and not found.is_complete:
        pairs = pairs_of_spectrum(matrix, lambda values: _is_outside(values, cut), n_products=found.n_products)
        return Outliers(**vars(pairs), edges=edges, cut=cut)
    # Rayleigh-Ritz among vectors that hadn't converged may move a value into the bulk: such a one is no outlier.
    chosen = _is_outside(found.values, cut)
    pairs = pairs_of_search(found, chosen, found.values < cut[0], tol, confidence)
    if not pairs.is_converged:
        warnings.warn(
            f"max_products ran out after {found.n_products} products: there may be further outliers",
            NonConvergenceWarning,
            stacklevel=2,
        )
    return Outliers(**vars(pairs), edges=edges, cut=cut)


def _is_outside(values: FloatArray, cut: tuple[float, float]) -> BoolArray:
    """Return which values lie outside the interval, shape of ``values``."""
    return np.asarray((values < cut[0]) | (values > cut[1]))


def _trend(coefficients: FloatArray) -> tuple[float, float]:
    """Return the Theil-Sen line's value at index 0, and the median distance of the coefficients from the line."""
    skipped = len(coefficients) // 4
    kept = coefficients[skipped:]
    index = skipped + np.arange(len(kept))
    first, second = np.triu_indices(len(kept), 1)
    slope = float(np.median((kept[second] - kept[first]) / (second - first))) if len(first) else 0.0
    level = float(np.median(kept - slope * index))
    return level, float(np.median(np.abs(kept - slope * index - level)))


@dataclass(frozen=True)
class _Outside:
    """Target of a search for everything outside an interval."""

    low: float
    high: float

    def wanted(self, locked: FloatArray, ritz: FloatArray, margin: float) -> BoolArray:
        """Return which Ritz values lie outside."""
        return _is_outside(ritz, (self.low, self.high))

    def is_complete(self, locked: FloatArray, low: float, high: float, margin: float) -> bool:
        """Return whether the rest lies inside, up to the margin."""
        return low >= self.low - margin and high <= self.high + margin


def _cut(
    matrix: SymmetricMatrix, A: Any, bulk_edge: Any, side: str, generator: np.random.Generator
) -> tuple[BulkEdges, tuple[float, float], int]:
    """Return the edges, the interval outside of which eigenvalues are outliers, and the products spent."""
    if bulk_edge is not None:
        edges = _given_edges(bulk_edge, side)
        return edges, (edges.low, edges.high), 0
    # Beyond about the root of n the coefficients of one matrix wander off their limit.
    n_steps = int(min(60, max(4, 2.0 * math.sqrt(matrix.n))))
    density = spectral_density(A, n_vectors=5, n_steps=n_steps, method="lanczos", rng=generator)
    edges = estimate_bulk_edges(density)
    if not edges.is_settled:
        warnings.warn(
            "the spectrum doesn't look like one bulk: give bulk_edge instead of having it estimated",
            PrecisionWarning,
            stacklevel=3,
        )
    # The largest eigenvalue of a bulk of half width r fluctuates by r / 2 n^(-2/3) times a Tracy-Widom variable.
    tracy_widom = 3.0 * 0.25 * (edges.high - edges.low) * matrix.n ** (-2.0 / 3.0)
    low = edges.low - 3.0 * edges.low_error - tracy_widom if side != "upper" else -math.inf
    high = edges.high + 3.0 * edges.high_error + tracy_widom if side != "lower" else math.inf
    return edges, (low, high), density.n_products


def _given_edges(bulk_edge: Any, side: str) -> BulkEdges:
    """Return the user's edges, infinite on the side that isn't looked at."""
    given = check_array(bulk_edge, "bulk_edge")
    if side == "both":
        if given.shape != (2,) or given[0] > given[1]:
            raise InputError("bulk_edge must be a pair (low, high) with low <= high for side='both'")
        return BulkEdges(float(given[0]), float(given[1]))
    if given.ndim != 0:
        raise InputError(f"bulk_edge must be one number for side={side!r}, got shape {given.shape}")
    return BulkEdges(float(given), math.inf) if side == "lower" else BulkEdges(-math.inf, float(given))
