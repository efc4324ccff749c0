"""Points that stay where they are: the same figures from files and chunks, bounded memory, refusals."""

import subprocess
import sys

import numpy as np
import pytest

from derand.embedding import blocks, distortion_report, learn_embedding, points
from derand.embedding.blocks import BlockedRows, is_lazy
from derand.embedding.points import PointSet, RowSpace
from derand.estimators import LearnedJL
from derand.exceptions import InputError, InputTypeError
from tests.embedding.data import brute_distortion, gaussian


class LazyArray:
    """What a dask array looks like from outside; counts what it is asked for."""

    def __init__(self, values, shape=None):
        self.values, self.shape, self.dtype, self.ndim = values, shape or values.shape, values.dtype, values.ndim
        self.largest = 0

    def __dask_graph__(self):
        return {}

    def __getitem__(self, rows):
        return LazyArray(self.values[rows])

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __matmul__(self, other):
        return LazyArray(self.values @ other)


@pytest.fixture
def always(monkeypatch):
    """Read everything in small blocks."""
    monkeypatch.setattr(points, "_WHOLE", 0)
    monkeypatch.setattr(blocks, "_BLOCK", 100)


def _stored(tmp_path, X, kind):
    if kind == "dask":
        return LazyArray(X)
    np.save(tmp_path / "points.npy", X)
    return np.load(tmp_path / "points.npy", mmap_mode="r")


@pytest.mark.parametrize("kind", ["dask", "file"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_same_report(tmp_path, kind, dtype, always, monkeypatch):
    """Blocks add up in the order of the whole, so that not even the last bit differs."""
    X, M = (100 * gaussian(130, 7) + 3).astype(dtype), gaussian(3, 7, 1)
    X[5], X[9] = X[100], X[101]
    stored = _stored(tmp_path, X, kind)
    report = distortion_report(stored, M)
    monkeypatch.setattr(points, "_WHOLE", X.size)
    whole = distortion_report(X.astype(np.float64), M)
    assert report.distortion == whole.distortion == pytest.approx(brute_distortion(X.astype(float), M), rel=1e-12)
    assert (report.mean_distortion, report.worst_pair) == (whole.mean_distortion, whole.worst_pair)
    assert report.n_zero_pairs == whole.n_zero_pairs == 2
    np.testing.assert_array_equal(report.worst_pairs, whole.worst_pairs)


@pytest.mark.parametrize(("n", "d"), [(60, 9), (9, 9), (8, 30)])
def test_same_row_space(n, d, always):
    X = gaussian(n, d)
    X[0] = X[-1]
    space = RowSpace.of(PointSet(X))
    centred = X - X.mean(axis=0)
    assert space.rank == np.linalg.matrix_rank(centred)
    np.testing.assert_allclose(space.coords @ space.basis * PointSet(X).unit, centred, atol=1e-12)
    np.testing.assert_array_equal(space.coords[0], space.coords[-1])
    np.testing.assert_allclose(space.basis @ space.basis.T, np.eye(space.rank), atol=1e-12)


@pytest.mark.parametrize("kind", ["dask", "file"])
def test_fit(tmp_path, kind, always):
    X = gaussian(30, 6).astype(np.float32)
    stored = _stored(tmp_path, X, kind)
    learned = LearnedJL(3, max_iter=100).fit(stored)
    assert learned.components_.dtype == np.float32
    assert learned.distortion_ == pytest.approx(brute_distortion(X.astype(float), learned.components_), rel=1e-6)
    assert learned.score(stored) == -learned.distortion_
    assert learned.distortion(stored, stored[:5]) <= learned.distortion_
    images = learned.transform(stored)
    assert is_lazy(images) == (kind == "dask")
    np.testing.assert_allclose(np.asarray(images), X @ learned.components_.T, rtol=1e-5)
    assert learn_embedding(stored, 6).report.distortion < 1e-6


def test_a_small_lazy_array_is_computed_once():
    X = gaussian(20, 4)
    assert PointSet(LazyArray(X)).is_blocked is False
    assert distortion_report(LazyArray(X), np.eye(2, 4)).distortion == distortion_report(X, np.eye(2, 4)).distortion


@pytest.mark.parametrize("rows", [slice(3, 9), np.array([7, 2, 7, 0])])
def test_rows(rows):
    X = gaussian(10, 3)
    read = BlockedRows(X, "X", unit=4.0, mean=np.ones(3))
    np.testing.assert_array_equal(read[rows], X[rows] / 4.0 - 1.0)


def test_bad_input(always):
    X = gaussian(30, 5)
    X[17, 3] = np.nan
    with pytest.raises(InputError, match=r"X must be finite, got nan at index \(17, 3\)"):
        PointSet(X)
    with pytest.raises(InputError, match="known shape"):
        PointSet(LazyArray(X, shape=(float("nan"), 5)))
    with pytest.raises(InputTypeError, match="real numbers"):
        PointSet(LazyArray(X.astype(complex)))
    with pytest.raises(InputError, match="2 dimension"):
        PointSet(X[0])
    with pytest.raises(InputError, match="at least 2 rows"):
        PointSet(X[:1])
    with pytest.raises(ValueError, match="features"):
        LearnedJL(2).fit(gaussian(9, 5)).transform(LazyArray(gaussian(9, 4)))


_MEASURE = """
import sys, tracemalloc
import numpy as np
import derand.embedding.scan
from derand.embedding import distortion_report
from derand.estimators import LearnedJL
X = np.load(sys.argv[1], mmap_mode="r")
M = np.random.default_rng(0).standard_normal((3, X.shape[1]))
learned = LearnedJL(3)
learned.components_, learned.n_features_in_, learned.n_components_ = M, X.shape[1], 3
tracemalloc.start()
report = distortion_report(X, M)
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.reset_peak()
images = learned.transform(X)
print(peak, tracemalloc.get_traced_memory()[1], report.n_pairs)
"""


@pytest.mark.medium
def test_memory(tmp_path):
    """A fresh process holds far less than one copy in double precision: tiles of 16 MB, some at a time."""
    n, d = 400, 42_000
    X = np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype=np.float32, shape=(n, d))
    rng = np.random.default_rng(0)
    for start in range(0, n, 100):
        X[start : start + 100] = rng.random((100, d), dtype=np.float32)
    X.flush()
    assert X.size > points._WHOLE
    command = [sys.executable, "-c", _MEASURE, str(tmp_path / "large.npy")]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    peak, peak_transform, n_pairs = (int(word) for word in run.stdout.split())
    assert n_pairs == n * (n - 1) // 2
    assert peak < 0.6 * 8 * n * d
    assert peak_transform < 0.1 * 8 * n * d
