"""Words for messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun in the singular or the plural, which by default ends in s.

    Returns
    -------
    str
        As in the example.

    Examples
    --------
    >>> counted(1, "direction"), counted(2, "direction"), counted(0, "vertex", "vertices")
    ('1 direction', '2 directions', '0 vertices')
    """
    return f"{number} {thing if number == 1 else things or thing + 's'}"
