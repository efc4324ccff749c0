"""A symmetric positive definite change of variables with a known spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["SpectralPreconditioner"]


@dataclass(frozen=True)
class SpectralPreconditioner:
    r"""The matrix :math:`P = r\,(I - Q^T Q) + Q^T \mathrm{diag}(p)\, Q` with orthonormal rows Q.

    A is positive definite exactly when P A P is (Sylvester), so the sign of the smallest eigenvalue of a Hessian may
    be decided on the matrix whose spectrum is easier.

    Parameters
    ----------
    basis : ndarray of shape (r, n)
        Orthonormal rows Q.
    values : ndarray of shape (r,)
        Positive eigenvalues p of P on the rows.
    rest : float
        Positive eigenvalue of P on the orthogonal complement.

    Examples
    --------
    >>> import numpy as np
    >>> P = SpectralPreconditioner(np.eye(1, 3), np.array([2.0]), 1.0)
    >>> P.apply(np.ones(3))
    array([2., 1., 1.])
    >>> P.smallest, P.largest
    (1.0, 2.0)
    """

    basis: FloatArray
    values: FloatArray
    rest: float

    def apply(self, v: FloatArray) -> FloatArray:
        """Return P v for v of shape (n,)."""
        return self.rest * v + ((self.values - self.rest) * (self.basis @ v)) @ self.basis

    @property
    def smallest(self) -> float:
        """Smallest eigenvalue of P."""
        return float(np.min(self.values, initial=self.rest if self._has_complement else np.inf))

    @property
    def largest(self) -> float:
        """Largest eigenvalue of P."""
        return float(np.max(self.values, initial=self.rest if self._has_complement else 0.0))

    @property
    def _has_complement(self) -> bool:
        return bool(self.basis.shape[0] < self.basis.shape[1])
