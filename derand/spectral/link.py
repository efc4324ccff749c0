"""Links of multi-index models: which directions are hard, and how few samples any spectral method needs for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError
from derand.spectral.conditional import ConditionalMoments
from derand.spectral.easy_hard import EasyHardSplit, conditional_moments, split_directions
from derand.spectral.expressions import parse_expression
from derand.spectral.functions import of_points
from derand.spectral.preprocessing import Preprocessing

__all__ = ["DeltaAlg", "MultiIndexLink"]


@dataclass(frozen=True)
class DeltaAlg(ResultRepr):
    """The smallest ratio of samples to dimensions at which a spectral method finds a hard direction.

    Parameters
    ----------
    value : float
        delta_alg; infinite when no conditional second moment depends on the response, 0.0 when nothing is hard.
    error : float
        Estimate of the error, from a second resolution.
    method : str
        "exact" for quadrature on the fibres of the link, "sampled" for an estimate from samples.
    """

    value: float
    error: float
    method: str

    def __float__(self) -> float:
        """Return the value."""
        return self.value


class MultiIndexLink:
    r"""Response :math:`y = h(z) + \sigma\varepsilon` to k latent coordinates :math:`z = \Theta_*^\top x`.

    **Easy** directions are those that the conditional mean shows: U_E grows by the span of
    :math:`E[P_H z \mid y, P_E z]` until it stops.  The rest, U_H, is **hard**; there

    .. math:: 1/\delta_{alg} = \text{largest eigenvalue of } \Phi \mapsto E[M \Phi M], \qquad
              M = E[z_H z_H^\top \mid y, z_E] - I,

    which for one hard direction is :math:`E[E[z^2 - 1|y]^2]`.  Below delta_alg no spectral method with any
    preprocessing finds the hard directions, in the limit of large dimension.

    Parameters
    ----------
    h : callable or str
        ``h(z_1, ..., z_k)`` on arrays, or ``h(z)`` with z of shape (n, k); for k = 1, z has shape (n,).  A string is
        parsed as by `parse_expression`: "z**2", "sign(z1*z2)".
    k : int, default 1
        Number of latent coordinates.
    noise : float, default 0.0
        Standard deviation sigma of additive Gaussian noise.
    breakpoints : sequence of float, default (0.0,)
        Kinks and jumps of h along the axes.  For k = 1 others are looked for; for k >= 2 they have to be given, unless
        a string shows them (`Expression.kinks`).

    Raises
    ------
    InputError
        If a number is out of range, or h returns something of another shape or that isn't finite.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    Conditional moments are exact, by quadrature on the fibres of h, for one hard direction (12 digits), for two (about
    10 digits for products and other functions that are monotone along rays or lines), and for links with few values;
    with noise for up to three.  Otherwise they are estimated from 131,072 samples in bins.

    References
    ----------
    A. Montanari, Z. Wang, Phase transitions for feature learning in neural networks, arXiv:2602.01434.
    M. Mondelli, A. Montanari, Fundamental limits of weak recovery with applications to phase retrieval, Foundations of
    Computational Mathematics 19 (2019) 703-773.
    E. Troiani et al., Fundamental computational limits of weak learnability in high-dimensional multi-index models,
    arXiv:2405.15480.

    Examples
    --------
    Phase retrieval: E[z^2 - 1|y] = y - 1, whose square has the mean 2.

    >>> link = MultiIndexLink("z**2")
    >>> abs(link.delta_alg().value - 0.5) < 1e-12, link.easy_hard().hard.shape[1]
    (True, 1)
    """

    def __init__(
        self,
        h: Callable[..., Any] | str,
        k: int = 1,
        noise: float = 0.0,
        *,
        breakpoints: Sequence[float] = (0.0,),
    ) -> None:
        self.k = check_int(k, "k", low=1)
        self.noise = check_scalar(noise, "noise", low=0.0, high=1e150)
        self.breakpoints = tuple(check_array(list(breakpoints), "breakpoints", ndim=1).tolist())
        self.expression = h if isinstance(h, str) else None
        self.h = h
        function: Any = h
        if isinstance(h, str):
            function = parse_expression(h, self.k)
            self.breakpoints = tuple(sorted({*self.breakpoints, *function.kinks()}))
        self._function = of_points(function, self.k, "h")
        probe = self._function(np.random.default_rng(0).standard_normal((64, self.k)))
        if not np.all(np.isfinite(probe)):
            raise InputError("h must return finite numbers")

    def __call__(self, z: Any) -> FloatArray:
        """Return h without the noise at points.

        Parameters
        ----------
        z : array_like of shape (n, k), or (n,) for k = 1
            Latent coordinates.

        Returns
        -------
        ndarray of shape (n,)
            Values.

        Raises
        ------
        InputError
            If the shape doesn't fit.
        """
        points = check_array(z, "z")
        points = points[:, None] if points.ndim == 1 and self.k == 1 else points
        if points.ndim != 2 or points.shape[1] != self.k:
            raise InputError(f"z must have shape (n, {self.k}), got {points.shape}")
        return self._function(points)

    def sample(self, z: Any, rng: RNGLike = None) -> FloatArray:
        """Return responses at points, with noise.

        Parameters
        ----------
        z : array_like of shape (n, k), or (n,) for k = 1
            Latent coordinates.
        rng : None, int or Generator
            Source of the noise.

        Returns
        -------
        ndarray of shape (n,)
            Responses.
        """
        values = self(z)
        return values + self.noise * check_rng(rng).standard_normal(len(values)) if self.noise else values

    def easy_hard(self) -> EasyHardSplit:
        """Return the easy and the hard directions.

        Returns
        -------
        EasyHardSplit
            Orthonormal columns for each.

        Examples
        --------
        sign(z1) z2^2 shows z1 in its sign, and then no more than the size of z2.

        >>> split = MultiIndexLink("sign(z1)*z2**2", k=2).easy_hard()
        >>> split.easy.T.round(6).tolist(), split.hard.T.round(6).tolist()
        ([[1.0, 0.0]], [[0.0, 1.0]])
        """
        return self._split

    @cached_property
    def _split(self) -> EasyHardSplit:
        """The split, computed once."""
        return split_directions(self._function, self.k, self.noise, self.breakpoints)

    def moments(self, *, quality: float = 1.0) -> ConditionalMoments:
        """Return E[z_H|.] and E[z_H z_H^T|.] - I given response and easy coordinates, as a quadrature rule.

        Parameters
        ----------
        quality : float, default 1.0
            Multiple of the default resolution.

        Returns
        -------
        ConditionalMoments
            Moments of the hard coordinates.

        Raises
        ------
        InputError
            If no direction is hard.
        """
        split = self.easy_hard()
        if split.hard.shape[1] == 0:
            raise InputError("the link has no hard direction")
        return conditional_moments(
            self._function, split.easy, split.hard, self.noise, self.breakpoints, quality=quality
        )

    def delta_alg(self) -> DeltaAlg:
        """Return the threshold of the best spectral method for the hard directions.

        Returns
        -------
        DeltaAlg
            Infinite for links like z^2 exp(-z^2) or sign(z1 z2 z3), whose conditional second moments show nothing.

        Notes
        -----
        With two or more hard directions it is the threshold for finding any of them.
        """
        return self._delta_alg

    @cached_property
    def _delta_alg(self) -> DeltaAlg:
        """The threshold, computed once."""
        split = self.easy_hard()
        if split.hard.shape[1] == 0:
            return DeltaAlg(0.0, 0.0, split.method)
        fine = self.moments()
        information = fine.information()
        if fine.method == "sampled":
            # what pure sampling noise would show
            floor = fine.dim**2 * len(fine.mass) / 2.0**17
            information = information if information > 4.0 * floor else 0.0
        if information == 0.0:
            return DeltaAlg(math.inf, 0.0, fine.method)
        coarse = self.moments(quality=0.7).information() if fine.method == "exact" else information * 1.05
        error = abs(1.0 / coarse - 1.0 / information) if coarse > 0.0 else math.inf
        return DeltaAlg(1.0 / information, error, fine.method)

    def optimal_preprocessing(self, delta: float | None = None, *, floor: float | None = None) -> Preprocessing:
        r"""Return the preprocessing T(y) of the best spectral estimator of a hard direction.

        For one hard direction :math:`T(y) = 1 - 1/E[z^2|y]`, which is optimal for every delta at once; for several
        :math:`T(y) = I - E[z z^\top|y]^{-1}`, a matrix.

        Parameters
        ----------
        delta : float, optional
            Ratio of samples to dimensions; checked to be positive.  The optimum doesn't depend on it.
        floor : float, optional
            Lower bound on T (on its eigenvalues).  T is unbounded below where E[z^2|y] vanishes, which stretches the
            spectrum and slows down Lanczos; -10 costs little overlap.

        Returns
        -------
        Preprocessing
            A callable with the law of its spectral matrix.

        Raises
        ------
        InputError
            If no direction is hard, or some are easy: condition on those first, with a link of the hard ones alone.

        References
        ----------
        W. Luo, W. Alghamdi, Y. M. Lu, Optimal spectral initialization for signal recovery with applications to phase
        retrieval, IEEE Trans. Signal Processing 67 (2019) 2347-2356, arXiv:1811.04420.

        Examples
        --------
        >>> T = MultiIndexLink("z**2").optimal_preprocessing()
        >>> T(np.array([0.5, 1.0, 4.0])).round(12).tolist()
        [-1.0, 0.0, 0.75]
        """
        if delta is not None:
            check_scalar(delta, "delta", low=0.0, low_open=True, high=math.inf, high_open=True)
        split = self.easy_hard()
        if split.hard.shape[1] == 0:
            raise InputError("the link has no hard direction: E[z|y] finds all of them, without a spectral method")
        if split.easy.shape[1]:
            raise InputError("the link has easy directions: estimate those first, and condition on them")
        return Preprocessing.optimal(
            self._function, self.k, self.noise, self.breakpoints, -math.inf if floor is None else floor
        )

    @classmethod
    def from_expression(cls, text: str, k: int | None = None, noise: float = 0.0) -> Self:
        """Return the link of an expression in z, or in z1, z2, ...; see `parse_expression`.

        Parameters
        ----------
        text : str
            For instance "z**2" or "sign(z1*z2)".
        k : int, optional
            Number of coordinates; the highest one named by default.
        noise : float, default 0.0
            Standard deviation of the noise.

        Returns
        -------
        MultiIndexLink
            The link.

        Examples
        --------
        >>> MultiIndexLink.from_expression("z1*z2").k
        2
        """
        return cls(text, parse_expression(text, k).n_variables, noise)
