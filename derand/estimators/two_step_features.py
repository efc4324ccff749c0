"""Features of a two-layer network after two gradient steps, as a scikit-learn transformer."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import check_int, check_option
from derand.two_step.activations import as_activation
from derand.two_step.dynamics import step_sizes, two_step_update
from derand.two_step.extraction import extract_directions

__all__ = ["TwoStepFeatures"]

_MOST_DIRECTIONS = 3


class TwoStepFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Features :math:`\sigma(W_2 x)/\sqrt N` of a random first layer after two gradient steps towards a target.

    Inputs are centred and scaled to unit variance, the target is centred, and the first layer takes two steps of
    gradient descent on the correlation loss with a fixed random second layer.  The learned directions, `components_`,
    are read off the change of the weights by weighted least squares.  A linear model on the features completes the
    network.

    Reusing the batch in the second step learns directions along which the target has no linear part, which a fresh
    batch doesn't for large N; at a few hundred neurons a fresh batch may nevertheless give the better ridge
    regression.

    Parameters
    ----------
    n_neurons : int, default 256
        Width N.
    activation : activation, default (0, 1, 1/2, 1/6)
        Hermite coefficients, a name, or whatever `derand.two_step.as_activation` takes; c_1 must not vanish.
    alpha1, alpha2 : float in [0, 1/2), default 0.45 and 0.3
        Exponents of the step sizes.
    kappa1, kappa2 : float > 0, default 0.7
        Factors of the step sizes.
    batch : {"reuse", "fresh"}, default "reuse"
        Whether both steps take all samples, or each one half.
    n_directions : int, optional
        Number of components; by default one for every order of a polynomial activation, at most three.
    output : {"neurons", "directions"}, default "neurons"
        Whether `transform` returns the N activations or the projections on the components.
    random_state : int, Generator or None
        Random stream of the weights; None means 0, the same result on every run.

    Attributes
    ----------
    components_ : ndarray of shape (n_directions, n_features)
        Learned directions, unit vectors in the scaled inputs.
    strength_ : ndarray of shape (n_directions,)
        Their strengths.
    weights_ : ndarray of shape (n_neurons, n_features)
        First layer after both steps.
    initial_weights_ : ndarray of shape (n_neurons, n_features)
        First layer at the start.
    second_layer_ : ndarray of shape (n_neurons,)
        Second layer.
    step_sizes_ : tuple of two floats
        eta1 and eta2.
    mean_, scale_ : ndarray of shape (n_features,)
        Centre and scale of the inputs.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X has them.

    See Also
    --------
    derand.two_step.two_step_update : The steps without scikit-learn.

    References
    ----------
    Feature learning in linear-width two-layer networks: two steps of gradient descent (2026), arXiv 2605.17767.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((400, 20))
    >>> features = TwoStepFeatures(100).fit(X, np.tanh(2 * X[:, 3]))
    >>> features.transform(X).shape, int(np.argmax(np.abs(features.components_[0])))
    ((400, 100), 3)
    """

    def __init__(
        self,
        n_neurons: int = 256,
        *,
        activation: Any = (0.0, 1.0, 0.5, 1.0 / 6.0),
        alpha1: float = 0.45,
        alpha2: float = 0.3,
        kappa1: float = 0.7,
        kappa2: float = 0.7,
        batch: str = "reuse",
        n_directions: int | None = None,
        output: str = "neurons",
        random_state: RNGLike = None,
    ) -> None:
        self.n_neurons = n_neurons
        self.activation = activation
        self.alpha1 = alpha1
        self.alpha2 = alpha2
        self.kappa1 = kappa1
        self.kappa2 = kappa2
        self.batch = batch
        self.n_directions = n_directions
        self.output = output
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Take the two steps.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Inputs, at least two samples.
        y : array_like of shape (n_samples,)
            Target.

        Returns
        -------
        TwoStepFeatures
            The fitted transformer.

        Raises
        ------
        InputError
            If a parameter is out of range, c_1 = 0, or the target doesn't correlate with any column at all.

        Warns
        -----
        AssumptionWarning
            If the target has heavy tails, or the second step is too large for its full-rank part to be small.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity, fewer than two samples or no features.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, y_numeric=True)
        check_option(self.output, "output", ("neurons", "directions"))
        n_neurons = check_int(self.n_neurons, "n_neurons", low=2)
        self._activation = as_activation(self.activation)
        self.mean_ = X.mean(axis=0)
        spread = X.std(axis=0)
        self.scale_ = np.where(spread > 1e-12 * (np.abs(self.mean_) + spread), spread, 1.0)
        scaled, target = self._scaled(X), np.asarray(y, dtype=np.float64)
        target = target - target.mean()
        rng = check_rng(0 if self.random_state is None else self.random_state)
        self.initial_weights_ = rng.standard_normal((n_neurons, X.shape[1])) / math.sqrt(X.shape[1])
        self.second_layer_ = rng.standard_normal(n_neurons) / math.sqrt(n_neurons)
        eta1, eta2 = step_sizes(
            scaled,
            target,
            n_neurons,
            self._activation,
            alphas=(self.alpha1, self.alpha2),
            kappas=(self.kappa1, self.kappa2),
            batch=self.batch,
        )
        run = two_step_update(
            scaled,
            target,
            self.initial_weights_,
            self.second_layer_,
            eta1,
            eta2,
            activation=self._activation,
            batch=self.batch,
        )
        self.step_sizes_, self.weights_ = (eta1, eta2), run.W2
        found = extract_directions(run.W2 - run.W0, self.second_layer_, self._n_directions(run.W2.shape))
        self.components_, self.strength_ = found.directions, found.strength
        self._n_features_out = n_neurons if self.output == "neurons" else self.components_.shape[0]
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_neurons) or (n_samples, n_directions)
            sigma(W2 x)/sqrt(N) for the scaled inputs, or their projections on the components.
        """
        check_is_fitted(self)
        X = self._scaled(validate_data(self, X, reset=False, dtype=np.float64))
        if self.output == "directions":
            return X @ self.components_.T
        return self._activation(X @ self.weights_.T) / math.sqrt(self.weights_.shape[0])

    def _scaled(self, X: Any) -> Any:
        """Return centred and scaled inputs."""
        return (X - self.mean_) / self.scale_

    def _n_directions(self, shape: tuple[int, ...]) -> int:
        """Return the number of components for weights of a shape."""
        if self.n_directions is not None:
            return check_int(self.n_directions, "n_directions", low=1, high=min(shape))
        degree = self._activation.degree
        orders = _MOST_DIRECTIONS if degree is None else min(max(degree, 1), _MOST_DIRECTIONS)
        return min(orders, *shape)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that a target is needed."""
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
