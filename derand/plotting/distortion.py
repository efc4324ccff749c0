"""Pictures of distortion: the ratios of all pairs under several maps, and the largest distortion against dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.spatial.distance import pdist

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int
from derand.embedding import learn_embedding, linear_lower_bound
from derand.embedding.points import PointSet, RowSpace
from derand.exceptions import InputError
from derand.plotting.figures import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DistortionDisplay"]

_MOST_POINTS = 2000
_BINS = 121
# Okabe and Ito's palette; markers and dashes say the same again.
_STYLES = {
    "learned": ("#0072B2", "solid", "o"),
    "principal axes": ("#009E73", "dashed", "s"),
    "Gaussian": ("#D55E00", "dashdot", "^"),
    "bound": ("#000000", "dotted", "v"),
}


@dataclass(eq=False)
class DistortionDisplay:
    """Distortion of a learned map beside principal axes and the best of some random Gaussian maps.

    Build one with `from_map` (the ratios of all pairs) or `from_dimensions` (largest distortion against dimension).
    Principal axes and random maps have their best scale, so that only their shape counts.

    Parameters
    ----------
    kind : {"ratios", "dimensions"}
        What is shown.
    distortions : dict of str to ndarray, shape (m,)
        Largest distortion of each map at each dimension.
    dimensions : ndarray of int64, shape (m,)
        The dimensions; one for "ratios".
    lower_bounds : ndarray, shape (m,)
        Proved lower bounds for linear maps; nan where none was asked for.
    edges : ndarray, shape (b + 1,)
        Edges of the bins of ratios; empty for "dimensions".
    counts : dict of str to ndarray, shape (b,)
        Pairs in each bin.
    n_random : int
        Random maps that "Gaussian" is the best of.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.

    References
    ----------
    Okabe, Ito, Color universal design (2008), for the colours.
    """

    kind: str
    distortions: dict[str, FloatArray]
    dimensions: Any
    lower_bounds: FloatArray
    edges: FloatArray = field(default_factory=lambda: np.empty(0))
    counts: dict[str, FloatArray] = field(default_factory=dict)
    n_random: int = 0

    @classmethod
    def from_map(cls, X: Any, M: Any, *, lower_bound: float = math.nan, n_random: int = 20, rng: RNGLike = 0) -> Self:
        """Return the display of the ratios of squared distances after and before a map, not plotted yet.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            Points; of more than 2,000 that many are drawn.
        M : array_like, shape (k, d), or a fitted `derand.estimators.LearnedJL`
            The map.
        lower_bound : float, optional
            Proved lower bound to show; that of a fitted LearnedJL by default.
        n_random : int, default 20
            Random maps to take the best of.
        rng : int, Generator or None, default 0
            Draws them, and the points.

        Returns
        -------
        DistortionDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If X isn't finite, has fewer than two distinct points or no column for each of M, or n_random is below 1.
        InputTypeError
            If X or M doesn't hold real numbers.

        Examples
        --------
        >>> X = np.random.default_rng(0).standard_normal((20, 5))
        >>> display = DistortionDisplay.from_map(X, np.eye(3, 5))
        >>> int(display.counts["learned"].sum())
        190
        """
        generator, check = check_rng(rng), check_int(n_random, "n_random", low=1)
        if hasattr(M, "components_"):
            bound = getattr(M, "lower_bound_", None)
            lower_bound = bound if math.isnan(lower_bound) and bound is not None else lower_bound
            M = M.components_
        points = _some_points(X, generator)
        matrix = check_array(M, "M", shape=(None, points.shape[1]))
        before = pdist(points, "sqeuclidean")
        distinct = before > 0.0
        if not distinct.any():
            raise InputError("X must have two distinct points")
        ratios = {"learned": (pdist(points @ matrix.T, "sqeuclidean")[distinct]) / before[distinct]}
        others = _peers(points, before, matrix.shape[0], check, generator)
        ratios |= {name: values[distinct] / before[distinct] for name, values in others.items()}
        ratios |= {name: _to_middle(ratios[name]) for name in others}
        top = min(max(float(values.max()) for values in ratios.values()), 4.0)
        edges = np.linspace(0.0, max(top, 1.5), _BINS)
        return cls(
            "ratios",
            {name: np.array([np.abs(values - 1.0).max()]) for name, values in ratios.items()},
            np.array([matrix.shape[0]]),
            np.array([lower_bound]),
            edges,
            {name: np.histogram(values, edges)[0].astype(np.float64) for name, values in ratios.items()},
            check,
        )

    @classmethod
    def from_dimensions(
        cls, X: Any, dimensions: Iterable[int], *, lower_bound: bool = True, n_random: int = 20, rng: RNGLike = 0
    ) -> Self:
        """Return the display of the largest distortion against the dimension, not plotted yet.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            Points; of more than 2,000 that many are drawn.
        dimensions : iterable of int
            The dimensions.
        lower_bound : bool, default True
            Whether to prove lower bounds.
        n_random : int, default 20
            Random maps to take the best of.
        rng : int, Generator or None, default 0
            Draws them, and the points.

        Returns
        -------
        DistortionDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If X isn't finite or has fewer than two distinct points, there's no dimension, or one is below 1.
        InputTypeError
            If X doesn't hold real numbers, or a dimension isn't an integer.

        Notes
        -----
        Learns a map for each dimension.
        """
        generator, check = check_rng(rng), check_int(n_random, "n_random", low=1)
        where = np.array([check_int(k, "dimensions", low=1) for k in dimensions], dtype=np.int64)
        if not where.size:
            raise InputError("dimensions must have at least one entry")
        points = _some_points(X, generator)
        before = pdist(points, "sqeuclidean")
        distinct = before > 0.0
        if not distinct.any():
            raise InputError("X must have two distinct points")
        found: dict[str, list[float]] = {name: [] for name in ("learned", "principal axes", "Gaussian")}
        bounds = []
        for k in where:
            learned = learn_embedding(points, int(k))
            found["learned"].append(learned.report.distortion)
            for name, after in _peers(points, before, int(k), check, generator).items():
                found[name].append(_distortion(after[distinct] / before[distinct]))
            bounds.append(linear_lower_bound(points, int(k), M=learned.components).value if lower_bound else math.nan)
        curves = {name: np.array(values) for name, values in found.items()}
        return cls("dimensions", curves, where, np.array(bounds), n_random=check)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the histogram or the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DistortionDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        self.ax_: Axes = axes_for(ax, (7.0, 4.5))
        self.figure_: Figure | Any = self.ax_.figure
        self.ax_.spines[["top", "right"]].set_visible(False)
        if self.kind == "ratios":
            self._draw_ratios(self.ax_)
        else:
            self._draw_dimensions(self.ax_)
        return self

    def _label(self, name: str) -> str:
        """Return the name of a map for the legend."""
        return f"Gaussian, best of {self.n_random}" if name == "Gaussian" else name

    def _draw_ratios(self, ax: Axes) -> None:
        """Draw the histogram of ratios, with the range that the lower bound leaves no map."""
        for name, counts in self.counts.items():
            colour, dash, _ = _STYLES[name]
            label = f"{self._label(name)}: {self.distortions[name][0]:.3g}"
            ax.stairs(counts, self.edges, color=colour, linestyle=dash, label=label)
        bound = float(self.lower_bounds[0])
        if math.isfinite(bound):
            for end, label in ((1.0 - bound, f"lower bound for linear maps: {bound:.3g}"), (1.0 + bound, "_nolegend_")):
                ax.axvline(end, color=_STYLES["bound"][0], linestyle="dotted", linewidth=1.0, label=label)
        ax.set(
            xlabel="squared distance after / before",
            ylabel="pairs",
            yscale="log",
            xlim=(0.0, float(self.edges[-1])),
            title=f"{int(self.dimensions[0])} dimensions",
        )
        ax.legend(title="largest distortion", edgecolor="none", framealpha=0.9)  # over the curves, so not clear

    def _draw_dimensions(self, ax: Axes) -> None:
        """Draw the largest distortion of each map, and the lower bound, against the dimension."""
        for name, values in self.distortions.items():
            colour, dash, marker = _STYLES[name]
            shown = np.where(values > 1e-12, values, np.nan)  # an isometry has no place on a logarithmic axis
            ax.plot(self.dimensions, shown, color=colour, linestyle=dash, marker=marker, label=self._label(name))
        if np.isfinite(self.lower_bounds).any():
            colour, dash, marker = _STYLES["bound"]
            shown = np.where(self.lower_bounds > 1e-12, self.lower_bounds, np.nan)
            label = "lower bound for linear maps"
            ax.plot(self.dimensions, shown, color=colour, linestyle=dash, marker=marker, label=label)
        ax.set(xlabel="dimensions", ylabel="largest distortion", yscale="log")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)


def _some_points(X: Any, rng: np.random.Generator) -> FloatArray:
    """Return at most 2,000 of the points, centred and scaled, dense."""
    points = PointSet(X)
    rows = np.arange(points.n)
    if points.n > _MOST_POINTS:
        rows = np.sort(rng.choice(points.n, _MOST_POINTS, replace=False))
    chosen = points.raw[rows]
    dense: FloatArray = (chosen.toarray() if points.is_sparse else chosen) - points.mean
    return dense


def _peers(
    points: FloatArray, before: FloatArray, k: int, n_random: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Return the squared distances after principal axes and after the best of some random maps."""
    basis = RowSpace.of(PointSet(points)).basis
    principal = pdist(points @ basis[:k].T, "sqeuclidean")
    distinct = before > 0.0
    best, least = principal, math.inf
    for _ in range(n_random):
        after = pdist(points @ rng.standard_normal((points.shape[1], k)), "sqeuclidean")
        distortion = _distortion(after[distinct] / before[distinct])
        if distortion < least:
            best, least = after, distortion
    return {"principal axes": principal, "Gaussian": best}


def _to_middle(ratios: FloatArray) -> FloatArray:
    """Return ratios scaled so that the middle of their range is 1."""
    scaled: FloatArray = ratios * (2.0 / float(ratios.min() + ratios.max()))
    return scaled


def _distortion(ratios: FloatArray) -> float:
    """Return the largest distortion at the best scale."""
    low, high = float(ratios.min()), float(ratios.max())
    return (high - low) / (high + low)
