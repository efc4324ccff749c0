"""A picture into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["save_figure"]


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
