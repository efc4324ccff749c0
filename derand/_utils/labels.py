"""An order of labels that depends on the labels alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

__all__ = ["sorted_labels"]


def sorted_labels(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return labels in ascending order; those that don't compare go by the name of their type and their text."""
    listed = list(labels)
    try:
        return tuple(sorted(listed))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(listed, key=lambda label: (type(label).__qualname__, repr(label))))
