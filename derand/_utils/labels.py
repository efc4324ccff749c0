"""An order of labels that depends on the labels alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set

__all__ = ["sorted_labels"]


def sorted_labels(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return labels in an order that doesn't depend on the one they come in, nor on the hash seed.

    Ascending where all compare.  Otherwise by the names of their types and their texts; so are sets, whose comparison
    is inclusion, no total order.

    Parameters
    ----------
    labels : iterable of hashable
        Distinct labels.

    Returns
    -------
    tuple of hashable
        The same labels.

    Examples
    --------
    >>> sorted_labels(["b", 2, "a"])
    (2, 'a', 'b')
    """
    listed = list(labels)
    if not any(map(_holds_set, listed)):
        try:
            return tuple(sorted(listed))  # type: ignore[type-var]
        except TypeError:
            pass
    return tuple(sorted(listed, key=lambda label: (type(label).__qualname__, _text(label))))


def _holds_set(label: Hashable) -> bool:
    """Return whether a label is a set or a tuple with one inside."""
    return isinstance(label, Set) or (isinstance(label, tuple) and any(map(_holds_set, label)))


def _text(label: Hashable) -> str:
    """Return a text that doesn't depend on the iteration order of sets."""
    if isinstance(label, Set):
        return "{" + ", ".join(sorted(map(_text, label))) + "}"
    if isinstance(label, tuple):
        return "(" + ", ".join(map(_text, label)) + ")"
    return repr(label)
