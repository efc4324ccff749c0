"""Pictures of teacher-student learning along a run: losses with their plateaus, and the time to leave them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import check_scalar
from derand.exceptions import InputError, InputTypeError, NonConvergenceError
from derand.plotting.figures import axes_for
from derand.sweeps import grid
from derand.teacher_student import (
    EscapeTime,
    NumericalPlateau,
    SmoothActivation,
    SweepPoint,
    TeacherStudent,
    Trajectory,
    sweep,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "MARKERS",
    "EscapeTimeDisplay",
    "LossCurvesDisplay",
    "TeacherStudentDisplay",
    "check_model",
    "style",
]

# Okabe and Ito's palette; markers and dashes say the same again.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("solid", "dashed", "dashdot", (0, (3, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), (0, (7, 2)))


class TeacherStudentDisplay:
    """What all pictures of this module share: where they are drawn."""

    ax_: Axes
    figure_: Figure | Any

    def _open(self, ax: Axes | None) -> Axes:
        """Return the axes to draw on, new ones if none are given, and remember them."""
        self.ax_ = axes_for(ax, (7.0, 4.5))
        self.figure_ = self.ax_.figure
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self.ax_


def check_model(model: Any, name: str) -> TeacherStudent:
    """Return a model, or raise InputTypeError."""
    if not isinstance(model, TeacherStudent):
        raise InputTypeError(f"{name} must hold TeacherStudent models, got {type(model).__name__}")
    return model


def style(index: int) -> dict[str, Any]:
    """Return colour and dashes of the index-th line."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": _DASHES[index % len(_DASHES)]}


def _plateau_loss(model: TeacherStudent, second_order: bool) -> float | None:
    """Return the loss of a model's plateau; None without one, or where each right-hand side is an integral."""
    if isinstance(model.parameters.activation, SmoothActivation):
        return None
    try:
        spot = model.plateau(second_order=second_order)
    except (InputError, NonConvergenceError):
        return None
    is_left = not isinstance(spot, NumericalPlateau) or spot.escape_rates[0] > spot.rate_error
    return spot.loss if is_left else None


