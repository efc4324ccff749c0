import numpy as np

from derand.structure.estimation.distinct import distinct_samples


def test_order_repetition_and_zero_weights_dont_matter():
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((20, 3)), rng.standard_normal((20, 2)), rng.integers(0, 4, 20)
    rows = rng.permutation(np.repeat(np.arange(20), w))
    first = distinct_samples(X, y, w.astype(float))
    for a, b in zip(first, distinct_samples(X[rows], y[rows], None), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(first[0]) == np.sum(w > 0)
    assert np.isclose(first[2].mean(), 1.0)


def test_equal_weights_are_none():
    assert distinct_samples(np.arange(4.0)[:, None], np.zeros((4, 1)), np.full(4, 3.0))[2] is None
