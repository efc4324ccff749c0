r"""The full-rank part B of the weights as a spike sees it.

With spikes L R and the matrix [[0, B], [B^T, 0]], whose resolvent at s has the blocks s (s^2 - B B^T)^{-1},
s (s^2 - B^T B)^{-1} and B (s^2 - B^T B)^{-1}, a number s beyond the spectrum of B is a singular value of B + L R if
and only if the symmetric matrix

    [[0, 1], [1, 0]] - [[Q, C^T], [C, P]],    Q = L^T s (s^2 - B B^T)^{-1} L,  P = R s (s^2 - B^T B)^{-1} R^T,
                                              C = R (s^2 - B^T B)^{-1} B^T L,

is singular.  It has as many negative eigenvalues as spikes, and one more for every singular value of B + L R above s.
C vanishes for N to infinity; at finite size it shifts a singular value by the overlap of the spike with B, and this to
first order: Q and P are deterministic equivalents here, with which a C of its own order isn't consistent close to B's
largest singular values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from derand._utils.validation import FloatArray
from derand.two_step.bbp import tracy_widom_quantile
from derand.two_step.bulk import RowProfile
from derand.two_step.directions import LowRank
from derand.two_step.edge import fit_edge, n_needed, top_eigenvectors
from derand.two_step.resolvent import GramQuadrature

__all__ = ["ProfileBulk", "Remainder", "ResolventBulk"]

_STEPS = 20
_SMALLEST_FIT = 64


class ProfileBulk:
    """Deterministic equivalent of noise with independent rows and isotropic columns, independent of the spikes.

    Parameters
    ----------
    variances : ndarray of shape (N,)
        Squared norms of the rows.
    spikes : LowRank
        The low-rank part.
    """

    def __init__(self, variances: FloatArray, spikes: LowRank) -> None:
        self.profile = RowProfile(variances, spikes.right.shape[1])
        self.edge = self.profile.edge()
        self.top = self.edge.location
        self.n_own = 0
        self.spikes, self.gram = spikes, spikes.right @ spikes.right.T

    def left(self, s: float) -> FloatArray:
        """Return Q.

        Parameters
        ----------
        s : float
            Beyond ``top``.

        Returns
        -------
        ndarray of shape (m, m)
            Symmetric.
        """
        diagonal = self.profile.resolvents(s)[0]
        return np.asarray(self.spikes.left.T @ (diagonal[:, None] * self.spikes.left))

    def right(self, s: float) -> FloatArray:
        """Return P.

        Parameters
        ----------
        s : float
            Beyond ``top``.

        Returns
        -------
        ndarray of shape (m, m)
            Symmetric.
        """
        return np.asarray(self.profile.resolvents(s)[1] * self.gram)

    def cross(self, s: float) -> FloatArray:
        """Return C.

        Parameters
        ----------
        s : float
            Beyond ``top``.

        Returns
        -------
        ndarray of shape (m, m)
            Zero for spikes that are independent of the noise.
        """
        return np.zeros_like(self.gram)

    def roots(self, low: float) -> list[float]:
        """Return the singular values beyond a limit for C = 0, descending.

        Parameters
        ----------
        low : float
            Beyond ``top``.

        Returns
        -------
        list of float
            The values.
        """
        m = self.gram.shape[0]
        high = 2.0 * (low + float(np.linalg.norm(self.spikes.left) * np.linalg.norm(self.spikes.right)))

        def excess(s: float, j: int) -> float:
            """Return the eigenvalue that vanishes at the j-th singular value."""
            return float(np.linalg.eigvalsh(self._system(s))[m + j])

        n_found = int(np.sum(np.linalg.eigvalsh(self._system(low)) < 0.0)) - m
        return [float(brentq(excess, low, high, args=(j,), xtol=1e-10)) for j in range(max(n_found, 0))]

    def projections(self, s: float) -> tuple[FloatArray, FloatArray]:
        """Return L^T u and R v of the unit singular vectors u, v at a root.

        Parameters
        ----------
        s : float
            A root.

        Returns
        -------
        tuple of ndarray of shape (m,)
            Both.
        """
        m = self.gram.shape[0]
        values, vectors = np.linalg.eigh(self._system(s))
        w = vectors[:, int(np.argmin(np.abs(values)))]
        p, q, h = w[:m], w[m:], 1e-5 * s
        left, right = ((side(s + h) - side(s - h)) / (2.0 * h) for side in (self.left, self.right))
        # |u|^2 + |v|^2 = 2 is minus the derivative of the quadratic form.
        norm = np.sqrt(-0.5 * float(p @ left @ p + q @ right @ q))
        return q / norm, p / norm

    def shift(self, s: float) -> float:
        """Return by how much C moves a root, to first order.

        Parameters
        ----------
        s : float
            A root.

        Returns
        -------
        float
            The shift.
        """
        q, p = self.projections(s)
        return float(q @ self.cross(s) @ p)

    def _system(self, s: float) -> FloatArray:
        """Return the matrix that is singular at a singular value for C = 0; its eigenvalues increase with s."""
        one = np.eye(self.gram.shape[0])
        return np.block([[-self.left(s), one], [one, -self.right(s)]])


class Remainder(NamedTuple):
    """W - L R, the full-rank part B, which isn't formed: its products cost a few passes over W.

    Attributes
    ----------
    W : ndarray of shape (N, d)
        The weights.
    gram : ndarray of shape (d, d)
        W^T W.
    spikes : LowRank
        The low-rank part L R.
    """

    W: FloatArray
    gram: FloatArray
    spikes: LowRank

    def variances(self) -> FloatArray:
        """Return the squared norms of the rows.

        Returns
        -------
        ndarray of shape (N,)
            At least 0.
        """
        left, right = self.spikes.left, self.spikes.right
        inner = 0.5 * left @ (right @ right.T) - self.W @ right.T
        squares = np.einsum("ij,ij->i", self.W, self.W) + 2.0 * np.sum(left * inner, axis=1)
        return np.asarray(np.maximum(squares, 0.0))

    def without_rows(self, rows: np.ndarray[Any, np.dtype[np.intp]]) -> Remainder:
        """Return what is left when some rows are moved to the low-rank part.

        Parameters
        ----------
        rows : ndarray of int
            Their indices.

        Returns
        -------
        Remainder
            With a spike more for each row.
        """
        left, right = self.spikes.left, self.spikes.right
        units = np.zeros((left.shape[0], rows.size))
        units[rows, np.arange(rows.size)] = 1.0
        moved = np.concatenate([right, self.W[rows] - left[rows] @ right])
        return self._replace(spikes=LowRank(np.concatenate([left, units], axis=1), moved))

    def columns(self) -> FloatArray:
        """Return B^T B.

        Returns
        -------
        ndarray of shape (d, d)
            Symmetric to rounding.
        """
        left, right = self.spikes.left, self.spikes.right
        half = left.T @ self.W - 0.5 * (left.T @ left) @ right
        return np.asarray(self.gram - np.concatenate([right, half]).T @ np.concatenate([half, right]))

    def top_values(self, columns: FloatArray) -> FloatArray:
        """Return the largest singular values of B, as many as a fit of the edge needs.

        Parameters
        ----------
        columns : ndarray of shape (d, d)
            B^T B.

        Returns
        -------
        ndarray
            Descending.
        """
        if self.W.shape[0] < self.W.shape[1]:
            rest = self.W - self.spikes.left @ self.spikes.right
            columns = rest @ rest.T
        # Single precision: without the spikes all values are of order one, and errors of 1e-7 far below what matters.
        squares = scipy.linalg.eigh(
            columns.astype(np.float32), eigvals_only=True, driver="ev", overwrite_a=True, check_finite=False
        )
        return np.sqrt(np.maximum(squares[: -n_needed(squares.size) - 1 : -1], 0.0)).astype(np.float64)

    def pairs(self, columns: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the singular vectors that belong to the first few values.

        Parameters
        ----------
        columns : ndarray of shape (d, d)
            B^T B.
        values : ndarray of shape (k,)
            The k largest singular values, from `top_values`.

        Returns
        -------
        tuple of ndarray
            Left vectors (N, k), values (k,) and right vectors (d, k).
        """
        v = top_eigenvectors(columns, values**2)
        image = self.W @ v - self.spikes.left @ (self.spikes.right @ v)
        sizes = np.linalg.norm(image, axis=0)
        return image / sizes, sizes, v


