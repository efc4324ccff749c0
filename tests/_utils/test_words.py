import pytest

from derand._utils.words import counted


@pytest.mark.parametrize(("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_counted(number, text):
    assert counted(number, "row") == text


def test_an_irregular_plural():
    assert [counted(n, "vertex", "vertices") for n in (1, 3)] == ["1 vertex", "3 vertices"]
