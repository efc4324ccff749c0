"""Where expectations come from: exact Gaussian populations by quadrature, finite samples, streams of fresh batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space

from derand._utils.arrays import array_namespace, as_like, to_numpy
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import BudgetExceededError, InputError
from derand.gaussian import gauss_hermite, tensor_gauss_hermite
from derand.structure.large import LargeRows
from derand.structure.subspace import orthonormal_rows

__all__ = ["MultiIndexTeacher", "Sample", "check_sample", "gaussian_population", "stream_batches"]

_KINDS = ("regression", "binary", "classes")
_MAX_NODES = 2_000_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Weighted inputs and targets, over which a network's risk is a mean.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, of any array library that follows the array API standard, or `LargeRows`.
    y : array of shape (n,) or (n, c)
        Targets, of the same library.
    weights : array of shape (n,), optional
        Nonnegative, with sum 1; default 1/n each.
    directions : ndarray of shape (k, d), optional
        Orthonormal directions of the teacher, where they are known.
    is_exact : bool, default False
        Whether the mean is the expectation over Gaussian inputs up to quadrature error.

    Attributes
    ----------
    n : int
        Number of points.
    """

    X: Any
    y: Any
    weights: Any = None
    directions: FloatArray | None = None
    is_exact: bool = False

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.X.shape[0])

    def like(self, reference: Any) -> Sample:
        """Return the same sample in the library, data type and device of a reference array.

        Parameters
        ----------
        reference : array
            Of the library wanted.

        Returns
        -------
        Sample
            A copy; the directions stay a NumPy array.
        """
        weights = None if self.weights is None else as_like(self.weights, reference)
        X, y = as_like(self.X, reference), as_like(self.y, reference)
        return Sample(X, y, weights, self.directions, self.is_exact)


class MultiIndexTeacher:
    r"""Teacher y = h(U x; eps): labels that depend on the inputs through k directions only.

    Parameters
    ----------
    directions : array_like of shape (k, d) or (d,)
        Rows U, linearly independent; they are replaced by the closest orthonormal rows.
    link : callable
        ``link(s)`` maps s = U x, shape (n, k), to shape (n,) or (n, c): the mean of y for "regression", the probability
        of label 1 for "binary", the probabilities of the classes (n, c) for "classes".
    noise : float, default 0.0
        Standard deviation of Gaussian noise added to "regression" labels.
    kind : {"regression", "binary", "classes"}, default "regression"
        What the labels are.

    Raises
    ------
    InputError
        If the directions are linearly dependent, the noise is negative or the kind unknown.

    Examples
    --------
    >>> import numpy as np
    >>> teacher = MultiIndexTeacher([3.0, 4.0], lambda s: np.tanh(s[:, 0]))
    >>> teacher.mean(np.zeros((1, 2))).item(), teacher.directions.tolist()
    (0.0, [[0.6, 0.8]])
    """

    def __init__(
        self,
        directions: Any,
        link: Callable[[FloatArray], FloatArray],
        *,
        noise: float = 0.0,
        kind: str = "regression",
    ) -> None:
        self.directions = orthonormal_rows(directions, "directions")
        self.link = link
        self.noise = check_scalar(noise, "noise", low=0.0, high=math.inf, high_open=True)
        self.kind = check_option(kind, "kind", _KINDS)

    @property
    def n_inputs(self) -> int:
        """Dimension d of the inputs."""
        return int(self.directions.shape[1])

    def mean(self, X: Any) -> FloatArray:
        """Return the mean label, or the probabilities, at given inputs.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (n, c)
            One column for a link that returns vectors.

        Raises
        ------
        InputError
            If X or what the link returns has the wrong shape or isn't finite.
        """
        inputs = check_array(X, "X", shape=(None, self.n_inputs))
        values = check_array(self.link(inputs @ self.directions.T), "link(s)")
        if values.ndim not in {1, 2} or values.shape[0] != inputs.shape[0]:
            raise InputError(f"link must return shape (n,) or (n, c) for n = {inputs.shape[0]}, got {values.shape}")
        return values.reshape(inputs.shape[0], -1)

    def draw_labels(self, X: Any, rng: RNGLike = None) -> FloatArray:
        """Return random labels at given inputs.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        rng : int, Generator or None
            Random stream.

        Returns
        -------
        ndarray of shape (n, c)
            Labels; 0 or 1 for "binary", one-hot rows for "classes".

        Raises
        ------
        InputError
            If the link's probabilities lie outside [0, 1] or don't add up to 1.
        """
        generator, mean = check_rng(rng), self.mean(X)
        if self.kind == "regression":
            return mean + self.noise * generator.standard_normal(mean.shape)
        if np.min(mean, initial=0.0) < 0.0 or np.max(mean, initial=0.0) > 1.0:
            raise InputError("link must return probabilities between 0 and 1")
        if self.kind == "binary":
            return np.where(generator.random(mean.shape) < mean, 1.0, 0.0)
        if np.max(np.abs(np.sum(mean, axis=1) - 1.0), initial=0.0) > 1e-8:
            raise InputError("link must return probabilities that add up to 1")
        chosen = np.sum(np.cumsum(mean, axis=1) < generator.random((mean.shape[0], 1)), axis=1)
        labels: FloatArray = np.eye(mean.shape[1])[np.minimum(chosen, mean.shape[1] - 1)]
        return labels

    def sample(self, n: int, rng: RNGLike = None) -> Sample:
        """Return n inputs from N(0, I) with labels.

        Parameters
        ----------
        n : int
            Number of points, at least 1.
        rng : int, Generator or None
            Random stream.

        Returns
        -------
        Sample
            With equal weights.

        Raises
        ------
        InputError
            If n is below 1.
        InputTypeError
            If n isn't an integer.
        """
        generator = check_rng(rng)
        X = generator.standard_normal((check_int(n, "n", low=1), self.n_inputs))
        return Sample(X, self.draw_labels(X, generator), directions=self.directions)


