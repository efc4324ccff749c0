"""First and second moments of hidden Gaussian coordinates given the response, as quadrature nodes over the response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["ConditionalMoments", "join", "perron_value"]


@dataclass(frozen=True)
class ConditionalMoments:
    """Conditional moments at nodes of a quadrature rule over the response.

    Parameters
    ----------
    y : ndarray of shape (q,)
        Responses.
    mass : ndarray of shape (q,)
        Probabilities of the nodes, with a sum close to 1.
    first : ndarray of shape (q, h)
        E[b | y] of the h coordinates that aren't conditioned on.
    second : ndarray of shape (q, h, h)
        E[b b^T | y] - I.
    size : ndarray of shape (q,)
        E[|b|^2 + 1 | y], against which rounding in the other moments is judged.
    method : str
        "exact" for quadrature on the fibres, "sampled" for an estimate.
    """

    y: FloatArray
    mass: FloatArray
    first: FloatArray
    second: FloatArray
    size: FloatArray
    method: str = "exact"

    @property
    def dim(self) -> int:
        """Number h of coordinates."""
        return int(self.first.shape[1])

    def first_covariance(self) -> FloatArray:
        """Return E[E[b|y] E[b|y]^T], shape (h, h)."""
        return np.asarray((self.first * self.mass[:, None]).T @ self.first)

    def information(self) -> float:
        """Return 1/delta_alg, the largest eigenvalue of Phi -> E[M Phi M], M = `second`; 0.0 where it is rounding."""
        value = perron_value(self.second, self.mass)
        scale = float(self.mass @ self.size**2)
        return 0.0 if value <= 1e-13 * scale else value


def join(parts: list[ConditionalMoments], masses: FloatArray) -> ConditionalMoments:
    """Return moments conditional on further coordinates as well: one part for each node of those.

    Parameters
    ----------
    parts : list of ConditionalMoments
        For each node of the conditioning coordinates.
    masses : ndarray of shape (len(parts),)
        Probabilities of the nodes.

    Returns
    -------
    ConditionalMoments
        All nodes.
    """
    return ConditionalMoments(
        np.concatenate([part.y for part in parts]),
        np.concatenate([mass * part.mass for mass, part in zip(masses, parts, strict=True)]),
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.second for part in parts]),
        np.concatenate([part.size for part in parts]),
        "exact" if all(part.method == "exact" for part in parts) else "sampled",
    )


def perron_value(matrices: FloatArray, mass: FloatArray, right: FloatArray | None = None) -> float:
    r"""Return the largest eigenvalue of :math:`\Phi \mapsto E[M \Phi M]` on symmetric matrices.

    Parameters
    ----------
    matrices : ndarray of shape (q, h, h)
        Symmetric M at each node.
    mass : ndarray of shape (q,)
        Probabilities.
    right : ndarray of shape (q, h, h), optional
        Another estimate of M for the second factor, whose errors are independent of those of the first.

    Returns
    -------
    float
        For a map that preserves positive semidefinite matrices, also its spectral radius.

    Notes
    -----
    An eigenvalue problem of order h^2.

    Examples
    --------
    >>> perron_value(np.array([[[0.5]], [[-0.5]]]), np.array([0.5, 0.5]))
    0.25
    """
    other = matrices if right is None else right
    h = matrices.shape[1]
    operator = np.einsum("q,qij,qkl->ikjl", mass, matrices, other, optimize=True).reshape(h * h, h * h)
    return float(np.max(np.linalg.eigvalsh(0.5 * (operator + operator.T)), initial=0.0))
