"""NetworkReducer finds planted directions, whatever the units of the columns, and refuses what it can't work with."""

import pickle
import tracemalloc

import numpy as np
import pytest

from derand.estimators import NetworkReducer
from derand.exceptions import InputError, InputTypeError, NonConvergenceWarning
from derand.structure import subspace_distance
from derand.structure.objective import NetworkObjective

_RNG = np.random.default_rng(0)
X = _RNG.standard_normal((400, 6))
DIRECTIONS = np.linalg.qr(_RNG.standard_normal((6, 6)))[0][:2]
S = X @ DIRECTIONS.T
NOISE = _RNG.standard_normal(400)


def test_regression_with_one_direction():
    """The error of an efficient estimate is about sqrt((d - k) sigma^2 / (n E[f'^2])) = 0.03; three times that."""
    y = np.tanh(S[:, 0]) + 0.2 * NOISE
    reducer = NetworkReducer(hidden=10).fit(X, y)
    assert reducer.n_components_ == 1
    assert subspace_distance(reducer.components_, DIRECTIONS[0]) < 0.09
    np.testing.assert_allclose(reducer.projection_ @ reducer.components_.T, reducer.components_.T, atol=1e-12)
    np.testing.assert_allclose(reducer.transform(X), (X - X.mean(0)) @ reducer.components_.T, atol=1e-12)
    assert reducer.certificate_.is_valid
    assert reducer.get_feature_names_out().tolist() == ["networkreducer0"]


def test_two_directions_in_any_units():
    """Whitening makes the fit equivariant: scaled and mixed columns span the same directions of the original space."""
    y = S[:, 0] * S[:, 1]
    mixing = np.diag([1e3, 1.0, 1e-3, 5.0, 1.0, 1.0]) @ (np.eye(6) + 0.3 * np.triu(np.ones((6, 6)), 1))
    reducer = NetworkReducer(2, hidden=12, n_init=2).fit(X @ mixing.T, y)
    assert subspace_distance(reducer.components_ @ mixing, DIRECTIONS) < 0.1


@pytest.mark.parametrize("labels", [("a", "b"), (0, 1, 2)])
def test_classes(labels):
    edges = [0.0] if len(labels) == 2 else [-0.5, 0.5]
    y = np.array(labels)[np.digitize(S[:, 0], edges)]
    reducer = NetworkReducer(1, hidden=8).fit(X, y)
    assert reducer.classes_.tolist() == sorted(labels)
    assert subspace_distance(reducer.components_, DIRECTIONS[0]) < 0.15
    assert reducer.trained_.outputs(X).shape == (400, 1 if len(labels) == 2 else 3)


def test_several_outputs_and_collinear_columns():
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(400)])
    reducer = NetworkReducer(2, hidden=10).fit(wide, np.column_stack([np.tanh(S[:, 0]), S[:, 1]]))
    coordinates = reducer.transform(wide)
    fitted = np.linalg.lstsq(np.column_stack([coordinates, np.ones(400)]), S, rcond=None)[0]
    rest = S - np.column_stack([coordinates, np.ones(400)]) @ fitted
    assert np.sum(rest**2) / np.sum(S**2) < 0.01


def test_more_columns_than_samples():
    rng = np.random.default_rng(1)
    few, y = rng.standard_normal((20, 30)), rng.standard_normal(20)
    reducer = NetworkReducer(1, hidden=4).fit(few, y)
    assert reducer.transform(few).shape == (20, 1)
    assert not reducer.certificate_.is_meaningful


def test_deterministic_and_picklable():
    y = np.tanh(S[:, 0])
    first, second = (NetworkReducer(1, hidden=4, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).transform(X), first.transform(X))


def test_frozen_biases_and_the_papers_decay():
    reducer = NetworkReducer(1, hidden=6, train_biases=False, rest_alpha=0.0, tol=1e-2, curv_tol=0.3)
    reducer.fit(X, np.tanh(S[:, 0]))
    assert reducer.trained_.objective.frozen == ("biases",)
    assert reducer.trained_.objective.rest_decay == 0.0


def test_early_end_warns():
    with pytest.warns(NonConvergenceWarning, match="limit"):
        NetworkReducer(1, max_iter=3).fit(X, S[:, 0])