@dataclass(eq=False)
class LossCurvesDisplay(TeacherStudentDisplay):
    """Population loss against alpha = samples / N, with the predicted plateaus.

    Build one with `from_models`.

    Parameters
    ----------
    curves : mapping of str to Trajectory
        One trajectory for each label.
    plateaus : mapping of str to float or None
        Predicted plateau losses; None where the model has none, or none in a short time.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    curves: Mapping[str, Trajectory]
    plateaus: Mapping[str, float | None]

    @classmethod
    def from_models(
        cls,
        models: Mapping[str, TeacherStudent],
        alphas: Any,
        *,
        N: float = 1e6,
        second_order: bool = True,
        rng: RNGLike = None,
    ) -> Self:
        """Integrate every model from random weights of squared norm N in N dimensions.

        Parameters
        ----------
        models : mapping of str to TeacherStudent
            The models by label, such as ``{"p = 2": ..., "p = 8": ...}``.
        alphas : array_like of shape (n_times,)
            Increasing times >= 0.
        N : float, default 1e6
            Input dimension, which sets the size of the initial overlaps.
        second_order : bool, default True
            False for gradient flow.
        rng : None, int or Generator
            For the initial overlaps.

        Returns
        -------
        LossCurvesDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If there are no models, or times or N are invalid.
        InputTypeError
            If a model isn't a TeacherStudent.

        Examples
        --------
        >>> show = LossCurvesDisplay.from_models({"p = 4": TeacherStudent(4, 2)}, [0.0, 10.0], rng=0)
        >>> show.curves["p = 4"].success
        True
        """
        if not models:
            raise InputError("models must hold at least one model")
        N = check_scalar(N, "N", low=1.0)
        generator = check_rng(rng)
        curves: dict[str, Trajectory] = {}
        plateaus: dict[str, float | None] = {}
        for label, model in models.items():
            setting = check_model(model, "models").parameters
            values, vectors = np.linalg.eigh(setting.gram)
            root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            rho = generator.standard_normal((setting.p, setting.p_star)) @ root / np.sqrt(N)
            curves[label] = model.solve(rho, np.eye(setting.p), alphas, second_order=second_order)
            plateaus[label] = _plateau_loss(model, second_order)
        return cls(curves, plateaus)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the losses on a logarithmic scale, plateaus dotted, up to a divergence where there is one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        LossCurvesDisplay
            The display itself.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        ax = self._open(ax)
        for index, (label, curve) in enumerate(self.curves.items()):
            ended = "" if curve.success else " (diverged)"
            ax.semilogy(curve.alphas, curve.loss, label=label + ended, **style(index))
            level = self.plateaus[label]
            if level is not None:
                ax.axhline(level, color=COLOURS[index % len(COLOURS)], linestyle="dotted", linewidth=1.0)
        ax.set(xlabel="samples / N", ylabel="population loss", title="Dotted: the predicted plateaus")
        ax.legend(frameon=False)
        return self


@dataclass(eq=False)
class EscapeTimeDisplay(TeacherStudentDisplay):
    """Time to get half-way down from the plateau against the width of the student, for several teachers.

    Build one with `from_widths`.

    Parameters
    ----------
    points : tuple of SweepPoint
        Settings with p and p_star, and an `EscapeTime` each (or the reason why there is none).

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    points: tuple[SweepPoint, ...]

    @classmethod
    def from_widths(
        cls,
        p: Iterable[int],
        p_star: Iterable[int],
        *,
        N: float = 1e8,
        n_starts: int | None = 16,
        second_order: bool = False,
        n_jobs: int | None = None,
        rng: RNGLike = None,
        **common: Any,
    ) -> Self:
        """Compute the escape times for all pairs of widths, in parallel.

        Parameters
        ----------
        p : iterable of int
            Widths of the student.
        p_star : iterable of int
            Widths of the teacher.
        N : float, default 1e8
            Input dimension.
        n_starts : int, optional
            Random starts to average over; None for one typical start.
        second_order : bool, default False
            True for the equations of one-pass SGD, False for gradient flow.
        n_jobs : int, optional
            As in `derand.teacher_student.sweep`.
        rng : None, int or Generator
            For the random starts.
        **common
            Further arguments of `TeacherStudent`.

        Returns
        -------
        EscapeTimeDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If there are no widths.
        """
        task = _EscapeTask(N, n_starts, second_order)
        points = tuple(sweep(task, grid(p_star=p_star, p=p), n_jobs=n_jobs, rng=rng, **common))
        if not points:
            raise InputError("p and p_star must hold at least one width each")
        return cls(points)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw one line for each width of the teacher, with error bars of two standard errors.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        EscapeTimeDisplay
            The display itself.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        ax = self._open(ax)
        teachers = sorted({point.setting["p_star"] for point in self.points})
        for index, p_star in enumerate(teachers):
            chosen = [point for point in self.points if point.setting["p_star"] == p_star and point.success]
            widths = [point.setting["p"] for point in chosen]
            times = [point.value.time for point in chosen]
            bars = [2.0 * point.value.standard_error for point in chosen]
            marker = MARKERS[index % len(MARKERS)]
            label = f"teacher of width {p_star}"
            ax.errorbar(widths, times, yerr=bars, marker=marker, capsize=3.0, label=label, **style(index))
        ax.set_xscale("log", base=2)
        ax.set(xlabel="width p of the student", ylabel="samples / N", title="Time to leave the plateau")
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False)
        return self


@dataclass(frozen=True)
class _EscapeTask:
    """The question of a sweep over widths; a class, so that processes can be sent it."""

    N: float
    n_starts: int | None
    second_order: bool

    def __call__(self, model: TeacherStudent, generator: np.random.Generator) -> EscapeTime:
        """Return the escape time."""
        return model.escape_time(self.N, n_starts=self.n_starts, second_order=self.second_order, rng=generator)
