import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from derand.estimators import TwoStepFeatures
from derand.exceptions import InputError
from derand.two_step import AssumptionWarning, two_step_update

_RNG = np.random.default_rng(0)
_X = 3.0 + 2.0 * _RNG.standard_normal((600, 25))
_Z = (_X - 3.0) / 2.0
_Y = 5.0 + np.tanh(2 * _Z[:, 3]) + 0.5 * np.sin(2 * _Z[:, 8])


def test_the_steps_are_those_of_the_core():
    features = TwoStepFeatures(40, random_state=1).fit(_X, _Y)
    scaled = (_X - _X.mean(axis=0)) / _X.std(axis=0)
    run = two_step_update(
        scaled,
        _Y - _Y.mean(),
        features.initial_weights_,
        features.second_layer_,
        *features.step_sizes_,
        activation=features.activation,
    )
    np.testing.assert_allclose(features.weights_, run.W2, rtol=1e-12)
    np.testing.assert_allclose(features.transform(_X), run.activation(scaled @ run.W2.T) / np.sqrt(40), rtol=1e-10)
    assert features.transform(_X).shape == (600, 40)
    assert features.get_feature_names_out()[0] == "twostepfeatures0"


def test_components_find_the_strong_direction():
    features = TwoStepFeatures(200, output="directions").fit(_X, _Y)
    assert features.components_.shape == (3, 25)
    assert abs(features.components_[0, 3]) > 0.7
    np.testing.assert_allclose(np.linalg.norm(features.components_, axis=1), 1.0)
    assert np.all(features.strength_ > 0)
    scaled = (_X - features.mean_) / features.scale_
    np.testing.assert_allclose(features.transform(_X), scaled @ features.components_.T)


def test_two_steps_help_ridge_over_none():
    train, test = slice(0, 400), slice(400, None)

    def score(**options):
        model = make_pipeline(TwoStepFeatures(150, **options), Ridge(1.0))
        return model.fit(_X[train], _Y[train]).score(_X[test], _Y[test])

    assert score() > score(kappa1=1e-6, kappa2=1e-6) + 0.02


def test_units_do_not_matter():
    plain = TwoStepFeatures(30).fit(_X, _Y)
    other = TwoStepFeatures(30).fit(_X * np.linspace(1, 50, 25) - 7.0, -3.0 + 100.0 * _Y)
    np.testing.assert_allclose(np.abs(other.components_), np.abs(plain.components_), atol=1e-8)
    np.testing.assert_allclose(other.weights_, plain.weights_, atol=1e-8)


def test_random_state():
    one, same, other = (TwoStepFeatures(30, random_state=seed).fit(_X, _Y).weights_ for seed in (None, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.max(np.abs(one - other)) > 0.01


def test_constant_columns():
    X = _X.copy()
    X[:, 5] = 4.0
    features = TwoStepFeatures(30).fit(X, _Y)
    assert features.scale_[5] == 1.0
    assert np.all(np.isfinite(features.transform(X)))


def test_number_of_directions():
    assert TwoStepFeatures(30, n_directions=5).fit(_X, _Y).components_.shape == (5, 25)
    assert TwoStepFeatures(30, activation=[0, 1.0, 0.5]).fit(_X, _Y).components_.shape == (2, 25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        assert TwoStepFeatures(30).fit(_X[:, :2], _Y).components_.shape == (2, 2)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"activation": "abs"}, "c_1"),
        ({"alpha1": 0.5}, "alphas"),
        ({"kappa2": -1.0}, "kappas"),
        ({"batch": "half"}, "batch"),
        ({"n_neurons": 1}, "n_neurons"),
        ({"n_directions": 99}, "n_directions"),
        ({"output": "all"}, "output"),
    ],
)
def test_bad_parameters(options, match):
    with pytest.raises(InputError, match=match):
        TwoStepFeatures(**options).fit(_X, _Y)


def test_constant_target():
    with pytest.raises(InputError, match="orthogonal"):
        TwoStepFeatures(10).fit(_X, np.ones(600))
