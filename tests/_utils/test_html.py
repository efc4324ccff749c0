import xml.etree.ElementTree as ET
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
import pytest

from derand._utils.html import ResultRepr, public_fields, result_html, short


class Colour(Enum):
    RED = "a sentence"


@dataclass(frozen=True, repr=False)
class Plain(ResultRepr):
    x: np.ndarray
    label: str
    _hidden: int = 0


@dataclass(frozen=True, eq=False)
class Spoken(ResultRepr):
    value: int

    _shown = ("value", "double")

    @property
    def double(self):
        return 2 * self.value

    def __repr__(self):
        return f"<Spoken of {self.value}>\n  a second line"


class Pair(NamedTuple):
    a: float
    b: tuple


def _rows(result):
    """Return the table as an XML parser reads it: well-formed, everything escaped."""
    table = ET.fromstring(result_html(result))
    return table.find("caption").find("strong").text, {r.find("th").text: r.find("td").text for r in table.iter("tr")}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (np.float64(1e-20), "1e-20"),
        (np.array(2.5), "2.5"),
        (np.array([1.0, np.nan]), "[1, nan]"),
        (np.zeros(5), "array of 5"),
        (np.zeros((2, 3)), "array of shape (2, 3)"),
        ((1,), "(1,)"),
        ((1, "a"), "(1, 'a')"),
        ([0] * 9, "list of 9"),
        ({"a": 1}, "1 entries"),
        (Colour.RED, "RED"),
        (True, "True"),
        (2**100, str(2**100)),
        ("x" * 100, "'" + "x" * 68 + "..."),
    ],
)
def test_short(value, text):
    assert short(value) == text
    assert len(short(value)) <= 72


def test_integers_that_python_refuses_to_print():
    assert short(10**5000) == "integer of 16610 bits"


def test_text_of_a_result_shows_arrays_by_shape():
    assert repr(Plain(np.zeros((100, 100)), "a")) == "Plain(x=array of shape (100, 100), label='a')"


def test_a_result_keeps_its_own_text_and_html_uses_its_first_line():
    assert _rows(Spoken(3)) == ("Spoken of 3", {"value": "3", "double": "6"})


def test_html_escapes_data():
    caption, rows = _rows(Plain(np.zeros(2), "<script>alert('&')</script>"))
    assert caption == "Plain"
    assert rows == {"x": "[0, 0]", "label": "\"<script>alert('&')</script>\""}


def test_named_tuples_and_plain_objects_have_fields():
    assert _rows(Pair(1.5, (1, 2)))[1] == {"a": "1.5", "b": "(1, 2)"}

    class Bag:
        def __init__(self):
            self.a, self._b = 1, 2

    assert public_fields(Bag()) == {"a": 1}
