"""The cloud of first-layer weights along training, against the teacher's directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, InputTypeError
from derand.plotting.figures import axes_for
from derand.structure import DescentResult, Snapshot, TrainedNetwork, energy_share, orthonormal_rows, split_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["WeightCloudDisplay"]

_MAX_PATHS = 200
# Okabe and Ito's palette; the markers say the same again.
_START, _END, _LINE = "#D55E00", "#0072B2", "#000000"


@dataclass(eq=False)
class WeightCloudDisplay:
    """Picture of every unit's weights at the start, at the end and on the way, as in the paper's experiments.

    The horizontal axis is the teacher's direction (the one with the most energy at the end, of several), the vertical
    one the direction across that held most energy at the start.  Weights that end on the horizontal line have found the
    teacher.  Build one with `from_trained`.

    Parameters
    ----------
    path : tuple of Snapshot
        First-layer weights from the start to the end.
    directions : ndarray of shape (k, d)
        Orthonormal directions of the teacher.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.

    References
    ----------
    arXiv:2510.19382, figures of section 4; Okabe, Ito, Color universal design (2008), for the colours.
    """

    path: tuple[Snapshot, ...]
    directions: FloatArray

    @classmethod
    def from_trained(cls, trained: TrainedNetwork | DescentResult, directions: Any = None) -> Self:
        """Return the display of a training run, not plotted yet.

        Parameters
        ----------
        trained : TrainedNetwork or DescentResult
            What `derand.structure.train_network` or `derand.structure.noisy_descent` returned.
        directions : array_like of shape (k, d), optional
            The teacher's directions; default those of the sample that a `TrainedNetwork` was trained on.

        Returns
        -------
        WeightCloudDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If no directions are known, or they don't fit the weights.
        InputTypeError
            If ``trained`` is no result of a training run.

        Examples
        --------
        >>> import numpy as np
        >>> from derand.structure import MultiIndexTeacher, Network, gaussian_population, train_network
        >>> population = gaussian_population(MultiIndexTeacher([0.6, 0.8], lambda s: s[:, 0]), n_nodes=8)
        >>> trained = train_network(Network(2, 3), population, lam=0.1, rest_decay=0.1)
        >>> WeightCloudDisplay.from_trained(trained).shares.shape == (len(trained.path),)
        True
        """
        if not isinstance(trained, (TrainedNetwork, DescentResult)):
            raise InputTypeError(f"trained must be the result of a training run, got {type(trained).__name__}")
        if directions is None and isinstance(trained, TrainedNetwork):
            directions = trained.objective.sample.directions
        if directions is None:
            raise InputError("directions must be given where the teacher isn't known")
        basis = orthonormal_rows(directions, "directions")
        split_weights(trained.path[0].W, basis)
        return cls(trained.path, basis)

    @property
    def shares(self) -> FloatArray:
        """Share of the weights' energy in the teacher's span, one for each snapshot."""
        return np.array([energy_share(snapshot.W, self.directions) for snapshot in self.path])

    def coordinates(self) -> FloatArray:
        """Return the drawn coordinates of all units at all snapshots.

        Returns
        -------
        ndarray of shape (n_snapshots, m, 2)
            Along the teacher and across it; the second is 0 where there's nothing across.
        """
        last, first = self.path[-1].W, self.path[0].W
        along = np.linalg.svd(last @ self.directions.T)[2][0] @ self.directions
        rest = split_weights(first, self.directions)[1]
        across = np.linalg.svd(rest, full_matrices=False)[2][0]
        across = split_weights(across[None, :], self.directions)[1][0]
        return np.stack([snapshot.W @ np.stack([along, across]).T for snapshot in self.path])

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw start, end and path of every unit's weights.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        WeightCloudDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        self.ax_: Axes = axes_for(ax, (6.0, 5.0))
        self.figure_: Figure | Any = self.ax_.figure
        points = self.coordinates()
        self.ax_.axhline(0.0, color=_LINE, linewidth=1.0, linestyle="dashed", label="span of the teacher")
        self._draw_paths(points)
        size = float(np.clip(3000.0 / points.shape[1], 6.0, 40.0))
        for chosen, colour, marker, label in ((points[0], _START, "o", "start"), (points[-1], _END, "s", "end")):
            self.ax_.scatter(chosen[:, 0], chosen[:, 1], s=size, c=colour, marker=marker, label=label, zorder=3)
        self.ax_.set_xlabel("weight along the teacher")
        self.ax_.set_ylabel("weight across it")
        shares: Sequence[float] = self.shares.tolist()
        self.ax_.set_title(f"share of energy in the teacher's span: {shares[0]:.3f} to {shares[-1]:.5g}")
        # Paths may lead anywhere: the legend stays outside.
        self.ax_.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, frameon=False)
        return self

    def _draw_paths(self, points: FloatArray) -> None:
        """Draw the paths of up to 200 units as thin lines."""
        from matplotlib.collections import LineCollection

        paths = points[:, :_MAX_PATHS].transpose(1, 0, 2)
        self.ax_.add_collection(LineCollection(list(paths), colors="0.7", linewidths=0.6, zorder=1))
