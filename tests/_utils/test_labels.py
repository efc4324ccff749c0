"""The order of labels depends on the labels alone."""

import itertools
import os
import random
import subprocess
import sys

import pytest

from derand._utils.labels import sorted_labels

_SETS = [frozenset(pair) for pair in itertools.combinations("abcde", 2)]


def test_comparable_labels_ascend():
    assert sorted_labels({3, 1, 2.5}) == (1, 2.5, 3)
    assert sorted_labels(["b", "a"]) == ("a", "b")
    assert sorted_labels([(10, "a"), (9, "b")]) == ((9, "b"), (10, "a"))


@pytest.mark.parametrize(
    "labels", [[1, "1", (1,), None, 2.5], _SETS, [(s, 1) for s in _SETS], [*_SETS, "a", ("a", frozenset())]]
)
def test_incomparable_labels_have_one_order(labels):
    expected = sorted_labels(labels)
    assert set(expected) == set(labels)
    for seed in range(8):
        shuffled = random.Random(seed).sample(labels, len(labels))
        assert sorted_labels(shuffled) == expected


def test_order_does_not_depend_on_the_hash_seed():
    code = (
        "from derand._utils.labels import sorted_labels; from itertools import combinations;"
        "print([sorted(label) for label in sorted_labels({frozenset(c) for c in combinations('abcdef', 3)})])"
    )
    outputs = {
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
