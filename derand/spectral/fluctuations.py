"""Extreme eigenvalues in finitely many dimensions: of the bulk, and outliers, which fluctuate and repel each other."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray, check_int, check_option
from derand.gaussian.qmc import sobol_normal
from derand.spectral.bulk import check_delta
from derand.spectral.results import FiniteOutlier, Outlier

__all__ = ["EdgeStatistics", "FiniteSpectrum", "outlier_covariance", "planted_pull"]

# Outliers this many deviations apart move each other by a tenth of a deviation only.
_NEAR = 4.0
_DRAWS = 4096
# Mean and deviation of the Tracy-Widom law of real symmetric matrices, and the mean gap to the next eigenvalue.
_MEAN, _DEVIATION, _GAP = 1.2065, 1.2680, 2.056


@dataclass(frozen=True)
class EdgeStatistics:
    """What the extreme eigenvalue of the bulk in d dimensions depends on, as on the left side.

    Parameters
    ----------
    z : float
        The edge.
    width : float
        Unit of its fluctuations, times d^(2/3).
    variance : float
        n times the variance of the edge of drawn weights.
    planted : ndarray of shape (q, q)
        E[P v v'] - z at the edge, negative where there are outliers.
    squares : ndarray of shape (q, q)
        n times the covariance of the coupling of the bulk's extreme eigenvector to the planted directions.
    """

    z: float
    width: float
    variance: float
    planted: FloatArray
    squares: FloatArray


def planted_pull(planted: FloatArray, squares: FloatArray, gap: float) -> float:
    r"""Return by how much planted directions move the bulk's extreme eigenvalue inwards.

    Let :math:`p_1 < p_2` be the first eigenvalues without a planted direction, c their coupling to it, and M the
    planted value at the edge.  With it, the eigenvalue x is where :math:`c^2/(p_1 - x) + c^2/(p_2 - x) = M`: to first
    order :math:`c^2/|M|` further in where there is an outlier (M < 0), and further out where there is none.  It stays
    within half the gap :math:`p_2 - p_1`.

    Parameters
    ----------
    planted, squares : ndarray of shape (q, q)
        Planted values M and squared couplings as matrices.
    gap : float
        Distance of the first two eigenvalues.

    Returns
    -------
    float
        The sum over the eigenvectors of M.

    Examples
    --------
    Far from the transition c^2/|M|, half the gap at it:

    >>> [round(planted_pull(np.array([[M]]), np.array([[0.01]]), 2.0), 4) for M in (-1.0, -1e-9, 1.0)]
    [0.01, 1.0, -0.01]
    """
    values, vectors = np.linalg.eigh(planted)
    c = np.maximum(np.einsum("ar,ab,br->r", vectors, squares, vectors), 1e-300)
    M = np.abs(values)
    b = M * gap + 2.0 * c
    shifts = 2.0 * c * gap / (b + np.sqrt(b * b - 4.0 * M * c * gap))
    return float(np.sum(np.where(values < 0.0, shifts, -shifts)))


def outlier_covariance(
    P: FloatArray, p: FloatArray, V: FloatArray, K: FloatArray, directions: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return n times the covariance of the planted matrix, restricted to some directions, in two parts.

    An outlier is where :math:`M = \frac1n \sum_{ij} \mathcal P_{ij} \otimes v_i v_j^\top - z` is singular; the diagonal
    blocks of :math:`\mathcal P` tend to P, and those off the diagonal are
    :math:`-\frac1n P_i\,(x_i^\top R\, x_j)\, P_j`.  With unit vectors :math:`w_r` of shape m x k,
    :math:`A_{rs} = E[(P w_r v)(P w_s v)^\top]` and :math:`L D = K^{-1} D K^{-1} - E[P D P]/\delta` the off-diagonal
    ones give

    .. math:: n\,\mathrm{Cov}(M_{rs}, M_{tu}) = \frac1\delta \big( \langle A_{rt}, L^{-1} A_{su} \rangle
              + \langle A_{ru}, L^{-1} A_{st} \rangle \big),

    and drawing the blocks adds the covariance of
    :math:`\varphi_{rs} = (w_r v)^\top P\, w_s v + \langle L^{-1} A_{rs}, P \rangle/\delta`, whose second term is the
    change of K with the drawn blocks.

    Parameters
    ----------
    P : ndarray of shape (n, m, m)
        S (I + K S / delta)^(-1) for each block.
    p : ndarray of shape (n,)
        Probabilities.
    V : ndarray of shape (n, k)
        Coordinates along the planted directions.
    K : ndarray of shape (m, m)
        Transform at the outlier.
    directions : ndarray of shape (q, m, k)
        The unit vectors.
    delta : float
        Ratio of samples to dimensions.

    Returns
    -------
    given, drawn : ndarray of shape (q, q, q, q)
        For given blocks, and what drawing the blocks adds.
    """
    q, m = len(directions), len(K)
    moved = np.einsum("rak,nk->nra", directions, V)
    w = np.einsum("nab,nrb->nra", P, moved)
    pairs = (w * p[:, None, None]).reshape(len(P), -1).T @ w.reshape(len(P), -1)
    A = pairs.reshape(q, m, q, m).transpose(0, 2, 1, 3)  # A[r, s] is m x m
    flat = P.reshape(len(P), -1)
    second = ((flat * p[:, None]).T @ flat).reshape(m, m, m, m).transpose(0, 3, 1, 2).reshape(m * m, m * m)
    inverse = np.linalg.inv(K)
    solved = np.linalg.solve(np.kron(inverse, inverse) - second / delta, A.reshape(q * q, -1).T).T.reshape(A.shape)
    straight = np.einsum("rtab,suab->rstu", A, solved)
    given = (straight + straight.transpose(0, 1, 3, 2)) / delta
    both = 0.5 * (solved + solved.transpose(0, 1, 3, 2))
    influence = np.einsum("nra,nsa->nrs", moved, w) + np.einsum("rsab,nab->nrs", both, P) / delta
    flat = (influence - np.einsum("n,nrs->rs", p, influence)).reshape(len(P), -1)
    return given, ((flat * p[:, None]).T @ flat).reshape(q, q, q, q)


class FiniteSpectrum(ABC):
    """Adds the extreme eigenvalues in d dimensions to a law that knows edges and outliers in the limit."""

    @abstractmethod
    def _edge_statistics(self, side: str, delta: float) -> EdgeStatistics | None:
        """Return what the extreme eigenvalue of the bulk depends on, None where the edge isn't soft."""

    def extreme_eigenvalue(
        self, delta: float, d: int, side: str = "left", *, random_weights: bool = False
    ) -> tuple[float, float]:
        r"""Return mean and standard deviation of the bulk's extreme eigenvalue in d dimensions.

        At a soft edge z the density is :math:`\sqrt{a |x - z|}/\pi`, and the extreme one of m d eigenvalues differs
        from z by :math:`(\sqrt a\, m d)^{-2/3}` times a Tracy-Widom variable (mean -1.2065, standard deviation 1.2680,
        real case).  Outliers push it further in, planted directions without an outlier pull it out, by

        .. math:: \frac{E[(w^\top P \phi\, v)^2]}{n\, |w^\top (E[P v^2] - z)\, w|}

        to first order, with the direction w of the neurons and the fields phi of the bulk's last eigenvector (one
        neuron: :math:`E[P^2 v^2]/(n |E[P v^2] - z|)`, :math:`P = G/(1 + G\tau)`); and by at most half the distance of
        the first two eigenvalues.  If the n = delta d weights are drawn from the law as well, the edge of the drawn
        ones fluctuates about z with a variance of order 1/n, which often is the larger part.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.
        d : int
            Dimensions.
        side : {"left", "right"}
            Which end.
        random_weights : bool, default False
            Whether the weights (or blocks) are drawn from the law, instead of following it as closely as they can.

        Returns
        -------
        mean, deviation : float
            NaN where the edge isn't soft.

        Raises
        ------
        InputError
            If an argument is out of range.
        NonConvergenceError
            If the curve of a matrix law could not be followed.

        Notes
        -----
        The leading orders in d.  Drawn weights, and weights that were fitted to the samples, also move the mean by a
        multiple of 1/d, which isn't known.  For independent blocks along the axes of m neurons (equal diagonal blocks,
        say) the bulk is a superposition of m others, whose extreme eigenvalues don't repel each other; the formula then
        doesn't hold.

        Examples
        --------
        >>> from derand.spectral import SpectralLaw
        >>> mean, deviation = SpectralLaw([1.0], weights=[1.0]).extreme_eigenvalue(4.0, 1000, "right")
        >>> round(mean, 3), round(deviation, 3)  # the edge is at 2.25
        (2.24, 0.011)
        """
        delta, d = check_delta(delta), check_int(d, "d", low=2)
        sign = 1.0 if check_option(side, "side", ("left", "right")) == "left" else -1.0
        found = self._edge_statistics(side, delta)
        if found is None:
            return math.nan, math.nan
        n, scale = delta * d, found.width * d ** (-2.0 / 3.0)
        pull = planted_pull(found.planted, found.squares / n, _GAP * scale) if len(found.planted) else 0.0
        variance = found.variance / n if random_weights else 0.0
        return sign * (found.z + _MEAN * scale + pull), math.hypot(_DEVIATION * scale, math.sqrt(variance))

    @abstractmethod
    def outliers(self, delta: float, side: str = "both") -> tuple[Outlier, ...]:
        """Return the outliers of the limit."""

    @abstractmethod
    def _outlier_covariance(self, side: str, delta: float, ranks: list[int]) -> tuple[FloatArray, FloatArray]:
        """Return `outlier_covariance` of some outliers on one side, at the middle one of them."""

    def finite_outliers(
        self, delta: float, d: int, side: str = "left", *, random_weights: bool = False
    ) -> tuple[FiniteOutlier, ...]:
        r"""Return mean and standard deviation of the outliers in d dimensions, sorted as eigenvalues are.

        An outlier fluctuates about its limit by a multiple of :math:`n^{-1/2}`, n = delta d, as a normal variable does.
        Where several limits coincide or nearly do (equal neurons, say), the outliers are the eigenvalues of a symmetric
        Gaussian matrix, repel each other, and, being sorted, have *means* on both sides of the limits, by as much as
        they fluctuate.  Only the mean over such a cluster is that of the limits.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.
        d : int
            Dimensions.
        side : {"left", "right"}
            Which end.
        random_weights : bool, default False
            Whether the n weights (or blocks) are drawn from the law, with their coordinates along the planted
            directions; False: they are those of the law, and only the other coordinates are random.

        Returns
        -------
        tuple of FiniteOutlier
            The most extreme one first, as many as there are in the limit.

        Raises
        ------
        InputError
            If an argument is out of range.

        Notes
        -----
        The leading order; a shift of the mean of order 1/d, and an outlier that comes as close to the edge as it
        fluctuates, are not covered.  Clusters are the outliers within four deviations of a neighbour; the means of
        their sorted values are averages over 4096 Sobol points and their negatives, exact to about 0.01 deviations.
        Deterministic.

        Examples
        --------
        >>> from derand.spectral import SpectralLaw
        >>> law = SpectralLaw.from_function(lambda z: 1.0 - 1.0 / z**2, breakpoints=[0.0])
        >>> (found,) = law.finite_outliers(2.0, 1000, "right", random_weights=True)
        >>> round(found.mean, 3), round(found.deviation, 3), found.cluster_size
        (0.5, 0.034, 1)
        """
        delta, d = check_delta(delta), check_int(d, "d", low=2)
        sign = 1.0 if check_option(side, "side", ("left", "right")) == "left" else -1.0
        found = self.outliers(delta, side)
        limits = np.array([sign * outlier.value for outlier in found])
        roots = np.sqrt([outlier.overlap for outlier in found])

        def covariance(ranks: list[int]) -> FloatArray:
            """Return the covariance of the matrix whose eigenvalues are the outliers of some ranks."""
            given, drawn = self._outlier_covariance(side, delta, ranks)
            scale = roots[ranks]
            scale = scale[:, None] * scale
            both = given + drawn if random_weights else given
            return both * scale[:, :, None, None] * scale / (delta * d)

        result = []
        for ranks in _clusters(limits, covariance):
            means, deviations = _sorted_values(limits[ranks], covariance(ranks))
            for rank, mean, deviation in zip(ranks, means, deviations, strict=True):
                limit = sign * float(limits[rank])
                result.append(FiniteOutlier(sign * float(mean), float(deviation), limit, len(ranks)))
        return tuple(result)


def _clusters(limits: FloatArray, covariance: Callable[[list[int]], FloatArray]) -> list[list[int]]:
    """Return the ranks of outliers in groups of those that come close to each other."""
    groups: list[list[int]] = []
    last = 0.0
    for rank, limit in enumerate(limits):
        deviation = math.sqrt(max(0.0, float(covariance([rank])[0, 0, 0, 0])))
        if groups and limit - limits[rank - 1] < _NEAR * max(deviation, last):
            groups[-1].append(rank)
        else:
            groups.append([rank])
        last = deviation
    return groups


def _sorted_values(limits: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and deviations of the ascending eigenvalues of diag(limits) plus a centred Gaussian matrix."""
    q = len(limits)
    if q == 1:
        return limits, np.sqrt(covariance[0, 0, 0])
    rows, columns = np.triu_indices(q)
    values, vectors = np.linalg.eigh(covariance[rows, columns][:, rows, columns])
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    entries = sobol_normal(_DRAWS, len(rows), 0) @ root.T
    noise = np.zeros((2 * _DRAWS, q, q))
    noise[:, rows, columns] = np.concatenate([entries, -entries])
    noise[:, columns, rows] = noise[:, rows, columns]
    drawn = np.linalg.eigvalsh(np.diag(limits) + noise)
    return np.mean(drawn, axis=0), np.std(drawn, axis=0)
