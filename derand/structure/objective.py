"""Regularised risk of a network, with exact derivatives, and the identity between its first weights and biases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from derand._utils.arrays import array_namespace, to_numpy
from derand._utils.reductions import dot
from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError
from derand.structure.backprop import Tape, unit_column
from derand.structure.large import LargeRows
from derand.structure.losses import Loss, check_targets, make_loss
from derand.structure.network import Network
from derand.structure.samples import Sample, check_sample
from derand.structure.subspace import split_weights

__all__ = ["FirstLayer", "NetworkObjective"]

# Floats kept for the passes of one chunk; a sample that fits is kept from the gradient to the Hessian products.
_CHUNK_FLOATS = 4_000_000


class FirstLayer(NamedTuple):
    """What the theory needs to know of a point.

    Attributes
    ----------
    W : ndarray of shape (m, d)
        First-layer weights.
    gradient : ndarray of shape (m, d)
        Derivative of the objective by W, the decay included.
    bias_hessian : ndarray of shape (m, m)
        Second derivative H_b of the objective by the first-layer biases, whether or not they are trained.
    """

    W: FloatArray
    gradient: FloatArray
    bias_hessian: FloatArray


class NetworkObjective:
    r"""F = sum_i weights_i l(f(x_i), y_i) + lam ||W_1||_F^2 as a function of the trained parameters.

    The methods are those that `minimize_sosp` wants.  Only the first layer decays, as in the paper, unless `rest_decay`
    says otherwise.  Where all layers are trained and only the first one decays, F may have no minimum: W_1 to 0 and
    W_2 to infinity keep f, nearly, and lose the penalty.  A search then drifts, W_perp tends to 0, but so does W_1; a
    decay of the later weights, however small, gives F a minimum and changes nothing in the identity below, since it
    doesn't depend on W_1 and b_1.

    For Gaussian inputs and a teacher of directions U, Stein's identity across U gives at *every* point, stationary or
    not, trained biases or not,

    .. math:: \nabla_{W_\perp} F = (H_b + 2\lambda I) W_\perp, \qquad H_b = \nabla^2_{b_1 b_1} F .

    Parameters
    ----------
    network : Network
        The architecture.
    sample : Sample
        Inputs, targets and weights; arrays of NumPy, torch or any library that follows the array API standard.  The
        computation happens in that library; parameter vectors are NumPy arrays.
    loss : str or Loss, default "squared"
        See `derand.structure.make_loss`.
    lam : float, default 1e-3
        Decay of the first layer, >= 0.
    frozen : sequence of str, default ()
        Blocks that aren't trained, see `Network.mask`.
    rest_decay : float, default 0.0
        Decay of the weights of the later layers, >= 0.
    base : ndarray of shape (n_parameters,), optional
        Values of the frozen parameters; needed where there are any.

    Attributes
    ----------
    n_variables : int
        Number of trained parameters.

    Raises
    ------
    InputError
        If shapes don't fit, the targets don't suit the loss, weights are negative or don't add up to 1, or frozen
        parameters have no values.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    A gradient costs about three forward passes, a Hessian product six; both work through the sample in chunks, in a
    fixed order, and are deterministic.

    References
    ----------
    arXiv:2510.19382, theorems 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> network = Network(1, 1, activation="square")
    >>> objective = NetworkObjective(network, Sample(np.array([[2.0]]), np.array([3.0])), lam=0.5)
    >>> value, gradient = objective.value_and_grad(np.array([1.0, 0.0, 1.0, 0.0]))  # (4 - 3)^2 / 2 + 1/2
    >>> value, gradient.tolist()
    (1.0, [9.0, 4.0, 4.0, 1.0])
    """

    def __init__(
        self,
        network: Network,
        sample: Sample,
        *,
        loss: str | Loss = "squared",
        lam: float = 1e-3,
        rest_decay: float = 0.0,
        frozen: Sequence[str] = (),
        base: Any = None,
    ) -> None:
        self.network, self.loss = network, make_loss(loss)
        self.lam = check_scalar(lam, "lam", low=0.0, high=math.inf, high_open=True)
        self.rest_decay = check_scalar(rest_decay, "rest_decay", low=0.0, high=math.inf, high_open=True)
        self._decay = np.zeros(network.n_parameters)
        for name in network.names[::2]:
            self._decay[network.slice_of(name)] = self.lam if name == "W1" else self.rest_decay
        self.sample = check_sample(sample, network.widths[0], network.widths[-1])
        check_targets(self.loss, to_numpy(self.sample.y))
        self.frozen = tuple(frozen)
        self._trained = network.mask(frozen)
        self.n_variables = int(np.count_nonzero(self._trained))
        if self.n_variables == 0:
            raise InputError("frozen must leave at least one parameter to train")
        if base is None and self.n_variables < network.n_parameters:
            raise InputError("base must give the values of the frozen parameters")
        start = np.zeros(network.n_parameters) if base is None else base
        self._base = check_array(start, "base", shape=(network.n_parameters,)).copy()
        per_point = 6 * sum(network.widths)
        self._chunk = max(1, _CHUNK_FLOATS // per_point)
        self._kept: tuple[bytes, Tape, Any] | None = None

    def full(self, x: Any) -> FloatArray:
        """Return the vector of all parameters, the frozen ones included.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            Trained parameters.

        Returns
        -------
        ndarray of shape (n_parameters,)
            All parameters.

        Raises
        ------
        InputError
            If x has the wrong shape or isn't finite.
        """
        parameters = self._base.copy()
        parameters[self._trained] = check_array(x, "x", shape=(self.n_variables,))
        return parameters

    def restrict(self, parameters: Any) -> FloatArray:
        """Return the trained ones among all parameters, or among their derivatives.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            One number for each parameter.

        Returns
        -------
        ndarray of shape (n_variables,)
            The variables.

        Raises
        ------
        InputError
            If the vector has the wrong shape.
        """
        variables: FloatArray = check_array(parameters, "parameters", shape=(self.network.n_parameters,))[self._trained]
        return variables

    def value(self, x: Any) -> float:
        """Return F.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            Trained parameters.

        Returns
        -------
        float
            The regularised risk.

        Raises
        ------
        InputError
            If an argument has the wrong shape or isn't finite.
        """
        parameters = self.full(x)
        risk = 0.0
        for part in self._parts():
            tape = Tape(self.network.layers_like(parameters, part.X), part.X, self.network.activation, 0)
            risk += self._mean(part, self.loss.value(tape.output, part.y))
        return risk + self._penalty(parameters)

    def value_and_grad(self, x: Any) -> tuple[float, FloatArray]:
        """Return F and its gradient.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            Trained parameters.

        Returns
        -------
        value : float
            The regularised risk.
        gradient : ndarray of shape (n_variables,)
            Its derivative.

        Raises
        ------
        InputError
            If an argument has the wrong shape or isn't finite.
        """
        parameters = self.full(x)
        risk, total = 0.0, np.zeros(self.network.n_parameters)
        for part in self._parts():
            tape, dloss = self._tape(parameters, part, order=1)
            risk += self._mean(part, self.loss.value(tape.output, part.y))
            total += self.network.pack(tape.gradient(dloss))
        total += 2.0 * self._decay * parameters
        return risk + self._penalty(parameters), total[self._trained]

    def hessp(self, x: Any, v: Any) -> FloatArray:
        """Return the Hessian times a vector.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            Trained parameters.
        v : ndarray of shape (n_variables,)
            Direction.

        Returns
        -------
        ndarray of shape (n_variables,)
            The product.

        Raises
        ------
        InputError
            If an argument has the wrong shape or isn't finite.
        """
        direction = np.zeros(self.network.n_parameters)
        direction[self._trained] = check_array(v, "v", shape=(self.n_variables,))
        product: FloatArray = self._full_hessp(self.full(x), direction)[self._trained]
        return product

    def first_layer(self, x: Any) -> FirstLayer:
        """Return first-layer weights, their gradient, and the Hessian block of the first biases.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            Trained parameters.

        Returns
        -------
        FirstLayer
            The three matrices.

        Raises
        ------
        InputError
            If an argument has the wrong shape or isn't finite.

        Notes
        -----
        For two layers H_b is two matrix products; for deeper ones it takes m Hessian products.
        """
        parameters = self.full(x)
        m, d = self.network.shapes[0]
        gradient = np.zeros((m, d))
        for part in self._parts():
            tape, dloss = self._tape(parameters, part, order=1)
            gradient += to_numpy(tape.gradient(dloss)[0][0])
        W = parameters[self.network.slice_of("W1")].reshape(m, d)
        hessian = self._two_layer_block(parameters) if self.network.depth == 2 else self._deep_block(parameters)
        return FirstLayer(W, gradient + 2.0 * self.lam * W, hessian)

    def slope_error(self, x: Any, directions: Any) -> float:
        """Return the standard error of the gradient of the risk by the first weights, across given directions.

        The square root of sum_i weights_i^2 |delta_i|^2 |x_i across|^2, delta the derivative of one loss by the first
        pre-activations: the size that sampling alone gives to a gradient whose mean is zero.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            Trained parameters.
        directions : array_like of shape (k, d)
            Linearly independent rows.

        Returns
        -------
        float
            The standard error, in the Frobenius norm.

        Raises
        ------
        InputError
            If an argument has the wrong shape or isn't finite.
        """
        parameters, total = self.full(x), 0.0
        for part in self._parts():
            tape, dloss = self._tape(parameters, part, order=1)
            delta, across = to_numpy(tape.first_deltas(dloss)[0]), split_weights(to_numpy(part.X), directions)[1]
            total += dot(np.sum(delta**2, axis=1), np.sum(across**2, axis=1))
        return math.sqrt(total)

    def _two_layer_block(self, parameters: FloatArray) -> FloatArray:
        """Return H_b = E[D W2' l'' W2 D + diag((W2' l') phi'')], D = diag(phi'(z))."""
        m = self.network.widths[1]
        block = np.zeros((m, m))
        for part in self._parts():
            tape, dloss = self._tape(parameters, part)
            weights = array_namespace(part.X).reshape(part.weights, (-1, 1))
            _, pulled = tape.first_deltas(dloss)
            diagonal = array_namespace(part.X).sum(pulled * tape.curvatures[0], axis=0)
            block += np.diag(to_numpy(diagonal))
            W2 = tape.layers[1][0]
            for c in range(self.network.widths[-1]):
                row = self.loss.hessian_product(tape.output, part.y, unit_column(tape.output, c))
                left, right = (weights * row) @ W2 * tape.slopes[0], W2[c : c + 1, :] * tape.slopes[0]
                block += to_numpy(right.T @ left)
        return 0.5 * (block + block.T)

    def _deep_block(self, parameters: FloatArray) -> FloatArray:
        """Return H_b column by column, from Hessian products."""
        where = self.network.slice_of("b1")
        m = self.network.widths[1]
        block = np.empty((m, m))
        for j in range(m):
            direction = np.zeros(self.network.n_parameters)
            direction[where.start + j] = 1.0
            block[:, j] = self._full_hessp(parameters, direction)[where]
        return 0.5 * (block + block.T)

    def _full_hessp(self, parameters: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian in all parameters times a vector."""
        total = np.zeros(self.network.n_parameters)
        for part in self._parts():
            tape = self._tape_with_gradient(parameters, part)
            moves = self.network.layers_like(direction, part.X)
            tangent = tape.tangent(moves)
            weights = array_namespace(part.X).reshape(part.weights, (-1, 1))
            dslope = weights * self.loss.hessian_product(tape.output, part.y, tangent[0])
            total += self.network.pack(tape.hessian_product(moves, tangent, dslope))
        return total + 2.0 * self._decay * direction

    def _tape_with_gradient(self, parameters: FloatArray, part: Sample) -> Tape:
        """Return the passes for Hessian products; kept for the next product where the sample is one chunk."""
        key = parameters.tobytes()
        if self._kept is not None and self._kept[0] == key and part.X is self.sample.X:
            return self._kept[1]
        tape, dloss = self._tape(parameters, part)
        tape.first_deltas(dloss)
        if part.X is self.sample.X:
            self._kept = (key, tape, None)
        return tape

    def _tape(self, parameters: FloatArray, part: Sample, order: int = 2) -> tuple[Tape, Any]:
        """Return the forward pass and the weighted derivative of the loss."""
        tape = Tape(self.network.layers_like(parameters, part.X), part.X, self.network.activation, order)
        weights = array_namespace(part.X).reshape(part.weights, (-1, 1))
        return tape, weights * self.loss.gradient(tape.output, part.y)

    def _parts(self) -> Iterator[Sample]:
        """Yield the chunks of the sample."""
        whole = self.sample
        if whole.n <= self._chunk and not isinstance(whole.X, LargeRows):
            yield whole
            return
        for begin in range(0, whole.n, self._chunk):
            cut = slice(begin, begin + self._chunk)
            yield Sample(whole.X[cut, :], whole.y[cut, :], whole.weights[cut])

    def _mean(self, part: Sample, losses: Any) -> float:
        """Return the weighted sum of losses."""
        return float(array_namespace(losses).sum(part.weights * losses))

    def _penalty(self, parameters: FloatArray) -> float:
        """Return lam ||W_1||^2 and the decay of the later layers."""
        return dot(self._decay * parameters, parameters)
