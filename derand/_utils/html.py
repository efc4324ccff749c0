"""Short text and HTML of results, the same for all of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar

__all__ = ["ResultRepr", "public_fields", "result_html", "short"]

_MAX_TEXT = 72
_MAX_ENTRIES = 4


class ResultRepr:
    """Mixin of result objects: one field a line as text, a table in notebooks; arrays appear by shape.

    A class with a ``__repr__`` of its own keeps it, and so does a dataclass unless it is made with ``repr=False``.
    """

    __slots__ = ()

    #: Attributes to show where they aren't the fields of the class.
    _shown: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        """Return the name of the class and its fields, each in a few characters."""
        inner = ", ".join(f"{name}={short(value)}" for name, value in public_fields(self).items())
        return f"{type(self).__name__}({inner})"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def public_fields(result: Any) -> dict[str, Any]:
    """Return the attributes of a result that its representations show.

    Parameters
    ----------
    result : object
        A dataclass, a named tuple, or an object whose class names its attributes in ``_shown``.

    Returns
    -------
    dict
        Values by name, in order; names that start with an underscore are left out.

    Examples
    --------
    >>> from collections import namedtuple
    >>> public_fields(namedtuple("Point", "x y")(1, 2))
    {'x': 1, 'y': 2}
    """
    names: Any = getattr(result, "_shown", ()) or getattr(result, "_fields", ())
    if not names and is_dataclass(result):
        names = [field.name for field in fields(result)]
    if not names:
        names = vars(result)
    return {name: getattr(result, name) for name in names if not name.startswith("_")}


def short(value: Any) -> str:
    """Return a value in a few characters: arrays by shape unless they are tiny, floats with six digits.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    str
        One line of at most 72 characters.

    Examples
    --------
    >>> short(1 / 3), short([1.0, 2.0]), short(range(100)), short(None)
    ('0.333333', '[1, 2]', 'range(0, 100)', 'None')
    """
    if isinstance(value, Enum):
        text = value.name
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        text = _short_array(value)
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        text = _short_sequence(value)
    elif isinstance(value, Mapping):
        text = f"{len(value)} entries"
    else:
        text = " ".join(_repr(value).split())
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."


def _repr(value: Any) -> str:
    """Return the representation of a value; that of an integer too long for one is its number of bits."""
    limit = sys.get_int_max_str_digits()
    if isinstance(value, int) and limit and abs(value) >= 10**limit:
        return f"integer of {value.bit_length()} bits"
    return repr(value)


def _short_array(array: Any) -> str:
    """Return the entries of a tiny array, or the shape of a larger one."""
    shape = tuple(int(length) for length in array.shape)
    if not shape:
        return short(array.item())
    if len(shape) == 1 and shape[0] <= _MAX_ENTRIES and hasattr(array, "tolist"):
        return _short_sequence(array.tolist())
    return f"array of shape {shape}" if len(shape) > 1 else f"array of {shape[0]}"


def _short_sequence(items: Any) -> str:
    """Return the entries of a short sequence, or the length of a longer one."""
    if len(items) > _MAX_ENTRIES:
        return f"{type(items).__name__} of {len(items)}"
    left, right = ("[", "]") if isinstance(items, list) else ("(", ",)" if len(items) == 1 else ")")
    return left + ", ".join(short(item) for item in items) + right


def result_html(result: Any) -> str:
    """Return an HTML table of a result: its name, its first line of text where that differs, one row per field.

    Parameters
    ----------
    result : object
        As for `public_fields`.

    Returns
    -------
    str
        HTML without scripts, styles or identifiers; everything that came from data is escaped.

    Examples
    --------
    >>> from collections import namedtuple
    >>> "<td>2</td>" in result_html(namedtuple("Point", "x y")(1, 2))
    True
    """
    import html  # its table of entities costs more than the rest of this module, and scripts never need it

    name = type(result).__name__
    first = repr(result).partition("\n")[0]
    is_default = first.startswith(f"{name}(")
    caption = name if is_default else first.strip("<>")
    cell = '<th style="text-align:left">'
    rows = "".join(
        f"<tr>{cell}{html.escape(field)}</th><td>{html.escape(short(value))}</td></tr>"
        for field, value in public_fields(result).items()
    )
    heading = f'<caption style="text-align:left"><strong>{html.escape(caption)}</strong></caption>'
    return f"<table>{heading}<tbody>{rows}</tbody></table>"