def gaussian_population(
    teacher: MultiIndexTeacher,
    *,
    n_nodes: int = 40,
    n_perp_nodes: int | None = None,
    n_noise_nodes: int | None = None,
) -> Sample:
    r"""Return Gauss-Hermite nodes for the exact risk under x ~ N(0, I_d) and a teacher of few directions.

    A product rule in the teacher's directions and in an orthonormal basis across them.  The error in either falls
    geometrically with the number of nodes for analytic activations and losses, the faster the smaller the weights; a
    link with kinks slows only the part along the teacher, on which no theorem about :math:`W_\perp` depends.

    Label noise of "binary" and "classes" is in the risk exactly, since the targets are probabilities; that of
    "regression" adds half its variance to the squared loss, which moves no minimum, and is left out unless nodes are
    given for it.

    Parameters
    ----------
    teacher : MultiIndexTeacher
        The teacher.
    n_nodes : int, default 40
        Nodes in each of its k directions.
    n_perp_nodes : int, optional
        Nodes in each of the d - k other directions; default `n_nodes`.
    n_noise_nodes : int, optional
        Nodes for Gaussian label noise, for losses other than the squared one.

    Returns
    -------
    Sample
        With `is_exact`.

    Raises
    ------
    InputError
        If a number of nodes is below 1.
    InputTypeError
        If a number of nodes isn't an integer.
    BudgetExceededError
        If there would be more than 2,000,000 nodes: take a large sample instead, or a smaller d.

    Examples
    --------
    >>> import numpy as np
    >>> teacher = MultiIndexTeacher([1.0, 0.0], lambda s: s[:, 0] ** 2)
    >>> population = gaussian_population(teacher, n_nodes=3)
    >>> population.n, round(float(population.weights @ population.y[:, 0]), 12)
    (9, 1.0)
    """
    k, d = teacher.directions.shape
    n_nodes = check_int(n_nodes, "n_nodes", low=1)
    n_perp = n_nodes if n_perp_nodes is None else check_int(n_perp_nodes, "n_perp_nodes", low=1)
    n_noise = 1 if n_noise_nodes is None else check_int(n_noise_nodes, "n_noise_nodes", low=1)
    if k * math.log(n_nodes) + (d - k) * math.log(n_perp) + math.log(n_noise) > math.log(_MAX_NODES):
        raise BudgetExceededError(
            f"{n_nodes}^{k} x {n_perp}^{d - k} x {n_noise} nodes exceed {_MAX_NODES}: take fewer, or a sample"
        )
    along, weights = tensor_gauss_hermite(n_nodes, k)
    X = along @ teacher.directions
    if d > k:
        across, across_weights = tensor_gauss_hermite(n_perp, d - k)
        spread = across @ _complement(teacher.directions)
        X = (X[:, None, :] + spread[None, :, :]).reshape(-1, d)
        weights = np.outer(weights, across_weights).ravel()
    y = teacher.mean(X)
    if n_noise > 1 and teacher.kind == "regression" and teacher.noise > 0.0:
        shocks, shock_weights = gauss_hermite(n_noise)
        y = (y[:, None, :] + teacher.noise * shocks[None, :, None]).reshape(-1, y.shape[1])
        X, weights = np.repeat(X, n_noise, axis=0), np.outer(weights, shock_weights).ravel()
    return Sample(X, y, weights, teacher.directions, is_exact=True)


