"""Lanczos tridiagonalisation, one matrix-vector product at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.exceptions import InputError

__all__ = ["LanczosProcess"]

_EPS = float(np.finfo(np.float64).eps)


class LanczosProcess:
    r"""Lanczos process with full reorthogonalisation.

    After m steps the rows q_1, ..., q_m of `basis` are orthonormal and

    .. math:: A Q^T = Q^T T + \beta_m q_{m+1} e_m^T,

    with the tridiagonal matrix T of `alpha` (diagonal) and ``beta[:-1]`` (off-diagonal).  Every new vector is
    orthogonalised twice against all earlier ones, so the relation and the orthogonality hold to rounding; the bounds
    that are built on T need this.

    `asymmetry` is the largest deviation seen from q_i . A q_j = q_j . A q_i, a check of symmetry that costs nothing.

    Parameters
    ----------
    matvec : callable
        Product v -> A v with a symmetric matrix A; takes and returns an array of shape (n,).
    start : ndarray of shape (n,)
        Start vector, not zero; it is normalised.

    Raises
    ------
    InputError
        If the start vector is zero or not finite.

    Notes
    -----
    Step m costs one product and O(m n) operations; memory is O(m n).  Deterministic for a fixed number of BLAS threads.

    References
    ----------
    B. N. Parlett, The Symmetric Eigenvalue Problem, SIAM 1998, chapter 13.

    Examples
    --------
    >>> import numpy as np
    >>> process = LanczosProcess(lambda v: np.array([1.0, 2.0, 4.0]) * v, np.ones(3))
    >>> while process.step():
    ...     pass
    >>> process.ritz_values()
    array([1., 2., 4.])
    """

    def __init__(self, matvec: Callable[[FloatArray], FloatArray], start: FloatArray) -> None:
        start = np.array(start, dtype=np.float64)
        length = norm(start)
        if not 0.0 < length < np.inf:
            raise InputError("the start vector must be finite and not zero")
        self._matvec = matvec
        self._rows = np.empty((min(16, start.size + 1), start.size))
        self._rows[0] = start / length
        self._product: FloatArray | None = None
        self.alpha: list[float] = []
        self.beta: list[float] = []
        self.is_exhausted = False
        self.asymmetry = 0.0

    @property
    def n_steps(self) -> int:
        """Number m of finished steps, which is the number of products."""
        return len(self.alpha)

    @property
    def basis(self) -> FloatArray:
        """Rows q_1, ..., q_m, shape (m, n)."""
        return self._rows[: self.n_steps]

    @property
    def scale(self) -> float:
        """Upper bound of the largest absolute eigenvalue of T (Gershgorin), a lower estimate of the norm of A."""
        m = len(self.beta)
        beta = np.asarray([0.0, *self.beta])
        return float(np.max(np.abs(self.alpha[:m]) + beta[:-1] + beta[1:], initial=0.0))

    def step(self) -> bool:
        """Take one step.

        Returns
        -------
        bool
            True when the Krylov space can still grow, False when it is invariant (`is_exhausted`).

        Raises
        ------
        InputError
            If the product isn't finite or has the wrong shape.
        """
        if self.is_exhausted:
            return False
        m, n = self.n_steps, self._rows.shape[1]
        q = self._rows[m]
        w = np.array(self._matvec(q), dtype=np.float64)
        if w.shape != (n,):
            raise InputError(f"the product must have shape ({n},), got {w.shape}")
        if not np.all(np.isfinite(w)):
            raise InputError("the product with a unit vector isn't finite")
        size = norm(w)
        rows = self._rows[: m + 1]
        shares = rows @ w
        self.alpha.append(float(shares[m]))
        w -= shares @ rows
        w -= (rows @ w) @ rows
        self._compare_with_transpose(shares[:m])
        beta = norm(w)
        if m + 1 == n or beta <= 4.0 * _EPS * max(size, self.scale) * np.sqrt(n):
            self.beta.append(0.0)
            self.is_exhausted = True
            return False
        self.beta.append(beta)
        self._append(w / beta)
        return True

    @property
    def start_product(self) -> FloatArray:
        """A q_1, shape (n,), put together from the first two basis vectors; needs one finished step."""
        second = self._rows[1] if self.beta[0] > 0.0 else 0.0
        return np.asarray(self.alpha[0] * self._rows[0] + self.beta[0] * second)

    def ritz_values(self) -> FloatArray:
        """Return the eigenvalues of T in ascending order, an array of shape (m,)."""
        return np.asarray(eigh_tridiagonal(self.alpha, self.beta[:-1], eigvals_only=True))

    def ritz_pairs(self, count: int, *, largest: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the smallest (or largest) Ritz values, their vectors as rows, and the norms of their residuals.

        Parameters
        ----------
        count : int
            How many pairs, at most m.
        largest : bool, default False
            Take the upper end of the spectrum; values still ascend.

        Returns
        -------
        values : ndarray of shape (count,)
            Ritz values in ascending order.
        vectors : ndarray of shape (count, n)
            Unit Ritz vectors.
        residuals : ndarray of shape (count,)
            ``||A u - theta u||``; some eigenvalue of A lies within this distance of theta.
        """
        m = self.n_steps
        count = min(count, m)
        chosen = (m - count, m - 1) if largest else (0, count - 1)
        # LAPACK squares the entries; a power of two makes no rounding errors.
        unit = 1.0 if 1e-100 < self.scale < 1e100 else 2.0 ** math.frexp(self.scale)[1]
        diagonal, off_diagonal = np.asarray(self.alpha) / unit, np.asarray(self.beta[:-1]) / unit
        values, s = eigh_tridiagonal(diagonal, off_diagonal, select="i", select_range=chosen)
        values = values * unit
        vectors = s.T @ self.basis
        vectors /= np.sqrt(np.sum(vectors**2, axis=1, keepdims=True))
        return np.asarray(values), vectors, np.asarray(self.beta[-1] * np.abs(s[-1]))

    def _compare_with_transpose(self, shares: FloatArray) -> None:
        """For a symmetric A the new product meets the earlier vectors in (0, ..., 0, beta)."""
        if len(shares):
            expected = np.zeros(len(shares))
            expected[-1] = self.beta[-1]
            self.asymmetry = max(self.asymmetry, float(np.max(np.abs(shares - expected))))

    def _append(self, q: FloatArray) -> None:
        """Store the next basis vector, doubling the storage when it is full."""
        m = self.n_steps
        if m == len(self._rows):
            grown = np.empty((min(2 * m, self._rows.shape[1] + 1), self._rows.shape[1]))
            grown[:m] = self._rows
            self._rows = grown
        self._rows[m] = q
