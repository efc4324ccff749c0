"""Pictures of the spectral theory: spectra with predicted bulk and outliers, curves against samples or time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.plotting.figures import axes_for
from derand.spectral.descent import DescentRun
from derand.spectral.law import SpectralLaw
from derand.spectral.sweep import SuccessCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["GrokkingDisplay", "SpectrumDisplay", "SuccessDisplay", "ThresholdDisplay"]

# Okabe and Ito's palette, distinct under all common forms of colour blindness.
_DATA, _THEORY, _MARK, _GREY = "#56B4E9", "#0072B2", "#D55E00", "#666666"


def _axes(ax: Axes | None) -> tuple[Axes, Figure]:
    """Return the axes to draw in and their figure."""
    ax = axes_for(ax, (6.4, 4.0))
    ax.spines[["top", "right"]].set_visible(False)
    return ax, ax.figure  # type: ignore[return-value]


@dataclass(eq=False)
class SpectrumDisplay:
    """Eigenvalues with the predicted density of the bulk and the predicted outliers.

    Parameters
    ----------
    x, density : ndarray
        The bulk.
    outliers : tuple of float
        Predicted outliers.
    eigenvalues : ndarray or None
        Eigenvalues of a matrix.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    x: FloatArray
    density: FloatArray
    outliers: tuple[float, ...]
    eigenvalues: FloatArray | None = None

    @classmethod
    def from_law(cls, law: SpectralLaw, delta: float, eigenvalues: Any = None, *, n_points: int = 400) -> Self:
        """Return the display of a law, not plotted yet.

        Parameters
        ----------
        law : SpectralLaw
            The law.
        delta : float
            Ratio of samples to dimensions.
        eigenvalues : array_like, optional
            Eigenvalues to compare with.
        n_points : int, default 400
            Points of the curve.

        Returns
        -------
        SpectrumDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If a number is out of range.
        InputTypeError
            If ``law`` is no `SpectralLaw`.

        Examples
        --------
        >>> SpectrumDisplay.from_law(SpectralLaw([1.0], weights=[1.0]), 4.0).outliers
        ()
        """
        if not isinstance(law, SpectralLaw):
            raise InputTypeError(f"law must be a SpectralLaw, got {type(law).__name__}")
        delta = check_scalar(delta, "delta", low=0.0, low_open=True)
        values = None if eigenvalues is None else check_array(eigenvalues, "eigenvalues", ndim=1)
        intervals = law.bulk(delta)
        low, high = intervals[0][0], intervals[-1][1]
        if values is not None:  # of an unbounded law, only what the eigenvalues reach
            low, high = max(low, float(np.min(values))), min(high, float(np.max(values)))
        theta = np.linspace(0.0, np.pi, n_points)
        x = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(theta)
        found = law.outliers(delta) if law.k else ()
        return cls(x, law.density(x, delta), tuple(o.value for o in found), values)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw histogram, density and outliers.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SpectrumDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        self.ax_, self.figure_ = _axes(ax)
        if self.eigenvalues is not None:
            bins = max(20, min(100, int(len(self.eigenvalues) ** 0.5 * 2)))
            self.ax_.hist(self.eigenvalues, bins=bins, density=True, color=_DATA, label="eigenvalues")
        self.ax_.plot(self.x, self.density, color=_THEORY, label="predicted bulk")
        for number, value in enumerate(self.outliers):
            label = "predicted outlier" if number == 0 else None
            self.ax_.axvline(value, color=_MARK, linestyle="--", linewidth=1.2, label=label)
        self.ax_.set(xlabel="eigenvalue", ylabel="density")
        self.ax_.legend(frameon=False)
        return self


@dataclass(eq=False)
class SuccessDisplay:
    """Share of successful runs against samples per dimension, with thresholds marked.

    Parameters
    ----------
    curves : mapping of str to SuccessCurve
        Curves by label.
    marks : mapping of str to float
        Thresholds by label, such as delta_alg and delta_NN.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    """

    curves: Mapping[str, SuccessCurve]
    marks: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_curves(cls, curves: Any, marks: Mapping[str, float] | None = None) -> Self:
        """Return the display of one or several curves, not plotted yet.

        Parameters
        ----------
        curves : SuccessCurve or mapping of str to SuccessCurve
            From `success_curve`.
        marks : mapping of str to float, optional
            Thresholds; infinite ones are left out.

        Returns
        -------
        SuccessDisplay
            Call its ``plot``.

        Raises
        ------
        InputTypeError
            If something else than curves is given.
        """
        named = {"gradient descent": curves} if isinstance(curves, SuccessCurve) else dict(curves)
        if not all(isinstance(curve, SuccessCurve) for curve in named.values()):
            raise InputTypeError("curves must be a SuccessCurve or a mapping of labels to them")
        finite = {name: float(value) for name, value in (marks or {}).items() if np.isfinite(value)}
        return cls(named, finite)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves with 95 % intervals, and the marks.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SuccessDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        self.ax_, self.figure_ = _axes(ax)
        for number, (label, curve) in enumerate(self.curves.items()):
            low, high = curve.interval()
            bars = np.maximum([curve.success - low, high - curve.success], 0.0)
            self.ax_.errorbar(
                curve.deltas,
                curve.success,
                bars,
                marker="o",
                capsize=2,
                label=label,
                color=(_THEORY, _MARK, _GREY)[number % 3],
            )
        for number, (label, value) in enumerate(self.marks.items()):
            self.ax_.axvline(
                value, color=_GREY, linestyle=("--", ":", "-.")[number % 3], label=f"{label} = {value:.3g}"
            )
        self.ax_.set(xlabel="samples / dimensions", ylabel="share of successful runs", ylim=(-0.05, 1.05))
        self.ax_.legend(edgecolor="none", framealpha=0.9)
        return self