def stream_batches(teacher: MultiIndexTeacher, batch_size: int, rng: RNGLike = None) -> Iterator[Sample]:
    """Return an endless stream of fresh batches: one pass over Gaussian samples, none seen twice.

    Parameters
    ----------
    teacher : MultiIndexTeacher
        Labels the inputs.
    batch_size : int
        Points in each batch, at least 1.
    rng : int, Generator or None
        Random stream; the same seed gives the same batches.

    Yields
    ------
    Sample
        The next batch.

    Raises
    ------
    InputError
        If batch_size is below 1.
    InputTypeError
        If batch_size isn't an integer.

    Examples
    --------
    >>> import numpy as np
    >>> batches = stream_batches(MultiIndexTeacher([1.0, 0.0], lambda s: np.tanh(s[:, 0])), 5, rng=0)
    >>> first, second = next(batches), next(batches)
    >>> first.X.shape, bool(np.any(first.X == second.X))
    ((5, 2), False)
    """
    size, generator = check_int(batch_size, "batch_size", low=1), check_rng(rng)
    while True:
        yield teacher.sample(size, generator)


def check_sample(sample: Sample, n_inputs: int, n_outputs: int) -> Sample:
    """Return a sample with two-dimensional targets and with weights, after checks of shapes and numbers.

    Parameters
    ----------
    sample : Sample
        Inputs, targets and weights of any array library.
    n_inputs, n_outputs : int
        Columns wanted.

    Returns
    -------
    Sample
        Checked.

    Raises
    ------
    InputError
        If a shape doesn't fit, numbers aren't finite (NumPy arrays only), or weights aren't a distribution.
    """
    X = sample.X if hasattr(sample.X, "shape") else np.asarray(sample.X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] != n_inputs:
        raise InputError(f"X must have shape (n, {n_inputs}) with n >= 1, got {tuple(X.shape)}")
    is_numpy = isinstance(X, (np.ndarray, LargeRows))
    xp = np if is_numpy else array_namespace(X)
    if isinstance(X, np.ndarray):
        X = check_array(X, "X")
    y = check_array(sample.y, "y") if is_numpy else sample.y
    y = xp.reshape(y, (-1, 1)) if y.ndim == 1 else y
    if tuple(y.shape) != (X.shape[0], n_outputs):
        raise InputError(f"y must have shape {(X.shape[0], n_outputs)}, got {tuple(y.shape)}")
    weights = sample.weights
    if weights is None:
        weights = xp.full((X.shape[0],), 1.0 / X.shape[0], dtype=X.dtype, **_device(X))
    plain = check_array(to_numpy(weights), "weights", shape=(X.shape[0],))
    if np.min(plain) < 0.0 or abs(float(np.sum(plain)) - 1.0) > 1e-6:
        raise InputError("weights must be nonnegative with sum 1")
    return Sample(X, y, weights, sample.directions, sample.is_exact)


def _device(X: Any) -> dict[str, Any]:
    """Return the keyword that keeps new arrays next to X."""
    return {} if isinstance(X, (np.ndarray, LargeRows)) else {"device": X.device}


def _complement(directions: FloatArray) -> FloatArray:
    """Return an orthonormal basis, as rows, of everything orthogonal to orthonormal rows."""
    basis: FloatArray = null_space(directions).T
    return basis
