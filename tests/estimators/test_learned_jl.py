"""The transformer: exact figures, new points, sparse and single precision, determinism, scikit-learn's conveniences."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from derand._utils.threads import blas_threads
from derand.embedding import distortion_report, embedding_lower_bound, linear_lower_bound
from derand.estimators import LearnedJL, learned_jl
from derand.exceptions import InputError
from tests.embedding.data import brute_distortion, brute_ratios, gaussian


@pytest.fixture(scope="module")
def fitted():
    X = gaussian(40, 10)
    return X, LearnedJL(3, max_iter=300, compute_lower_bound=True).fit(X)


def test_figures_are_exact(fitted):
    X, learned = fitted
    ratios = brute_ratios(X, learned.components_)
    assert learned.distortion_ == pytest.approx(np.abs(ratios - 1).max(), rel=1e-12)
    assert learned.mean_distortion_ == pytest.approx(np.abs(ratios - 1).mean(), rel=1e-10)
    assert learned.ratio_range_ == pytest.approx((ratios.min(), ratios.max()), rel=1e-12)
    i, j = learned.worst_pair_
    assert brute_distortion(X[[i, j]], learned.components_) == pytest.approx(learned.distortion_, rel=1e-12)
    assert learned.any_map_lower_bound_ == embedding_lower_bound(X, 3).value
    assert learned.lower_bound_ == linear_lower_bound(X, 3, M=learned.components_).value
    assert learned.any_map_lower_bound_ <= learned.lower_bound_
    assert 0.0 < learned.lower_bound_ <= learned.distortion_
    assert (learned.n_components_, learned.sigma_, learned.n_zero_pairs_) == (3, 0.0, 0)
    assert learned.score(X) == -learned.distortion_
    assert learned.pair_report(X).worst_pair == learned.worst_pair_
    assert learned.validation_distortion_ is None
    assert learned.n_iter_ == learned.history_[-1].n_iter


def test_distortion_of_new_points(fitted):
    X, learned = fitted
    Y = gaussian(15, 10, 9)
    assert learned.distortion(Y) == pytest.approx(brute_distortion(Y, learned.components_), rel=1e-12)
    Z = (X[:, None] - Y[None]).reshape(-1, 10)
    ratios = np.square(Z @ learned.components_.T).sum(axis=1) / np.square(Z).sum(axis=1)
    assert learned.distortion(X, Y) == pytest.approx(np.abs(ratios - 1).max(), rel=1e-12)
    assert learned.distortion(X, Y, quantile=0.9) == pytest.approx(np.quantile(np.abs(ratios - 1), 0.9), rel=1e-10)
    every = np.abs(brute_ratios(X, learned.components_) - 1)
    assert learned.distortion(X, quantile=0.5) == pytest.approx(np.median(every), rel=1e-10)
    assert learned.distortion(X[:1]) == 0.0
    assert learned.distortion(X[:1], quantile=0.5) == 0.0


def test_transform_and_back(fitted):
    X, learned = fitted
    images = learned.transform(X)
    np.testing.assert_allclose(images, X @ learned.components_.T)
    np.testing.assert_allclose(learned.transform(sp.csr_array(X)), images, rtol=1e-12)
    np.testing.assert_allclose(learned.transform(learned.inverse_transform(images)), images, rtol=1e-9)
    eager = LearnedJL(3, max_iter=300, compute_inverse_components=True).fit(X)
    np.testing.assert_allclose(eager.inverse_transform(images), learned.inverse_transform(images), rtol=1e-9)
    with pytest.raises(InputError, match="n_samples, 3"):
        learned.inverse_transform(X)


def test_isometry_and_inverse():
    X = gaussian(30, 4)
    learned = LearnedJL(4).fit(X)
    assert learned.distortion_ < 1e-13
    np.testing.assert_allclose(learned.inverse_transform(learned.transform(X)), X, atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_single_precision(scale):
    X = (gaussian(30, 6) * scale).astype(np.float32)
    learned = LearnedJL(2, max_iter=100).fit(X)
    assert learned.components_.dtype == learned.transform(X).dtype == np.float32
    assert np.isfinite(learned.transform(X)).all()
    expected = distortion_report(X, learned.components_.astype(np.float64)).distortion
    assert learned.distortion_ == expected


def test_sparse_fit():
    X = gaussian(40, 12) * (gaussian(40, 12, 1) > 0.2)
    for make in (sp.csr_array, sp.csc_matrix):
        learned = LearnedJL(3, max_iter=50).fit(make(X))
        assert learned.distortion_ == pytest.approx(brute_distortion(X, learned.components_), rel=1e-11)


def test_auto_takes_the_measured_distortion():
    X = gaussian(40, 12) * np.geomspace(4.0, 0.2, 12)
    learned = LearnedJL(eps=0.2).fit(X)
    assert learned.distortion_ <= 0.2
    assert learned.n_components_ < 12


@pytest.mark.medium
def test_same_bits_for_threads_and_jobs():
    X = gaussian(900, 8)
    fits = []
    for threads in (1, 2):
        for jobs in (1, 2):
            with blas_threads(threads):
                fits.append(LearnedJL(3, max_iter=60, active_size=2000, n_jobs=jobs).fit(X))
    for other in fits[1:]:
        np.testing.assert_array_equal(other.components_, fits[0].components_)
        assert other.distortion_ == fits[0].distortion_
        assert other.mean_distortion_ == fits[0].mean_distortion_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_layout_of_memory_changes_no_bit(dtype):
    X = gaussian(120, 9).astype(dtype)
    plain, other = (LearnedJL(3, max_iter=40, validation_fraction=0.2).fit(Z) for Z in (X, np.asfortranarray(X)))
    np.testing.assert_array_equal(plain.components_, other.components_)
    np.testing.assert_array_equal(plain.transform(X), plain.transform(np.asfortranarray(X)))
    assert plain.mean_distortion_ == other.mean_distortion_


def test_jobs_of_the_context(monkeypatch):
    """None means the jobs of the surrounding joblib.parallel_config, as in scikit-learn; the bits stay."""
    asked = []

    class Watched(joblib.Parallel):
        def __call__(self, iterable):
            asked.append(joblib.effective_n_jobs(self.n_jobs))
            return super().__call__(iterable)

    monkeypatch.setattr(learned_jl, "Parallel", Watched)
    X = gaussian(900, 8)
    alone = LearnedJL(3, max_iter=20, active_size=1000).fit(X)
    assert not asked
    with joblib.parallel_config(backend="threading", n_jobs=2):
        shared = LearnedJL(3, max_iter=20, active_size=1000).fit(X)
        assert asked
        assert set(asked) == {2}
        LearnedJL(3, max_iter=20, active_size=1000, n_jobs=1).fit(X[:200])
    assert set(asked) == {2}
    np.testing.assert_array_equal(shared.components_, alone.components_)
    assert shared.mean_distortion_ == alone.mean_distortion_


@pytest.mark.medium
def test_path_from_the_random_map():
    X = gaussian(6, 5)
    learned = LearnedJL(2, method="derand").fit(X)
    assert learned.certificate_.never_rose
    assert learned.distortion_ <= learned.certificate_.start_bound


def test_held_out_samples():
    X = gaussian(60, 8)
    learned = LearnedJL(3, max_iter=200, validation_fraction=0.25).fit(X)
    assert learned.validation_distortion_ <= learned.distortion_ + 1e-12
    # All of X holds the pairs of the fitted part besides.
    assert learned.distortion_ == pytest.approx(brute_distortion(X, learned.components_), rel=1e-12)
    plain = LearnedJL(3, max_iter=200).fit(X)
    assert plain.distortion_ < learned.distortion_
    with pytest.raises(InputError, match="validation_fraction"):
        LearnedJL(1, validation_fraction=0.9).fit(X[:4])


@pytest.mark.medium
def test_held_out_digits_beat_pca_at_the_upper_quantile():
    """New points, which no fit has seen: the bulk is kept better than by principal axes at their best scale."""
    digits = load_digits().data
    X, new = digits[:300], digits[1000:1200]
    learned = LearnedJL(16, max_iter=400).fit(X)
    axes = PCA(16).fit(X).components_
    low, high = distortion_report(X, axes).ratio_range
    ratios = brute_ratios(new, axes) * 2 / (low + high)
    assert learned.distortion(new, quantile=0.999) <= 0.85 * np.quantile(np.abs(ratios - 1), 0.999)


@pytest.mark.medium
def test_conveniences(fitted):
    X, learned = fitted
    assert learned.get_feature_names_out().tolist() == ["learnedjl0", "learnedjl1", "learnedjl2"]
    again = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(again.transform(X), learned.transform(X))
    np.testing.assert_array_equal(clone(learned).fit(X).components_, learned.components_)
    assert make_pipeline(StandardScaler(), LearnedJL(2, max_iter=20)).fit_transform(X).shape == (40, 2)


def test_time_limit():
    X = gaussian(40, 10)
    learned = LearnedJL(3, time_limit=0.0).fit(X)
    assert learned.distortion_ == pytest.approx(brute_distortion(X, learned.components_), rel=1e-12)
    assert learned.n_iter_ == 1


def _fit_in_jobs():
    """Return data, a serial fit and an estimator that scans in two jobs; two groups of tiles at least."""
    X = gaussian(900, 8)
    settings = {"n_components": 3, "max_iter": 30, "active_size": 1000}
    return X, LearnedJL(**settings).fit(X), LearnedJL(**settings, n_jobs=2)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_same_bits_for_joblib_backends(backend):
    X, serial, learned = _fit_in_jobs()
    with joblib.parallel_config(backend=backend):
        learned.fit(X)
    np.testing.assert_array_equal(learned.components_, serial.components_)
    assert learned.mean_distortion_ == serial.mean_distortion_


@pytest.mark.slow
def test_same_bits_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    X, serial, learned = _fit_in_jobs()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        learned.fit(X)
    np.testing.assert_array_equal(learned.components_, serial.components_)
    assert learned.mean_distortion_ == serial.mean_distortion_
