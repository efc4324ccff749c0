"""Pictures of the solutions that are selected: drift of the frame, distances, Hessian spectra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputError, InputTypeError
from derand.plotting.teacher_student import COLOURS, MARKERS, TeacherStudentDisplay, check_model, style
from derand.teacher_student import HessianSpectrum, TeacherStudent, conserved_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FrameDriftDisplay", "HessianSpectrumDisplay", "SolutionDistanceDisplay"]


@dataclass(eq=False)
class FrameDriftDisplay(TeacherStudentDisplay):
    """Distance of the frame S = rho (rho' rho)^(-1/2) from its start, against alpha.

    Build one with `from_runs`.

    Parameters
    ----------
    alphas : mapping of str to ndarray of shape (n_times,)
        Times by label.
    drifts : mapping of str to ndarray of shape (n_times,)
        Frobenius norms of S(alpha) - S(0), the mean over runs where there are several.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    alphas: Mapping[str, FloatArray]
    drifts: Mapping[str, FloatArray]

    @classmethod
    def from_runs(cls, runs: Mapping[str, Any]) -> Self:
        """Compute the drift along trajectories of the equations of motion or simulations of SGD.

        Parameters
        ----------
        runs : mapping of str to Trajectory or Simulation
            Results of `TeacherStudent.solve` or `TeacherStudent.simulate` whose first time is 0.

        Returns
        -------
        FrameDriftDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If there are no runs, a run doesn't begin at 0 or didn't succeed, or p < p_star.
        InputTypeError
            If a run is of another type.
        """
        if not runs:
            raise InputError("runs must hold at least one run")
        alphas, drifts = {}, {}
        for label, run in runs.items():
            if not all(hasattr(run, name) for name in ("alphas", "rho", "success")):
                raise InputTypeError(f"runs must hold trajectories or simulations, got {type(run).__name__}")
            if run.alphas[0] != 0.0 or not run.success:
                raise InputError(f"runs must begin at alpha = 0 and succeed, {label!r} doesn't")
            frames = conserved_frame(run.rho)
            moved = np.linalg.norm(frames - frames[..., :1, :, :], axis=(-2, -1))
            alphas[label], drifts[label] = run.alphas, moved.reshape(-1, run.alphas.size).mean(axis=0)
        return cls(alphas, drifts)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the drifts on a logarithmic scale; the level of rounding, 1e-16, is drawn for zero.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        FrameDriftDisplay
            The display itself.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        ax = self._open(ax)
        for index, (label, drift) in enumerate(self.drifts.items()):
            ax.semilogy(self.alphas[label], np.maximum(drift, 1e-16), label=label, **style(index))
        ax.set(xlabel="samples / N", ylabel="|S - S(0)|", title="Drift of the frame that the theory conserves")
        ax.legend(frameon=False)
        return self


@dataclass(eq=False)
class SolutionDistanceDisplay(TeacherStudentDisplay):
    """Distance from the start to the selected solution, against random solutions of the manifold.

    Build one with `from_start`.

    Parameters
    ----------
    random : ndarray of shape (n_random,)
        Distances of random solutions, in units of the root of N.
    closest : float
        Distance of the closest solution.
    selected : float
        Distance of the solution where the equations of motion end.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    random: FloatArray
    closest: float
    selected: float

    @classmethod
    def from_start(
        cls,
        model: TeacherStudent,
        rho0: Any,
        Q0: Any,
        *,
        n_random: int = 2000,
        second_order: bool = True,
        rng: RNGLike = None,
    ) -> Self:
        """Compute the three kinds of distances from one start.

        Parameters
        ----------
        model : TeacherStudent
            A quadratic model with p >= p_star.
        rho0 : array_like of shape (p, p_star)
            Initial overlaps, of full column rank.
        Q0 : array_like of shape (p, p)
            Initial overlaps of the students.
        n_random : int, default 2000
            Random solutions.
        second_order : bool, default True
            False for gradient flow.
        rng : None, int or Generator
            For the random solutions.

        Returns
        -------
        SolutionDistanceDisplay
            Call its ``plot``.

        Examples
        --------
        >>> start = 0.3 * np.eye(4, 2), np.eye(4)
        >>> show = SolutionDistanceDisplay.from_start(TeacherStudent(4, 2), *start, n_random=50, rng=0)
        >>> bool(np.all(show.random > show.selected)), round(show.selected - show.closest, 12)
        (True, 0.0)
        """
        model = check_model(model, "model")
        end = model.selected_solution(rho0, Q0, second_order=second_order)
        samples, _ = model.random_solutions(check_int(n_random, "n_random", low=1), rng=rng)
        # The integrated end has spare norms left that fall like 1 / alpha; its frame says which solution it approaches.
        selected = np.sqrt(model.parameters.p / model.parameters.p_star) * end.frame @ model.parameters.gram
        closest, _ = model.closest_solution(rho0)
        far, near, own = (model.solution_distance(rho0, Q0, rho) for rho in (samples, closest, selected))
        return cls(far, float(near), float(own))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a histogram of the random distances, and lines for the closest and the selected solution.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SolutionDistanceDisplay
            The display itself.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        ax = self._open(ax)
        ax.hist(self.random, bins=40, color="#56B4E9", label=f"{self.random.size} random solutions")
        ax.axvline(self.closest, color=COLOURS[6], linestyle="dotted", linewidth=2.5, label="closest solution")
        ax.axvline(self.selected, color=COLOURS[1], label="selected solution")
        ax.set(xlabel="distance from the start / sqrt(N)", ylabel="number", title="Which solution is selected")
        ax.set_ylim(top=1.35 * ax.get_ylim()[1])
        ax.legend(loc="upper right", frameon=False)
        return self


@dataclass(eq=False)
class HessianSpectrumDisplay(TeacherStudentDisplay):
    """Eigenvalues of the Hessian with their multiplicities, at the origin, the plateau and a solution.

    Build one with `from_model`.

    Parameters
    ----------
    spectra : mapping of str to HessianSpectrum
        Spectra by label.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    spectra: Mapping[str, HessianSpectrum]

    @classmethod
    def from_model(cls, model: TeacherStudent, N: int) -> Self:
        """Compute the spectra at W = 0, at gradient flow's plateau and at a zero-loss solution.

        Parameters
        ----------
        model : TeacherStudent
            A quadratic model with p >= p_star.
        N : int
            Input dimension, at least p + p_star; any size.

        Returns
        -------
        HessianSpectrumDisplay
            Call its ``plot``.

        Examples
        --------
        >>> HessianSpectrumDisplay.from_model(TeacherStudent(4, 2), 1000).spectra["plateau"].inertia()
        (8, 3982, 10)
        """
        setting = check_model(model, "model").parameters
        p, p_star = setting.p, setting.p_star
        zero, q = np.zeros((p, p_star)), model.plateau(second_order=False).q
        rho, own = model.closest_solution(np.eye(p, p_star))
        points = {"W = 0": (zero, np.zeros((p, p))), "plateau": (zero, q * np.eye(p)), "solution": (rho, own)}
        return cls({label: model.hessian_spectrum(*point, N) for label, point in points.items()})

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw multiplicity against eigenvalue, on a logarithmic scale, one marker for each point.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        HessianSpectrumDisplay
            The display itself.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        ax = self._open(ax)
        for index, (label, spectrum) in enumerate(self.spectra.items()):
            counts = [float(count) for count in spectrum.multiplicities]
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            ax.vlines(spectrum.values, 0.5, counts, color=colour, linewidth=1.0)
            ax.plot(spectrum.values, counts, marker, color=colour, label=label)
        ax.axvline(0.0, color="#999999", linewidth=0.8)
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.5)
        ax.set(xlabel="eigenvalue of the Hessian of N times the loss", ylabel="multiplicity")
        ax.set_title("Maximum, saddle, marginal minimum")
        ax.legend(frameon=False)
        return self
