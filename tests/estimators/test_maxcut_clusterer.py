"""Splits of samples against closed forms and brute force; answers to degenerate data."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

from derand.estimators import MaxCutClusterer
from derand.exceptions import InputError, InputTypeError


def _best_split(D):
    n = D.shape[0]
    return max(
        sum(D[i, j] for i, j in itertools.combinations(range(n), 2) if labels[i] != labels[j])
        for labels in itertools.product([0, 1], repeat=n)
    )


@pytest.mark.parametrize("seed", range(3))
def test_brute_force(seed):
    X = np.random.default_rng(seed).standard_normal((9, 3))
    D = pairwise_distances(X)
    clusterer = MaxCutClusterer().fit(X)
    assert clusterer.value_ == pytest.approx(_best_split(D), rel=1e-13)
    assert clusterer.upper_bound_ >= clusterer.value_
    assert clusterer.labels_[0] == 0
    separated = clusterer.labels_[:, None] != clusterer.labels_[None, :]
    assert D[separated].sum() / 2 == pytest.approx(clusterer.value_, rel=1e-13)
    assert clusterer.n_features_in_ == 3


def test_two_blobs_are_found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((30, 2)), rng.normal(12.0, 1.0, (20, 2))])
    labels = MaxCutClusterer(effort="derandomize").fit_predict(X)
    assert labels.tolist() == [0] * 30 + [1] * 20


def test_affinities_agree():
    X = np.random.default_rng(4).standard_normal((12, 2))
    D = pairwise_distances(X, metric="cityblock")
    expected = MaxCutClusterer("precomputed").fit(D)
    for other in (
        MaxCutClusterer("precomputed").fit(sp.csr_array(D)),
        MaxCutClusterer(lambda rows: pairwise_distances(rows, metric="cityblock")).fit(X),
    ):
        assert other.labels_.tolist() == expected.labels_.tolist()
        assert other.value_ == expected.value_


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rounding_may_spoil_symmetry(kind):
    D = pairwise_distances(np.random.default_rng(2).standard_normal((10, 2)))
    noisy = D * (1 + 1e-12 * np.triu(np.ones_like(D)))
    expected = MaxCutClusterer("precomputed").fit(D)
    fitted = MaxCutClusterer("precomputed").fit(kind(noisy))
    assert fitted.value_ == pytest.approx(expected.value_, rel=1e-11)
    with pytest.raises(InputError, match="symmetric"):
        MaxCutClusterer("precomputed").fit(kind(D * (1 + 1e-6 * np.triu(np.ones_like(D)))))


def test_sparse_graph_of_conflicts():
    # Pairs that must be apart form an even cycle, so that all of them can be.
    index = np.arange(40)
    conflicts = sp.coo_array((np.ones(40), (index, (index + 1) % 40)), shape=(40, 40))
    clusterer = MaxCutClusterer("precomputed").fit(conflicts + conflicts.T)
    assert clusterer.labels_.tolist() == [0, 1] * 20
    assert clusterer.value_ == clusterer.upper_bound_ == 40


def test_negative_entries_attract():
    D = np.array([[0, -5, 1], [-5, 0, 1], [1, 1, 0]])
    assert MaxCutClusterer("precomputed").fit_predict(D).tolist() == [0, 0, 1]


def test_constant_data_is_one_cluster():
    clusterer = MaxCutClusterer().fit(np.full((8, 2), 3.0))
    assert clusterer.labels_.tolist() == [0] * 8
    assert clusterer.value_ == clusterer.upper_bound_ == 0


def test_labels_repeat_and_parameters_reach_the_solver():
    X = np.random.default_rng(1).standard_normal((40, 3))
    clusterer = MaxCutClusterer(bound=False, random_state=7)
    first = clusterer.fit(X).labels_
    assert clone(clusterer).fit(X).labels_.tolist() == first.tolist()
    assert clusterer.upper_bound_ is None
    assert MaxCutClusterer(time_limit=1e-9).fit(X).result_.status == "time_limit"


@pytest.mark.medium
def test_several_starts_give_one_result_on_any_number_of_jobs():
    X = np.random.default_rng(2).standard_normal((14, 3))
    single = MaxCutClusterer(bound=False, random_state=3).fit(X)
    many = [MaxCutClusterer(bound=False, random_state=3, n_starts=2, n_jobs=jobs).fit(X) for jobs in (1, 2)]
    assert many[0].labels_.tolist() == many[1].labels_.tolist()
    assert many[0].value_ >= single.result_.derandomized_value
    with pytest.raises(InputError, match="n_starts"):
        MaxCutClusterer(n_starts=0).fit(X)
    with pytest.raises(InputError, match="n_jobs"):
        MaxCutClusterer(n_jobs=0).fit(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("affinity", ["euclidean", "precomputed"])
def test_non_finite_data_is_refused(value, affinity):
    X = np.zeros((4, 4))
    X[1, 2] = X[2, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        MaxCutClusterer(affinity).fit(X)


def test_callable_with_non_finite_result_is_refused():
    with pytest.raises(InputError, match="finite"):
        MaxCutClusterer(lambda X: np.full((len(X), len(X)), np.nan)).fit([[0.0], [1.0]])


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match="minimum of 2"):
        MaxCutClusterer().fit([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("clusterer", "X", "error", "match"),
    [
        (MaxCutClusterer("precomputed"), [[0, 1], [2, 0]], InputError, "symmetric"),
        (MaxCutClusterer("precomputed"), [[0, 1, 2], [1, 0, 2]], InputError, "square"),
        (MaxCutClusterer("manhattan"), [[0.0], [1.0]], InputError, "affinity"),
        (MaxCutClusterer(3), [[0.0], [1.0]], InputTypeError, "affinity"),
        (MaxCutClusterer(effort="heroic"), [[0.0], [1.0]], InputError, "effort"),
        (MaxCutClusterer(method="magic"), [[0.0], [1.0]], InputError, "method"),
    ],
)
def test_bad_arguments_are_named(clusterer, X, error, match):
    with pytest.raises(error, match=match):
        clusterer.fit(X)
