"""Resolvents of a full-rank part between given vectors, by block Lanczos quadrature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["GramQuadrature"]

_STEPS = 40


class GramQuadrature:
    """The matrices V^T f(A) V of a symmetric matrix A, for all functions f at the cost of one Krylov space.

    Parameters
    ----------
    apply : callable
        Returns A @ block.
    vectors : ndarray of shape (n, m)
        V, of any rank, m at least 1.
    steps : int, default 40
        Blocks of the Krylov space; f = 1/(z - A) converges geometrically, the faster the further z is from A's
        spectrum.
    others : ndarray of shape (n, m), optional
        Vectors Y for `cross`, V^T f(A) Y, from the Krylov space of V alone, with half as many correct digits.

    Attributes
    ----------
    nodes : ndarray
        Ritz values, inside the spectrum of A.
    weights : ndarray of shape (m, len(nodes))
        V^T f(A) V is approximated by ``weights @ diag(f(nodes)) @ weights.T``.
    """

    def __init__(
        self,
        apply: Callable[[FloatArray], FloatArray],
        vectors: FloatArray,
        steps: int = _STEPS,
        *,
        others: FloatArray | None = None,
    ) -> None:
        others = np.zeros((vectors.shape[0], 0)) if others is None else others
        block = _orthonormal(vectors, np.zeros((vectors.shape[0], 0)))
        basis = block
        images: list[FloatArray] = []
        for _ in range(max(1, min(steps, vectors.shape[0] // max(block.shape[1], 1)))):
            if block.shape[1] == 0:
                break
            image = apply(block)
            images.append(image)
            block = _orthonormal(image, basis)
            basis = np.concatenate([basis, block], axis=1)
        used = sum(image.shape[1] for image in images)
        if used == 0:
            self.nodes, self.weights = np.zeros(1), np.zeros((vectors.shape[1], 1))
            self.others = np.zeros((others.shape[1], 1))
            return
        space = basis[:, :used]
        projected = space.T @ np.concatenate(images, axis=1)
        self.nodes, inner = np.linalg.eigh(0.5 * (projected + projected.T))
        self.weights = (vectors.T @ space) @ inner
        self.others = (others.T @ space) @ inner

    def resolvent(self, s: float) -> FloatArray:
        """Return V^T s (s^2 - A)^{-1} V and nothing else.

        Parameters
        ----------
        s : float
            Its square must exceed the largest node.

        Returns
        -------
        ndarray of shape (m, m)
            Symmetric.
        """
        return np.asarray((self.weights * (s / (s * s - self.nodes))) @ self.weights.T)

    def cross(self, s: float) -> FloatArray:
        """Return V^T (s^2 - A)^{-1} Y.

        Parameters
        ----------
        s : float
            As there.

        Returns
        -------
        ndarray of shape (m, number of columns of Y)
            The block.
        """
        return np.asarray((self.weights / (s * s - self.nodes)) @ self.others.T)

    def derivative(self, s: float) -> FloatArray:
        """Return the derivative of `resolvent` with respect to s.

        Parameters
        ----------
        s : float
            As there.

        Returns
        -------
        ndarray of shape (m, m)
            Symmetric and negative semidefinite.
        """
        gap = s * s - self.nodes
        return np.asarray((self.weights * ((gap - 2.0 * s * s) / gap**2)) @ self.weights.T)


def _orthonormal(block: FloatArray, basis: FloatArray) -> FloatArray:
    """Return an orthonormal basis of what a block adds to a basis; dependent columns are dropped."""
    rest = block / np.maximum(np.linalg.norm(block, axis=0), np.finfo(np.float64).tiny)
    for _ in range(2):
        rest = rest - basis @ (basis.T @ rest)
    q, upper = np.linalg.qr(rest)
    u, sizes, _ = np.linalg.svd(upper)
    kept = q @ u[:, sizes > 1e-9]
    # Small parts carry rounding errors along the basis: a last pass brings them to 1e-16.
    kept = kept - basis @ (basis.T @ kept)
    return np.asarray(np.linalg.qr(kept)[0])
