"""Pictures of two gradient steps: singular values with predictions, phase diagrams, reuse against fresh batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_option
from derand.exceptions import InputError, InputTypeError
from derand.plotting.figures import axes_for
from derand.two_step.bbp import mp_edges
from derand.two_step.diagram import PhaseDiagram
from derand.two_step.dynamics import TwoStepResult
from derand.two_step.outliers import OutlierPrediction, predict_outliers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["AlignmentDisplay", "PhaseDiagramDisplay", "SingularValueDisplay"]

# Okabe and Ito's palette; markers and dashes say the same again.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "^", "D")
_BINS = 60


@dataclass(eq=False)
class SingularValueDisplay:
    """Histograms of the singular values of W0, W1 and W2 with the predicted outliers of W2.

    Build one with `from_result`.

    Parameters
    ----------
    values : tuple of three ndarrays
        Singular values of W0, W1, W2.
    prediction : OutlierPrediction
        What was predicted for W2.
    ratio : float
        N/d.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    values: tuple[FloatArray, FloatArray, FloatArray]
    prediction: OutlierPrediction
    ratio: float

    @classmethod
    def from_result(cls, result: TwoStepResult, prediction: OutlierPrediction | None = None) -> Self:
        """Return the display of two steps, not plotted yet.

        Parameters
        ----------
        result : TwoStepResult
            From `derand.two_step.two_step_update`.
        prediction : OutlierPrediction, optional
            From `derand.two_step.predict_outliers`; computed by default.

        Returns
        -------
        SingularValueDisplay
            Call its ``plot``.

        Raises
        ------
        InputTypeError
            If ``result`` isn't one of `two_step_update`.
        """
        if not isinstance(result, TwoStepResult):
            raise InputTypeError(f"result must come from two_step_update, got {type(result).__name__}")
        values = [
            np.asarray(np.linalg.svd(W, compute_uv=False), dtype=np.float64) for W in (result.W0, result.W1, result.W2)
        ]
        found = predict_outliers(result) if prediction is None else prediction
        return cls((values[0], values[1], values[2]), found, result.W0.shape[0] / result.W0.shape[1])

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw the three histograms, one above the other.

        Parameters
        ----------
        axes : sequence of three matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SingularValueDisplay
            The display itself, with ``axes_`` and ``figure_``.

        Raises
        ------
        InputError
            If there aren't three axes.
        MissingDependencyError
            If matplotlib isn't installed.
        """
        self.axes_ = np.asarray(axes_for(axes, (7.0, 6.5), 3, sharex=True)).reshape(-1)
        if self.axes_.size != 3:
            raise InputError(f"axes must hold three axes, got {self.axes_.size}")
        self.figure_: Figure | Any = self.axes_[0].figure
        bins = np.linspace(0.0, 1.02 * max(float(value[0]) for value in self.values), 2 * _BINS)
        for k, (ax, values) in enumerate(zip(self.axes_, self.values, strict=True)):
            ax.hist(values, bins, color=_COLOURS[0], label=f"singular values of $W_{k}$")
            for end in mp_edges(self.ratio):
                ax.axvline(end, color="#000000", linestyle=":", linewidth=1.0)
            ax.set_yscale("log")
            ax.set_ylabel("number")
        last, found = self.axes_[2], self.prediction
        for flagged, label, k in ((False, "predicted outliers", 1), (True, "predicted, on few neurons", 3)):
            places = found.location[found.is_localised == flagged]
            if places.size:
                height = np.full(places.size, 1.5)
                last.plot(places, height, _MARKERS[k], color=_COLOURS[k], markerfacecolor="none", label=label)
        last.axvline(found.threshold, color=_COLOURS[2], linestyle="--", label="threshold of the deformed bulk")
        last.set_xlabel("singular value (dotted: bulk of $W_0$)")
        for ax in self.axes_:
            ax.legend(frameon=False, fontsize=8)
            ax.spines[["top", "right"]].set_visible(False)
        return self


@dataclass(eq=False)
class PhaseDiagramDisplay:
    """Numbers of outliers over the exponents of the step sizes.

    Build one with `from_diagram`.

    Parameters
    ----------
    diagram : PhaseDiagram
        From `derand.two_step.phase_diagram`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    diagram: PhaseDiagram

    @classmethod
    def from_diagram(cls, diagram: PhaseDiagram) -> Self:
        """Return the display of a phase diagram, not plotted yet.

        Parameters
        ----------
        diagram : PhaseDiagram
            From `derand.two_step.phase_diagram`.

        Returns
        -------
        PhaseDiagramDisplay
            Call its ``plot``.

        Raises
        ------
        InputTypeError
            If it isn't a phase diagram.
        """
        if not isinstance(diagram, PhaseDiagram):
            raise InputTypeError(f"diagram must come from phase_diagram, got {type(diagram).__name__}")
        return cls(diagram)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw the counts for N to infinity, predicted at this size, and found; cells that disagree are framed.

        Parameters
        ----------
        axes : sequence of three matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        PhaseDiagramDisplay
            The display itself, with ``axes_`` and ``figure_``.

        Raises
        ------
        InputError
            If there aren't three axes.
        MissingDependencyError
            If matplotlib isn't installed.
        """
        found = self.diagram
        self.axes_ = np.asarray(axes_for(axes, (10.0, 3.8), 1, 3, sharey=True)).reshape(-1)
        if self.axes_.size != 3:
            raise InputError(f"axes must hold three axes, got {self.axes_.size}")
        self.figure_: Figure | Any = self.axes_[0].figure
        tables = (
            (found.asymptotic, r"outliers for $N \to \infty$"),
            (found.predicted, f"predicted, N = {found.n_neurons}"),
            (found.counted, f"counted, N = {found.n_neurons}"),
        )
        top = max(int(np.max(table)) for table, _ in tables)
        for ax, (table, title) in zip(self.axes_, tables, strict=True):
            ax.imshow(table.T, origin="lower", cmap="cividis", vmin=0, vmax=top, aspect="auto")
            for (i, j), number in np.ndenumerate(table):
                shade = "#000000" if number > 0.6 * top else "#FFFFFF"
                ax.text(i, j, str(int(number)), ha="center", va="center", color=shade, fontsize=8)
            ax.set_title(title)
            ax.set_xlabel(r"$\alpha_1$")
            ax.set_xticks(range(len(found.alphas1)), [f"{alpha:.3g}" for alpha in found.alphas1], rotation=90)
            ax.set_yticks(range(len(found.alphas2)), [f"{alpha:.3g}" for alpha in found.alphas2])
        self.axes_[0].set_ylabel(r"$\alpha_2$")
        wrong = np.argwhere(found.predicted != found.counted)
        if wrong.size:
            self.axes_[2].plot(
                *wrong.T, "s", color=_COLOURS[1], markersize=14, markerfacecolor="none", markeredgewidth=2.0,
                label="not as predicted",
            )  # fmt: skip
            self.axes_[2].legend(loc="upper right", bbox_to_anchor=(1.0, -0.3), frameon=False, markerscale=0.6)
        return self


@dataclass(eq=False)
class AlignmentDisplay:
    """Alignment with a direction against the width of the network, one curve for each way to learn it.

    Build one with `from_alignments`.

    Parameters
    ----------
    widths : ndarray of shape (m,)
        Widths N.
    alignments : dict of str to ndarray of shape (m, n_seeds)
        Alignments by label.
    chance : ndarray of shape (m,) or None
        Alignment of random directions.
    theory : dict of str to float
        Limits by label.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    widths: FloatArray
    alignments: dict[str, FloatArray]
    chance: FloatArray | None
    theory: dict[str, float]

    @classmethod
    def from_alignments(
        cls,
        widths: Any,
        alignments: Mapping[str, Any],
        *,
        chance: Any = None,
        theory: Mapping[str, float] | None = None,
    ) -> Self:
        """Return the display of alignments, not plotted yet.

        Parameters
        ----------
        widths : array_like of shape (m,)
            Widths N.
        alignments : mapping of str to array_like of shape (m, n_seeds)
            Alignments by label.
        chance : array_like of shape (m,), optional
            Alignment of random directions.
        theory : mapping of str to float, optional
            Limits by label.

        Returns
        -------
        AlignmentDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If shapes don't fit together, or ``theory`` has a label that ``alignments`` hasn't.
        """
        sizes = check_array(widths, "widths", ndim=1)
        tables = {
            label: check_array(table, f"alignments[{label!r}]", shape=(sizes.size, None))
            for label, table in alignments.items()
        }
        limits = dict(theory or {})
        if not set(limits) <= set(tables):
            raise InputError("theory must have labels of alignments only")
        level = None if chance is None else check_array(chance, "chance", shape=(sizes.size,))
        return cls(sizes, tables, level, limits)

    def plot(self, ax: Axes | None = None, *, scale: str = "linear") -> Self:
        """Draw means with their standard errors, limits dashed and chance dotted.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        scale : {"linear", "log"}, default "linear"
            Scale of the alignments.

        Returns
        -------
        AlignmentDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        InputError
            If ``scale`` is unknown.
        MissingDependencyError
            If matplotlib isn't installed.
        """
        check_option(scale, "scale", ("linear", "log"))
        self.ax_: Axes = axes_for(ax, (6.5, 4.2))
        self.figure_: Figure | Any = self.ax_.figure
        for k, (label, table) in enumerate(self.alignments.items()):
            colour, marker = _COLOURS[k % 4], _MARKERS[k % 4]
            seeds = table.shape[1]
            error = table.std(axis=1, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.zeros(self.widths.size)
            self.ax_.errorbar(self.widths, table.mean(axis=1), error, color=colour, marker=marker, label=label)
            if label in self.theory:
                self.ax_.axhline(self.theory[label], color=colour, linestyle="--", linewidth=1.0)
        if self.chance is not None:
            self.ax_.plot(self.widths, self.chance, color="#000000", linestyle=":", label="chance")
        self.ax_.set(
            xscale="log", yscale=scale, xlabel="neurons N", ylabel="alignment (dashed: limit, bars: standard errors)"
        )
        self.ax_.legend(frameon=False)
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self