class ResolventBulk(ProfileBulk):
    """Independent rows as there, the columns of B itself, and the overlaps of the spikes with B's part known before.

    Outliers that B has of its own are moved to the spikes.

    Parameters
    ----------
    rest : Remainder
        B.
    overlaps : ndarray of shape (d, k) or None
        What is known of B^T L for the first k columns of L, for C; zero for the others.
    level : float
        Tracy-Widom level beyond which a singular value of B is an outlier of its own.
    """

    def __init__(self, rest: Remainder, overlaps: FloatArray | None, level: float) -> None:
        shape = (rest.W.shape[0], rest.W.shape[1])
        gram, spikes, variances = rest.columns(), rest.spikes, rest.variances()
        values = rest.top_values(gram)
        edge, own = None, 0
        if values.size >= _SMALLEST_FIT:
            edge = fit_edge(values, shape, level=level)
            own = int(np.sum(values > edge.location + max(tracy_widom_quantile(level), 0.0) * edge.scale))
        u, sizes, v = rest.pairs(gram, values[:own])
        if own:
            gram = gram - (v * sizes**2) @ v.T
            variances = np.maximum(variances - (u * sizes) ** 2 @ np.ones(own), 0.0)
            spikes = LowRank(np.hstack([spikes.left, u]), np.vstack([spikes.right, (v * sizes).T]))
        super().__init__(variances, spikes)
        self.n_own = own
        # B^T u = 0 once u has been moved: its part of Q is exact.
        self.along = u.T @ spikes.left
        self.across = spikes.left - u @ self.along
        known = np.zeros(spikes.right.T.shape)
        if overlaps is not None:
            known[:, : overlaps.shape[1]] = overlaps - v @ (v.T @ overlaps)
        single = gram.astype(np.float32)
        self.quadrature = GramQuadrature(
            lambda block: (single @ block.astype(np.float32)).astype(np.float64), spikes.right.T, _STEPS, others=known
        )
        if edge is not None:
            self.edge = edge
        # Resolvents of the rows exist beyond the profile's own edge only.
        self.top = max(float(values[own]) if own < values.size else 0.0, self.top)

    def left(self, s: float) -> FloatArray:
        """Return Q, exact along the outliers of B's own; see `ProfileBulk.left`."""
        diagonal = self.profile.resolvents(s)[0]
        return np.asarray(self.across.T @ (diagonal[:, None] * self.across) + self.along.T @ self.along / s)

    def right(self, s: float) -> FloatArray:
        """Return P, from the columns of B itself; see `ProfileBulk.right`."""
        return self.quadrature.resolvent(s)

    def cross(self, s: float) -> FloatArray:
        """Return C: overlaps of the spikes with B's part known before; see `ProfileBulk.cross`."""
        return self.quadrature.cross(s)
