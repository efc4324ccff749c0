"""A picture of a search for a second-order stationary point: its way down, the saddles it left, what it proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.validation import FloatArray, check_option
from derand.exceptions import InputTypeError
from derand.optimize.result import SOSPResult
from derand.plotting.figures import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SOSPDisplay"]

# Okabe and Ito's palette; shapes and dashes say the same again.
_SEARCH, _ESCAPE, _CERTIFICATE, _LIMIT = "#0072B2", "#D55E00", "#009E73", "#000000"


@dataclass(eq=False)
class SOSPDisplay:
    """Picture of a run of `derand.optimize.minimize_sosp`.

    Build one with `from_result`, or run and draw at once with `from_function`.

    Parameters
    ----------
    result : SOSPResult
        The run.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    result: SOSPResult

    @classmethod
    def from_result(cls, result: SOSPResult) -> Self:
        """Return the display of a result, not plotted yet.

        Parameters
        ----------
        result : SOSPResult
            From `derand.optimize.minimize_sosp`.

        Returns
        -------
        SOSPDisplay
            Call its ``plot``.

        Raises
        ------
        InputTypeError
            If ``result`` is no such result.

        Examples
        --------
        >>> from derand import minimize_sosp
        >>> result = minimize_sosp(lambda x: (float(x @ x), 2.0 * x), [3.0])
        >>> SOSPDisplay.from_result(result).calls.tolist()[0]
        1
        """
        if not isinstance(result, SOSPResult):
            raise InputTypeError(f"result must be the result of minimize_sosp, got {type(result).__name__}")
        return cls(result)

    @classmethod
    def from_function(
        cls, fun: Callable[[FloatArray], tuple[float, FloatArray]], x0: Any, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Minimise a function and draw the run.

        Parameters
        ----------
        fun : callable
            ``fun(x)`` returns (value, gradient).
        x0 : array of shape (n,)
            Start.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        **options
            Of `derand.optimize.minimize_sosp`.

        Returns
        -------
        SOSPDisplay
            Plotted, with the ``result``.
        """
        from derand.optimize.minimize import minimize_sosp

        return cls(minimize_sosp(fun, x0, **options)).plot(ax)

    @property
    def calls(self) -> Any:
        """Evaluations and Hessian products spent by each record of the history, as an array."""
        return np.array([record.nfev + record.nhev for record in self.result.history], dtype=np.int64)

    def plot(self, ax: Axes | None = None, *, kind: str = "gradient") -> Self:
        """Draw the gradient norm, or the value, against the calls of the function.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        kind : {"gradient", "value"}
            What to draw.  A gradient that is exactly zero stands at the lower edge of the logarithmic axis.

        Returns
        -------
        SOSPDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        InputError
            If ``kind`` is unknown.
        """
        check_option(kind, "kind", ("gradient", "value"))
        self.ax_: Axes = axes_for(ax, (7.0, 4.2))
        self.figure_: Figure | Any = self.ax_.figure
        heights = self._gradient_norms() if kind == "gradient" else self._values()
        self._draw(self.ax_, heights)
        if kind == "gradient":
            self.ax_.set_yscale("log")
            self.ax_.set_ylabel("gradient norm")
            if self.result.certificate is not None:
                limit = self.result.certificate.gtol
                self.ax_.axhline(limit, color=_LIMIT, linestyle="dotted", label=f"tolerance {limit:.0e}")
        else:
            self.ax_.set_ylabel("value")
        self.ax_.set_xlabel("evaluations of value and gradient, and Hessian products")
        self.ax_.set_title(self._title(), fontsize="medium")
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(frameon=False)
        return self

    def _draw(self, ax: Axes, heights: Any) -> None:
        """Draw the path with its escapes and certificates."""
        calls, events = self.calls, [record.event for record in self.result.history]
        ax.plot(calls, heights, color=_SEARCH, marker=".", label="search")
        for word, colour, marker, size, label in (
            ("escape", _ESCAPE, "^", 9, "saddle left along negative curvature"),
            ("certificate", _CERTIFICATE, "s", 8, "certificate computed"),
        ):
            chosen = [k for k, event in enumerate(events) if event.endswith(word)]
            if chosen:
                text = f"{label} ({len(chosen)})"
                ax.plot(calls[chosen], heights[chosen], marker, color=colour, markersize=size, label=text, zorder=3)

    def _gradient_norms(self) -> FloatArray:
        """Return the gradient norms, with a positive number below all others in place of zeros."""
        norms = np.array([record.gradient_norm for record in self.result.history], dtype=np.float64)
        positive = norms[norms > 0.0]
        floor = float(positive.min()) / 10.0 if positive.size else 1e-16
        return np.where(norms > 0.0, norms, floor)

    def _values(self) -> FloatArray:
        """Return the values."""
        return np.array([record.fun for record in self.result.history], dtype=np.float64)

    def _title(self) -> str:
        """Return what was proved in one line."""
        certificate = self.result.certificate
        if certificate is None or not self.result.success:
            return f"not certified: {self.result.status.name.lower().replace('_', ' ')}"
        return (
            f"certified: gradient norm {certificate.gradient_norm:.1e}, "
            f"smallest Hessian eigenvalue at least {certificate.min_eigenvalue_lower:.3g}"
        )