@dataclass(eq=False)
class GrokkingDisplay:
    """Training and test risk of a run against time: late learning shows as a late fall of the test risk.

    Parameters
    ----------
    run : DescentRun
        The run.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    """

    run: DescentRun

    @classmethod
    def from_run(cls, run: DescentRun) -> Self:
        """Return the display of a run, not plotted yet.

        Parameters
        ----------
        run : DescentRun
            From `TwoLayerGD`, with at least two recorded times.

        Returns
        -------
        GrokkingDisplay
            Call its ``plot``.

        Raises
        ------
        InputTypeError
            If it is no run.
        InputError
            If fewer than two times were recorded.
        """
        if not isinstance(run, DescentRun):
            raise InputTypeError(f"run must be a DescentRun, got {type(run).__name__}")
        if len(run.times) < 2:
            raise InputError("run must have at least two recorded times")
        return cls(run)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw both risks and the correlation with the hard directions.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        GrokkingDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        self.ax_, self.figure_ = _axes(ax)
        self.ax_.plot(self.run.times, self.run.train_risk, color=_THEORY, label="training risk")
        self.ax_.plot(self.run.times, self.run.test_risk, color=_MARK, label="test risk")
        self.ax_.plot(
            self.run.times, self.run.correlation, color=_GREY, linestyle=":", label="correlation with hard directions"
        )
        self.ax_.set(xlabel="steps of gradient descent", ylabel="risk, correlation")
        self.ax_.legend(frameon=False)
        return self


@dataclass(eq=False)
class ThresholdDisplay:
    """delta_NN(t) against time, with error bars.

    Parameters
    ----------
    times : ndarray
        Steps.
    values, errors : mapping of str to ndarray
        Thresholds and their errors by label.
    delta_alg : float or None
        Level of the best spectral method.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    """

    times: FloatArray
    values: Mapping[str, FloatArray]
    errors: Mapping[str, FloatArray]
    delta_alg: float | None = None

    @classmethod
    def from_thresholds(cls, times: Any, thresholds: Mapping[str, Any], delta_alg: float | None = None) -> Self:
        """Return the display of thresholds at several times, not plotted yet.

        Parameters
        ----------
        times : array_like of shape (q,)
            Steps.
        thresholds : mapping of str to sequence of NNThreshold
            One for each time, by label.
        delta_alg : float, optional
            Level to mark.

        Returns
        -------
        ThresholdDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If the numbers of times and thresholds differ.
        """
        steps = check_array(times, "times", ndim=1)
        if any(len(row) != len(steps) for row in thresholds.values()):
            raise InputError(f"thresholds must hold {len(steps)} values for each label, one a time")
        values = {label: np.array([found.value for found in row]) for label, row in thresholds.items()}
        errors = {label: np.array([found.error for found in row]) for label, row in thresholds.items()}
        return cls(steps, values, errors, delta_alg)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the thresholds; infinite ones are left out.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ThresholdDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        self.ax_, self.figure_ = _axes(ax)
        for number, (label, values) in enumerate(self.values.items()):
            shown = np.isfinite(values)
            self.ax_.errorbar(
                self.times[shown],
                values[shown],
                self.errors[label][shown],
                marker="os^"[number % 3],
                capsize=2,
                color=(_THEORY, _MARK, _GREY)[number % 3],
                label=label,
            )
        if self.delta_alg is not None:
            self.ax_.axhline(self.delta_alg, color=_GREY, linestyle="--", label=f"delta_alg = {self.delta_alg:.3g}")
        self.ax_.set(xlabel="steps t", ylabel="threshold delta_NN(t)")
        self.ax_.legend(frameon=False)
        return self
