"""The dimension that a random Gaussian map needs, from the exact chi-square law."""

from __future__ import annotations

from scipy.special import chdtr, chdtrc

from derand._utils.validation import check_int, check_scalar

__all__ = ["jl_failure_bound", "jl_min_dim"]


def jl_failure_bound(k: int, n_samples: int, eps: float) -> float:
    r"""Return a bound on the probability that a Gaussian map to k dimensions distorts some pair by more than eps.

    For A with independent N(0, 1/k) entries, k |A z|^2 is chi-square with k degrees of freedom for every unit vector z,
    so that p = n(n-1)/2 pairs fail with probability at most

    .. math:: p \left( P[\chi^2_k > k(1+\epsilon)] + P[\chi^2_k < k(1-\epsilon)] \right).

    Parameters
    ----------
    k : int
        Dimensions, at least 1.
    n_samples : int
        Points, at least 2.
    eps : float in (0, 1)
        Distortion of squared distances.

    Returns
    -------
    float
        The union bound; it proves nothing where it is 1 or more.

    Raises
    ------
    InputError
        If an argument is out of range.
    InputTypeError
        If an argument isn't a number.

    Examples
    --------
    One pair, two dimensions: the law is exponential, and the bound is exp(-1 - eps) + 1 - exp(-1 + eps).

    >>> from math import exp
    >>> round(jl_failure_bound(2, 2, 0.5), 12) == round(exp(-1.5) + 1 - exp(-0.5), 12)
    True
    """
    check_int(k, "k", low=1)
    check_int(n_samples, "n_samples", low=2)
    check_scalar(eps, "eps", low=0.0, high=1.0, low_open=True, high_open=True)
    pairs = n_samples * (n_samples - 1) / 2.0
    return float(pairs * (chdtrc(k, k * (1.0 + eps)) + chdtr(k, k * (1.0 - eps))))


def jl_min_dim(n_samples: int, eps: float, delta: float = 0.05) -> int:
    """Return the least dimension at which a random Gaussian map preserves all pairs with a given probability.

    The least k from which on `jl_failure_bound` is below delta: with probability above 1 - delta, all squared distances
    among n_samples points change by at most the factors 1 - eps and 1 + eps.  Any data, before seeing them; a map
    fitted to the data gets by with far fewer.

    Parameters
    ----------
    n_samples : int
        Points, at least 2.
    eps : float in (0, 1)
        Distortion of squared distances.
    delta : float in (0, 1], default 0.05
        Probability of failure allowed; 1.0 gives the dimension from which on some such map exists.

    Returns
    -------
    int
        The dimension.

    Raises
    ------
    InputError
        If an argument is out of range.
    InputTypeError
        If an argument isn't a number.

    Notes
    -----
    Bisection over evaluations of the incomplete gamma function.  The usual formula 4 ln n/(eps^2/2 - eps^3/3) bounds
    the same tails by Chernoff's inequality and is larger.

    References
    ----------
    S. Dasgupta, A. Gupta, An elementary proof of a theorem of Johnson and Lindenstrauss, Random Struct. Algorithms 22
    (2003) 60-65.

    Examples
    --------
    >>> jl_min_dim(1000, 0.5), jl_min_dim(1000, 0.1)
    (283, 5806)
    """
    check_scalar(delta, "delta", low=0.0, high=1.0, low_open=True)
    high = 1
    while jl_failure_bound(high, n_samples, eps) >= delta:
        high *= 2
    low = high // 2  # 0 or a dimension that fails
    while high - low > 1:
        middle = (low + high) // 2
        if jl_failure_bound(middle, n_samples, eps) < delta:
            high = middle
        else:
            low = middle
    return high
