"""Conditional moments for a link with additive Gaussian noise, and from samples where nothing exact is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import BudgetExceededError
from derand.gaussian.qmc import sobol_normal
from derand.spectral.conditional import ConditionalMoments
from derand.spectral.quadrature import gaussian_panels, panel_edges, tensor_panels

__all__ = ["NoisyMoments", "sampled_moments"]

_MAX_PAIRS = 400_000_000
_SAMPLES = 1 << 17
_BINS = 96

PlaneFunction = Callable[[FloatArray], FloatArray]


class NoisyMoments:
    r"""Moments given y = h(z) + sigma eps: ratios of Gaussian averages of the noise's density at y - h(z).

    Parameters
    ----------
    h : callable
        ``h(z)`` with z of shape (n, dim) returns shape (n,).
    dim : int
        Number of coordinates, 1 to 3.
    noise : float
        Standard deviation sigma > 0.
    breakpoints : sequence of float
        Kinks and jumps of h along the axes.
    quality : float
        Multiple of the default number of nodes in each coordinate.

    Notes
    -----
    The nodes in z resolve the noise where h changes by less than sigma from one to the next; for weaker noise the
    result shows ripples, and two resolutions differ.
    """

    def __init__(
        self, h: PlaneFunction, dim: int, noise: float, breakpoints: Sequence[float] = (), quality: float = 1.0
    ) -> None:
        self.dim, self.noise = dim, noise
        if dim == 1:
            order = max(8, int(quality * min(400, 60 / noise)))
            line, self.mass = gaussian_panels(panel_edges(breakpoints, 0.7), order)
            self.nodes = line[:, None]
        else:
            order = {2: 20, 3: 5}.get(dim, 3)
            self.nodes, self.mass = tensor_panels(dim, breakpoints, order=max(3, int(quality * order)))
        kept = self.mass > 1e-18
        self.nodes, self.mass = self.nodes[kept], self.mass[kept] / np.sum(self.mass[kept])
        self.values = h(self.nodes)
        self._order = np.argsort(self.values, kind="stable")

    def moments(self) -> ConditionalMoments:
        """Return the moments at nodes of the response, by the trapezoidal rule.

        Returns
        -------
        ConditionalMoments
            All coordinates.

        Raises
        ------
        BudgetExceededError
            If the range of h is too large for its noise.
        """
        y = self._responses()
        density, first, second = self.integrals(y)
        good = density > 1e-18 / self.noise
        spacing = np.gradient(y)
        density, y, spacing = density[good], y[good], spacing[good]
        one = first[good] / density[:, None]
        two = second[good] / density[:, None, None] - np.eye(self.dim)
        size = np.trace(two, axis1=1, axis2=2) + self.dim + 1.0
        return ConditionalMoments(y, density * spacing, one, two, size)

    def _responses(self) -> FloatArray:
        """Return the nodes: six in a standard deviation, as far as the probability reaches."""
        cumulative = np.cumsum(self.mass[self._order])
        inside = self.values[self._order][(cumulative > 1e-16) & (cumulative < 1.0 - 1e-16)]
        low, high = float(inside[0]) - 9.0 * self.noise, float(inside[-1]) + 9.0 * self.noise
        count = math.ceil(6.0 * (high - low) / self.noise) + 1
        if count * min(len(self.values), 20_000) > _MAX_PAIRS:
            raise BudgetExceededError(f"the link's range {high - low:.3g} is too wide for the noise {self.noise:.3g}")
        return np.linspace(low, high, count)

    def integrals(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the density of the response, and its integrals with z and z z^T.

        Parameters
        ----------
        y : ndarray of shape (q,)
            Responses.

        Returns
        -------
        density, first, second : ndarray of shape (q,), (q, dim), (q, dim, dim)
            D(y), D(y) E[z|y] and D(y) E[z z^T|y].
        """
        dim, order = self.dim, self._order
        z, p, values = self.nodes[order], self.mass[order], self.values[order]
        table = np.concatenate([np.ones((len(z), 1)), z, (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)], axis=1)
        table *= p[:, None]
        sums = np.zeros((len(y), table.shape[1]))
        reach = 9.0 * self.noise
        sort = np.argsort(y, kind="stable")
        for block in np.array_split(sort, max(1, len(y) // 64)):
            if not len(block):
                continue
            # only nodes within nine standard deviations of the block's responses matter
            start = np.searchsorted(values, float(np.min(y[block])) - reach)
            stop = np.searchsorted(values, float(np.max(y[block])) + reach)
            gap = (y[block, None] - values[None, start:stop]) / self.noise
            sums[block] = np.exp(-0.5 * gap**2) @ table[start:stop]
        sums /= self.noise * math.sqrt(2.0 * math.pi)
        return sums[:, 0], sums[:, 1 : 1 + dim], sums[:, 1 + dim :].reshape(-1, dim, dim)

    def evaluate(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[z|y], shape (q, dim), and E[z z^T|y] - I, shape (q, dim, dim).

        Parameters
        ----------
        y : ndarray of shape (q,)
            Responses.

        Returns
        -------
        first, second : ndarray
            The moments; NaN where the density underflows.
        """
        density, first, second = self.integrals(y)
        with np.errstate(invalid="ignore", divide="ignore"):
            return first / density[:, None], second / density[:, None, None] - np.eye(self.dim)


def sampled_moments(h: PlaneFunction, dim: int, noise: float, seed: int = 0) -> ConditionalMoments:
    """Return moments from samples, in bins of equal probability of the response.

    Parameters
    ----------
    h : callable
        ``h(z)`` with z of shape (n, dim) returns shape (n,).
    dim : int
        Number of coordinates.
    noise : float
        Standard deviation of the noise, >= 0.
    seed : int
        Of the scrambled Sobol points.

    Returns
    -------
    ConditionalMoments
        With ``method="sampled"``.  Values that repeat are bins of their own.

    Notes
    -----
    Binning averages over responses, so the information is biased downwards by what varies inside a bin; sampling
    biases it upwards by about dim^2 / (samples in a bin).
    """
    points = sobol_normal(_SAMPLES, dim + 1, seed)
    z, y = points[:, :dim], h(points[:, :dim]) + noise * points[:, dim]
    _values, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    is_atom = counts >= _SAMPLES // 1000
    label = np.full(len(y), -1)
    atoms = np.flatnonzero(is_atom)
    for number, atom in enumerate(atoms):
        label[inverse == atom] = number
    free = np.flatnonzero(label < 0)
    if len(free):
        ranks = np.argsort(np.argsort(y[free], kind="stable"), kind="stable")
        label[free] = len(atoms) + ranks * min(_BINS, max(1, len(free) // 500)) // len(free)
    bins = np.unique(label)
    mass = np.array([np.mean(label == b) for b in bins])
    first = np.array([np.mean(z[label == b], axis=0) for b in bins])
    second = np.array([z[label == b].T @ z[label == b] / np.sum(label == b) for b in bins]) - np.eye(dim)
    centre = np.array([np.median(y[label == b]) for b in bins])
    return ConditionalMoments(
        centre, mass, first, second, np.trace(second, axis1=1, axis2=2) + dim + 1.0, method="sampled"
    )
