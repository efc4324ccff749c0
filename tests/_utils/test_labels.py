"""The order of labels depends on the labels alone."""

import random

from derand._utils.labels import sorted_labels


def test_comparable_labels_ascend():
    assert sorted_labels({3, 1, 2}) == (1, 2, 3)
    assert sorted_labels(["b", "a"]) == ("a", "b")


def test_mixed_labels_have_one_order():
    labels = [1, "1", (1,), None, 2.5]
    expected = sorted_labels(labels)
    assert sorted(map(repr, expected)) == sorted(map(repr, labels))
    for seed in range(5):
        random.Random(seed).shuffle(labels)
        assert sorted_labels(labels) == expected
