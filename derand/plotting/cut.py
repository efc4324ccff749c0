"""A picture of a cut: the graph with the cut edges, or value against bound where a graph is too large to draw."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_option
from derand.exceptions import InputError, InputTypeError
from derand.maxcut.solve import MaxCutSolution
from derand.plotting.figures import axes_for
from derand.plotting.layout import stress_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MAX_DRAWN", "CutDisplay"]

MAX_DRAWN = 300
_MAX_LABELLED = 60

# Okabe and Ito's palette, distinct under all common forms of colour blindness; shapes and dashes say the same again.
_FIRST, _SECOND, _CUT, _KEPT = "#0072B2", "#F0E442", "#D55E00", "#000000"


@dataclass(eq=False)
class CutDisplay:
    """Picture of a cut and of its bound.

    Build one with `from_result`.

    Parameters
    ----------
    solution : MaxCutSolution
        The cut.
    nodes : tuple of hashable
        Labels of the vertices.
    positions : ndarray of shape (n, 2) or None
        Where to draw them; None for a layout computed on drawing.

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

    solution: MaxCutSolution
    nodes: tuple[Hashable, ...]
    positions: FloatArray | None = None

    @classmethod
    def from_result(cls, result: Any, G: Any = None, *, pos: Mapping[Hashable, Any] | None = None) -> Self:
        """Return the display of a result, not plotted yet.

        Parameters
        ----------
        result : MaxCutResult or MaxCutSolution
            From `derand.graphs.maxcut`, or on vertices 0..n-1 from `derand.maxcut`.
        G : networkx.Graph, optional
            The graph of the result: checked to have its nodes, and the source of positions where every node has a pair
            of numbers as attribute "pos".
        pos : dict, optional
            Position (x, y) of every node, as networkx's layouts return them.

        Returns
        -------
        CutDisplay
            Call its ``plot``.

        Raises
        ------
        InputError
            If G or ``pos`` has other nodes than the result, or positions aren't finite pairs.
        InputTypeError
            If ``result`` is no result of a maximum cut.

        Examples
        --------
        >>> import networkx as nx
        >>> from derand.graphs import maxcut
        >>> G = nx.petersen_graph()
        >>> CutDisplay.from_result(maxcut(G), G).kind
        'graph'
        """
        solution = getattr(result, "solution", result)
        if not isinstance(solution, MaxCutSolution):
            raise InputTypeError(f"result must be the result of a maximum cut, got {type(result).__name__}")
        labelled = getattr(result, "labelled", None)
        nodes = tuple(range(solution.problem.n)) if labelled is None else labelled.nodes
        if G is not None:
            _check_nodes(G, nodes, "G")
            attributes = {node: data.get("pos") for node, data in G.nodes(data=True)}
            if pos is None and nodes and all(map(_is_pair, attributes.values())):
                pos = attributes
        if pos is None:
            return cls(solution, nodes)
        _check_nodes(pos, nodes, "pos")
        return cls(solution, nodes, check_array([pos[node] for node in nodes], "pos", shape=(len(nodes), 2)))

    @property
    def kind(self) -> str:
        """What `plot` shows by default: "graph" up to 300 nodes, "history" above."""
        return "graph" if self.solution.problem.n <= MAX_DRAWN else "history"

    def plot(self, ax: Axes | None = None, *, kind: str | None = None) -> Self:
        """Draw the graph with its cut edges, or value and bound over the stages of the run.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        kind : {"graph", "history"}, optional
            What to draw; the graph up to 300 nodes by default.

        Returns
        -------
        CutDisplay
            The display itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        MissingDependencyError
            If matplotlib isn't installed.
        InputError
            If ``kind`` is unknown.
        """
        chosen = self.kind if kind is None else check_option(kind, "kind", ("graph", "history"))
        self.ax_: Axes = axes_for(ax, (7.0, 5.5))
        self.figure_: Figure | Any = self.ax_.figure
        if chosen == "graph":
            self._draw_graph(self.ax_)
        else:
            self._draw_history(self.ax_)
        self.ax_.set_title(self._title())
        return self

    def _title(self) -> str:
        """Return value and proof in one line."""
        solution = self.solution
        if solution.is_optimal:
            return f"cut {solution.value:.12g}, proved optimal"
        if solution.upper_bound is None or solution.gap is None:
            return f"cut {solution.value:.12g}, no proved bound"
        return f"cut {solution.value:.12g}, proved bound {solution.upper_bound:.12g}, gap {solution.gap:.2%}"

    def _draw_graph(self, ax: Axes) -> None:
        """Draw vertices by side and edges by whether they are cut."""
        from matplotlib.collections import LineCollection

        problem, side = self.solution.problem, self.solution.side
        if self.positions is None:
            self.positions = stress_layout(problem)
        where = self.positions
        is_cut = side[problem.heads] != side[problem.tails]
        width = float(np.clip(120.0 / max(problem.n_edges, 1), 0.5, 1.6))
        # Edges within a side are the few that matter for the gap: on top, dashed, never thinner than one point.
        for chosen, colour, style, thickness, label in (
            (is_cut, _CUT, "solid", width, "cut edge"),
            (~is_cut, _KEPT, "dashed", max(width, 1.0), "edge within a side"),
        ):
            ends = np.stack([where[problem.heads[chosen]], where[problem.tails[chosen]]], axis=1)
            text = f"{label} ({int(chosen.sum())})"
            lines = LineCollection(list(ends), colors=colour, linewidths=thickness, linestyles=style, label=text)
            ax.add_collection(lines)
        size = float(np.clip(8000.0 / max(problem.n, 1), 20.0, 300.0))
        # The side of the first vertex comes first, as in the partition of a result.
        ahead = side == side[:1]
        for chosen, colour, marker, label in (
            (ahead, _FIRST, "o", "first side"),
            (~ahead, _SECOND, "s", "second side"),
        ):
            x, y = where[chosen].T
            text = f"{label} ({int(chosen.sum())})"
            ax.scatter(x, y, s=size, c=colour, marker=marker, edgecolors="black", label=text, zorder=2)
        if problem.n <= _MAX_LABELLED:
            for node, is_ahead, place in zip(self.nodes, ahead.tolist(), where.tolist(), strict=True):
                colour = "white" if is_ahead else "black"
                ax.annotate(str(node), place, ha="center", va="center", fontsize=8, color=colour, zorder=3)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_axis_off()
        ax.autoscale_view()
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), ncols=2, frameon=False, labelspacing=0.9)

    def _draw_history(self, ax: Axes) -> None:
        """Draw value and proved bound after every stage."""
        history, expected = self.solution.history, self.solution.expected_cut
        # Before the relaxation is rounded there's only the cut of the reductions, often 0: it would set the scale.
        rounded = (k for k, event in enumerate(history) if expected is not None and event.value >= expected)
        history = history[next(rounded, 0) :]
        steps = np.arange(len(history))
        values = [float(event.value) for event in history]
        ax.step(steps, values, where="post", color=_FIRST, marker="o", label="best cut")
        proved = [(k, float(event.upper_bound)) for k, event in enumerate(history) if event.upper_bound is not None]
        if proved:
            x, y = zip(*proved, strict=True)
            ax.step(x, y, where="post", color=_CUT, linestyle="dashed", marker="s", label="proved upper bound")
        if expected is not None:
            ax.axhline(expected, color=_KEPT, linestyle="dotted", label="expected cut of a random hyperplane")
        ax.set_xticks(steps, [event.stage for event in history], rotation=30, ha="right")
        ax.set_xlabel("stage")
        ax.set_ylabel("weight of the cut")
        ax.grid(alpha=0.3)
        ax.legend()


def _check_nodes(container: Any, nodes: tuple[Hashable, ...], name: str) -> None:
    """Raise InputError unless a graph or mapping has exactly the given nodes."""
    if set(container) != set(nodes):
        raise InputError(f"{name} must have the nodes of the result")


def _is_pair(value: Any) -> bool:
    """Return whether a node attribute is a position."""
    return value is not None and np.shape(value) == (2,)