@pytest.mark.parametrize(
    ("parameters", "error", "word"),
    [
        ({"n_components": 7}, InputError, "n_components"),
        ({"n_components": 1.5}, InputError, "n_components"),
        ({"n_components": "auto"}, InputTypeError, "n_components"),
        ({"alpha": -1.0}, InputError, "alpha"),
        ({"loss": "hinge"}, InputError, "loss"),
        ({"n_init": 0}, InputError, "n_init"),
        ({"solver": "sgd"}, InputError, "method"),
        ({"loss": "logistic"}, InputError, "two classes"),
    ],
)
def test_bad_parameters_are_named(parameters, error, word):
    y = np.arange(400) % 3 if "loss" in parameters else S[:, 0]
    with pytest.raises(error, match=word):
        NetworkReducer(**{"hidden": 3, "curv_tol": 0.5, "tol": 0.1, **parameters}).fit(X, y)


def test_bad_samples_are_named():
    with pytest.raises(InputError, match="X"):
        NetworkReducer().fit(np.ones((5, 2)), np.arange(5.0))
    with pytest.raises(InputError, match="1 class"):
        NetworkReducer(loss="multinomial").fit(X, np.zeros(400, dtype=int))
    with pytest.raises(InputError, match="sample_weight"):
        NetworkReducer().fit(X, S[:, 0], sample_weight=np.eye(400)[0])


class Chunked:
    """What dask arrays offer and is used of them, with its rows in memory."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.ndim = 2

    def __dask_graph__(self):
        return {}

    def __getitem__(self, rows):
        return self.values[rows]

    def __sub__(self, other):
        return Chunked(self.values - other)

    def __matmul__(self, other):
        return Chunked(self.values @ other)


def test_files_and_chunks_give_the_directions_of_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("derand.estimators.network_reducer._LARGE", 100)
    mixed = (X @ np.diag([1e3, 1.0, 1e-3, 5.0, 1.0, 1.0]) + 2.0)[:, [0, 1, 2, 3, 4, 5, 5]]
    y = np.tanh(S[:, 0]) + 0.2 * NOISE
    weight = np.r_[0.0, np.ones(399)]
    plain = NetworkReducer(1, hidden=8).fit(mixed, y, weight)
    np.save(tmp_path / "X.npy", mixed)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for source in (mapped, Chunked(mixed)):
        found = NetworkReducer(1, hidden=8).fit(source, y, weight)
        assert subspace_distance(found.components_, plain.components_) < 1e-6
        assert found.certificate_.bound == pytest.approx(plain.certificate_.bound, rel=0.05)
        images = found.transform(source)
        np.testing.assert_allclose(getattr(images, "values", images), found.transform(mixed), atol=1e-9)
    assert isinstance(images, Chunked)
    broken = mixed.copy()
    broken[7, 3] = np.nan
    with pytest.raises(InputError, match=r"X must be finite, got nan at index \(7, 3\)"):
        NetworkReducer(1).fit(Chunked(broken), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NetworkReducer(1).fit(mapped, y[:-1])
    with pytest.raises(ValueError, match="6 features, but NetworkReducer is expecting 7"):
        plain.transform(Chunked(mixed[:, :6]))


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore::derand.exceptions.NonConvergenceWarning")
def test_a_large_file_is_never_in_memory(tmp_path, monkeypatch):
    """The samples are 80 MB in double precision; a chunk of the passes takes 32 MB."""
    monkeypatch.setattr("derand.estimators.network_reducer._LARGE", 1000)
    n, d = 50_000, 200
    values = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
    rng = np.random.default_rng(0)
    for start in range(0, n, 10_000):
        values[start : start + 10_000] = rng.standard_normal((10_000, d), dtype=np.float32)
    y = np.tanh(values[:, 3].astype(np.float64))
    values.flush()
    tracemalloc.start()
    reducer = NetworkReducer(1, hidden=1, max_iter=3).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reducer.components_.shape == (1, d)
    assert peak < 6e7


def test_the_number_of_jobs_changes_no_bit():
    y = np.tanh(S[:, 0]) + 0.2 * NOISE
    one, two = (NetworkReducer(1, hidden=6, n_init=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.trained_.parameters, two.trained_.parameters)


def test_an_interruption_ends_all_starts(monkeypatch):
    evaluate, calls = NetworkObjective.value_and_grad, []

    def interrupted(self, x):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return evaluate(self, x)

    monkeypatch.setattr(NetworkObjective, "value_and_grad", interrupted)
    X = np.random.default_rng(0).standard_normal((60, 3))
    with pytest.warns(NonConvergenceWarning):
        fit = NetworkReducer(1, hidden=4, n_init=3).fit(X, X[:, 0])
    assert len(calls) == 4
    assert fit.components_.shape == (1, 3)
