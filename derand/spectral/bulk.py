"""The bulk of a spectral law: transform, density, atom and support."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError
from derand.spectral.density import bulk_density, bulk_rule, bulk_support, stieltjes_transform

__all__ = ["Bulk", "check_delta"]


class Bulk:
    """What doesn't depend on planted directions; the base of `SpectralLaw`.

    Attributes
    ----------
    G, weights : ndarray of shape (n,)
        Weights and their probabilities.
    """

    G: FloatArray
    weights: FloatArray

    def stieltjes(self, z: Any, delta: float) -> Any:
        """Return s(z) = lim (1/d) tr (H - z)^(-1) in the upper half plane or outside the bulk.

        Parameters
        ----------
        z : array_like of complex
            Points with Im z >= 0; on the real line the limit from above.
        delta : float
            Ratio of samples to dimensions, > 0.

        Returns
        -------
        ndarray of complex
            With the shape of z.

        Raises
        ------
        InputError
            If a point has a negative imaginary part or delta is out of range.
        """
        delta = check_delta(delta)
        points = np.asarray(z, dtype=np.complex128)
        if np.any(points.imag < 0.0) or not np.all(np.isfinite(points)):
            raise InputError("z must be finite with Im z >= 0; use the conjugate below the real line")
        return stieltjes_transform(self.G, self.weights, points, delta)

    def density(self, x: Any, delta: float) -> FloatArray:
        """Return the density of the bulk at real points; an atom at zero is not part of it.

        Parameters
        ----------
        x : array_like
            Points.
        delta : float
            Ratio of samples to dimensions, > 0.

        Returns
        -------
        ndarray
            With the shape of x.  Its integral is 1 minus `atom`.

        Raises
        ------
        InputError
            If a number is out of range.
        """
        return bulk_density(self.G, self.weights, check_array(x, "x"), check_delta(delta))

    def atom(self, delta: float) -> float:
        """Return the mass at zero: 1 - delta P(G != 0) where that is positive."""
        return max(0.0, 1.0 - check_delta(delta) * float(np.sum(self.weights[self.G != 0.0])))

    def bulk(self, delta: float) -> tuple[tuple[float, float], ...]:
        """Return the intervals on which the density is positive.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.

        Returns
        -------
        tuple of (float, float)
            Ascending; for unbounded weights the outermost ones end at the extreme nodes' edges.

        Raises
        ------
        InputError
            If delta is out of range.
        """
        return bulk_support(self.G, self.weights, check_delta(delta))

    def integration_rule(self, delta: float) -> tuple[FloatArray, FloatArray]:
        """Return points and weights that integrate functions against the bulk's density.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.

        Returns
        -------
        x, weights : ndarray
            The weights add up to 1 minus `atom`.

        Raises
        ------
        InputError
            If delta is out of range.

        Examples
        --------
        >>> from derand.spectral import SpectralLaw
        >>> x, w = SpectralLaw([1.0], weights=[1.0]).integration_rule(2.0)
        >>> round(float(w.sum()), 9), round(float(w @ x), 9)
        (1.0, 1.0)
        """
        return bulk_rule(self.G, self.weights, check_delta(delta))


def check_delta(delta: Any) -> float:
    """Return the checked ratio of samples to dimensions.

    Parameters
    ----------
    delta : object
        A user's argument.

    Returns
    -------
    float
        Positive and finite.

    Raises
    ------
    InputError
        If it isn't.
    """
    return check_scalar(delta, "delta", low=0.0, low_open=True, high=math.inf, high_open=True)
