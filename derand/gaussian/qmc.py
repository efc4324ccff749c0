"""Normal sample points: scrambled Sobol and plain Monte Carlo, with optional antithetic pairs and moment matching."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import ndtri

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import BudgetExceededError, InputError, PrecisionWarning

__all__ = ["monte_carlo_normal", "sobol_normal"]

# With 52 bits the middles (i + 1/2)/2^52 of the cells are exact floats inside (0, 1): no point is mapped to infinity.
_BITS = 52
_MAX_SOBOL_DIMENSION = 21_201
_MAX_NUMBERS = 1 << 30


def sobol_normal(
    n: int, dim: int, rng: RNGLike = None, *, antithetic: bool = False, whiten: bool = False
) -> FloatArray:
    """Return n scrambled Sobol points carried to N(0, I) in ``dim`` dimensions.

    The scrambling (random linear matrix and digital shift) makes averages over the points unbiased, so that repeated
    draws give an honest standard error; one draw alone gives none.

    Parameters
    ----------
    n : int
        Number of points, best a power of two (twice a power of two with ``antithetic``, which is one, too).
    dim : int
        Dimension, 1 to 21,201.
    rng : int, Generator, SeedSequence or None
        Seed or generator of the scrambling.
    antithetic : bool, default=False
        Follow n/2 points by their negatives: all odd moments vanish, at the price of half as many distinct points.
    whiten : bool, default=False
        Match the first two moments: mean 0 and covariance I up to rounding.  The points are then slightly biased.

    Returns
    -------
    ndarray of shape (n, dim)
        Finite points, at most 8.3 in size unless whitened.

    Raises
    ------
    InputError
        If ``n`` or ``dim`` is out of range, ``n`` is odd with ``antithetic``, or there are too few points to whiten.
    InputTypeError
        If ``n`` or ``dim`` isn't an integer or ``rng`` no seed.
    BudgetExceededError
        If n dim exceeds 2^30.

    Warns
    -----
    PrecisionWarning
        If the number of Sobol points isn't a power of two: they lose their balance, and with it most of their
        advantage.

    Notes
    -----
    O(n dim) time and memory, with O(n dim^2) more for ``whiten``; the same seed gives the same points.

    References
    ----------
    A. B. Owen (2023), On dropping the first Sobol' point, arXiv:2008.08051: keep the first point, use powers of two.

    Examples
    --------
    >>> z = sobol_normal(256, 3, 7)
    >>> z.shape, bool(abs(z.mean()) < 0.01)
    ((256, 3), True)
    """
    count = _check_sizes(n, dim, antithetic=antithetic, whiten=whiten)
    if dim > _MAX_SOBOL_DIMENSION:
        raise InputError(f"dim must be at most {_MAX_SOBOL_DIMENSION} for Sobol points, got {dim}")
    levels = (count - 1).bit_length()
    if count != 1 << levels:
        warnings.warn(
            f"{count} Sobol points are no power of two and lose their balance; take {1 << levels}",
            PrecisionWarning,
            stacklevel=2,
        )
    # scipy.stats takes a second to import: only those pay who draw Sobol points
    from scipy.stats.qmc import Sobol

    uniform = Sobol(dim, scramble=True, bits=_BITS, rng=check_rng(rng)).random_base2(levels)[:count]
    points: FloatArray = ndtri(uniform + 2.0 ** -(_BITS + 1))
    return _finish(points, antithetic=antithetic, whiten=whiten)


def monte_carlo_normal(
    n: int, dim: int, rng: RNGLike = None, *, antithetic: bool = False, whiten: bool = False
) -> FloatArray:
    """Return n independent draws of N(0, I) in ``dim`` dimensions.

    Parameters
    ----------
    n : int
        Number of points.
    dim : int
        Dimension, at least 1.
    rng : int, Generator, SeedSequence or None
        Seed or generator.
    antithetic : bool, default=False
        Follow n/2 draws by their negatives: all odd moments vanish, at the price of half as many independent draws.
    whiten : bool, default=False
        Match the first two moments: mean 0 and covariance I up to rounding.  The points are then slightly biased.

    Returns
    -------
    ndarray of shape (n, dim)
        Draws.

    Raises
    ------
    InputError
        If ``n`` or ``dim`` is out of range, ``n`` is odd with ``antithetic``, or there are too few points to whiten.
    InputTypeError
        If ``n`` or ``dim`` isn't an integer or ``rng`` no seed.
    BudgetExceededError
        If n dim exceeds 2^30.

    Notes
    -----
    O(n dim) time and memory, with O(n dim^2) more for ``whiten``; the same seed gives the same points.

    Examples
    --------
    >>> z = monte_carlo_normal(100, 2, 0, whiten=True)
    >>> (z.T @ z / 100).round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    count = _check_sizes(n, dim, antithetic=antithetic, whiten=whiten)
    return _finish(check_rng(rng).standard_normal((count, dim)), antithetic=antithetic, whiten=whiten)


def _check_sizes(n: int, dim: int, *, antithetic: bool, whiten: bool) -> int:
    """Return the number of points to draw before they are mirrored."""
    n, dim = check_int(n, "n", low=1), check_int(dim, "dim", low=1)
    if n * dim > _MAX_NUMBERS:
        raise BudgetExceededError(f"n={n} points in dim={dim} dimensions are more than {_MAX_NUMBERS} numbers")
    if antithetic and n % 2:
        raise InputError(f"n must be even for antithetic points, got {n}")
    count = n // 2 if antithetic else n
    # mirrored points span as many directions as they have pairs; centring costs independent ones a direction
    if whiten and count < dim + (0 if antithetic else 1):
        raise InputError(f"n={n} points are too few to whiten in dim={dim} dimensions")
    return count


def _finish(points: FloatArray, *, antithetic: bool, whiten: bool) -> FloatArray:
    """Return the points, mirrored and with matched moments as asked."""
    if antithetic:
        points = np.concatenate([points, -points])
    if not whiten:
        return points
    if not antithetic:
        points = points - np.mean(points, axis=0)
    for _ in range(
        2
    ):  # the second round removes the rounding of the first, which an ill-conditioned covariance amplifies
        values, vectors = np.linalg.eigh(points.T @ points / points.shape[0])
        if values[0] <= 1e-12 * values[-1]:
            raise InputError(
                f"the {points.shape[0]} points don't span all {points.shape[1]} dimensions and can't be whitened"
            )
        points = points @ ((vectors / np.sqrt(values)) @ vectors.T)
    return points
