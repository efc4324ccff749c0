"""Pictures of an estimated structure: the response against the directions, and the choice of their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError, InputTypeError
from derand.plotting.figures import axes_for
from derand.structure.estimation.classification import ClassEstimate
from derand.structure.estimation.estimate import StructureEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["RankPathDisplay", "SufficientSummaryDisplay"]

# Okabe and Ito's palette; the markers say the same again.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
_MARKERS = "osD^vPX*"


@dataclass(eq=False)
class SufficientSummaryDisplay:
    """Sufficient summary plot: the response against the found directions.

    Build one with `from_estimate` or `from_estimator`.

    Parameters
    ----------
    coordinates : ndarray of shape (n, k)
        Samples along the components.
    response : ndarray of shape (n,)
        Response, or classes.
    is_class : bool
        Whether the response holds classes.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.

    References
    ----------
    Cook, Regression Graphics (1998).
    """

    coordinates: FloatArray
    response: Any
    is_class: bool

    @classmethod
    def from_estimate(cls, estimate: StructureEstimate | ClassEstimate, X: Any, y: Any) -> Self:
        """Return the display of an estimate on samples, not plotted yet.

        Parameters
        ----------
        estimate : StructureEstimate or ClassEstimate
            The directions.
        X : array_like of shape (n, d)
            Samples.
        y : array_like of shape (n,)
            Response.

        Returns
        -------
        SufficientSummaryDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If shapes don't fit.
        InputTypeError
            If the estimate is none.

        Examples
        --------
        >>> from derand.structure.estimation.estimate import estimate_structure
        >>> X = np.random.default_rng(0).standard_normal((60, 3))
        >>> found = estimate_structure(X, X[:, 0] ** 3, 1)
        >>> SufficientSummaryDisplay.from_estimate(found, X, X[:, 0] ** 3).coordinates.shape
        (60, 1)
        """
        if not isinstance(estimate, (StructureEstimate, ClassEstimate)):
            raise InputTypeError(f"estimate must be a structure estimate, got {type(estimate).__name__}")
        return cls._of(estimate.components, X, y, isinstance(estimate, ClassEstimate))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> Self:
        """Return the display of a fitted estimator with ``components_`` on samples, not plotted yet.

        Parameters
        ----------
        estimator : object
            A fitted StructureRegressor, StructureClassifier, SliceReducer or NetworkReducer.
        X : array_like of shape (n, d)
            Samples.
        y : array_like of shape (n,)
            Response.

        Returns
        -------
        SufficientSummaryDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If shapes don't fit.
        InputTypeError
            If the estimator has no ``components_``.
        """
        components = getattr(estimator, "components_", None)
        if components is None:
            raise InputTypeError("estimator must be fitted and have components_")
        return cls._of(components, X, y, hasattr(estimator, "classes_") or np.asarray(y).dtype.kind not in "fiu")

    @classmethod
    def _of(cls, components: FloatArray, X: Any, y: Any, is_class: bool) -> Self:
        """Return the display of given directions."""
        samples, response = check_array(X, "X", shape=(None, components.shape[1])), np.asarray(y)
        if response.shape != (samples.shape[0],):
            raise InputError(f"y must have shape ({samples.shape[0]},), got {response.shape}")
        return cls(samples @ components.T, response, is_class)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the response against the first direction, or as colour over the first two.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SufficientSummaryDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        self.ax_: Axes = axes_for(ax, (6.5, 4.8))
        self.figure_: Figure | Any = self.ax_.figure
        z = self.coordinates
        self.ax_.set_xlabel("first direction")
        size = float(np.clip(6000.0 / max(len(z), 1), 4.0, 30.0))
        if self.is_class:
            self._draw_classes(size)
        elif z.shape[1] == 1:
            self.ax_.scatter(z[:, 0], self.response, s=size, c=_COLOURS[0], alpha=0.6)
            self.ax_.set_ylabel("response")
        else:
            drawn = self.ax_.scatter(z[:, 0], z[:, 1], s=size, c=self.response, cmap="cividis")
            self.ax_.set_ylabel("second direction")
            self.figure_.colorbar(drawn, ax=self.ax_, label="response")
        return self

    def _draw_classes(self, size: float) -> None:
        """Draw each class in a colour and shape of its own."""
        z = self.coordinates
        for number, name in enumerate(np.unique(self.response)):
            rows = self.response == name
            height = z[rows, 1] if z.shape[1] > 1 else np.full(int(rows.sum()), float(number))
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
            self.ax_.scatter(z[rows, 0], height, s=size, c=colour, marker=marker, alpha=0.7, label=str(name))
        self.ax_.set_ylabel("second direction" if z.shape[1] > 1 else "class")
        self.ax_.legend()


@dataclass(eq=False)
class RankPathDisplay:
    """Singular values of the link's gradient, and the criterion that chose their number.

    Parameters
    ----------
    singular_values : ndarray of shape (k,)
        By falling size.
    ranks : ndarray of shape (m,)
        Numbers of directions tried.
    scores : ndarray of shape (m,)
        BIC, or held-out loss of the best model.
    criterion : str
        Name of the score.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was plotted.
    figure_ : matplotlib.figure.Figure
        Its figure.
    """

    singular_values: FloatArray
    ranks: FloatArray
    scores: FloatArray
    criterion: str

    @classmethod
    def from_estimate(cls, estimate: StructureEstimate | ClassEstimate) -> Self:
        """Return the display of an estimate, not plotted yet.

        Parameters
        ----------
        estimate : StructureEstimate or ClassEstimate
            From `estimate_structure` or `estimate_class_structure`.

        Returns
        -------
        RankPathDisplay
            Call its ``plot``.

        Raises
        ------
        InputTypeError
            If the estimate is none.
        """
        if isinstance(estimate, StructureEstimate):
            scores = {step.k: step.bic for step in estimate.path}
            criterion = "BIC"
        elif isinstance(estimate, ClassEstimate):
            scores = {}
            for step in estimate.path:
                scores[step.k] = min(scores.get(step.k, np.inf), step.loss)
            criterion = "held-out loss"
        else:
            raise InputTypeError(f"estimate must be a structure estimate, got {type(estimate).__name__}")
        ranks = np.array(sorted(scores))
        return cls(estimate.singular_values, ranks, np.array([scores[k] for k in ranks]), criterion)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw singular values as bars and the criterion as a line on an axis of its own.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        RankPathDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        """
        self.ax_: Axes = axes_for(ax, (6.5, 4.8))
        self.figure_: Figure | Any = self.ax_.figure
        places = np.arange(1, self.singular_values.size + 1)
        self.ax_.bar(places, self.singular_values, width=0.5, color=_COLOURS[0], label="singular value")
        self.ax_.set_xlabel("number of directions")
        self.ax_.set_ylabel("singular value (bars)")
        twin = self.ax_.twinx()
        twin.plot(self.ranks, self.scores, color=_COLOURS[1], marker="s", linestyle="dashed", label=self.criterion)
        twin.set_ylabel(f"{self.criterion} (dashed)")
        self.ax_.set_xticks(np.arange(1, max(places[-1], int(self.ranks[-1])) + 1))
        self.ax_.axvline(self.singular_values.size, color="#000000", linestyle="dotted")
        return self
