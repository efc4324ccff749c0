"""Axes to draw on, and a picture into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from derand.exceptions import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["axes_for", "save_figure"]


def axes_for(ax: Any, figsize: tuple[float, float], rows: int = 1, columns: int = 1, **options: Any) -> Any:
    """Return the axes that a caller gave, or those of a new figure.

    Parameters
    ----------
    ax : Axes, sequence of Axes or None
        What the caller of ``plot`` gave.
    figsize : tuple of float
        Width and height of a new figure in inches.
    rows, columns : int, default 1
        Of a new figure.
    **options
        Of `matplotlib.pyplot.subplots`.

    Returns
    -------
    Axes or ndarray of Axes
        As they were given, or new ones.

    Raises
    ------
    MissingDependencyError
        If matplotlib isn't installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingDependencyError("plotting needs matplotlib: pip install 'derand[plot]'") from error
    return pyplot.subplots(rows, columns, figsize=figsize, layout="constrained", **options)[1] if ax is None else ax


def save_figure(figure: Figure, path: str) -> None:
    """Save a figure of pyplot and close it.

    Parameters
    ----------
    figure : Figure
        It can't be shown afterwards.
    path : str
        Its suffix names the format.  Files hold no date: the same picture is the same file.
    """
    from matplotlib import pyplot

    date = {"CreationDate": None} if path.lower().endswith(".pdf") else {"Date": None}
    figure.savefig(path, dpi=150, metadata=None if path.lower().endswith(".png") else date)
    pyplot.close(figure)
