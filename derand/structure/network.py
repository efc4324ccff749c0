"""Fully connected networks: architecture, layout of the parameters in one vector, random starts, outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from derand._utils.arrays import as_like, to_numpy
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option
from derand.exceptions import InputError, InputTypeError
from derand.structure.activations import HiddenActivation, ThreeDerivatives, make_activation
from derand.structure.backprop import Layers, Tape

__all__ = ["Network"]

_INITS = ("fan_in", "mean_field")


class Network:
    r"""Fully connected network :math:`f(x) = W_L \phi(\cdots \phi(W_1 x + b_1) \cdots) + b_L`.

    Parameters
    ----------
    n_inputs : int
        Dimension d of the inputs, at least 1.
    hidden : int or sequence of int
        Widths of the hidden layers; depth L is one more than their number, so a number gives a two-layer network.
    n_outputs : int, default 1
        Number c of outputs.
    activation : str or object, default "softplus"
        See `derand.structure.make_activation`.
    iota : float, default 1.0
        Sharpness of "softplus".

    Attributes
    ----------
    widths : tuple of int
        (d, hidden widths..., c).
    depth : int
        Number L of layers of weights.
    names : tuple of str
        "W1", "b1", ..., in the order of the parameter vector.
    n_parameters : int
        Length of the parameter vector.

    Raises
    ------
    InputError
        If a width is below 1 or the activation's name is unknown.
    InputTypeError
        If a width isn't an integer.

    Examples
    --------
    >>> network = Network(2, 3)
    >>> network.names, network.n_parameters
    (('W1', 'b1', 'W2', 'b2'), 13)
    >>> float(network.outputs(network.random_parameters(rng=0), [[0.0, 0.0]]).shape[1])
    1.0
    """

    def __init__(
        self,
        n_inputs: int,
        hidden: int | Sequence[int],
        n_outputs: int = 1,
        *,
        activation: str | ThreeDerivatives | HiddenActivation = "softplus",
        iota: float = 1.0,
    ) -> None:
        inner: list[Any] = list(hidden) if isinstance(hidden, Sequence) else [hidden]
        checked = [check_int(width, "hidden", low=1) for width in inner]
        self.widths = (
            check_int(n_inputs, "n_inputs", low=1),
            *checked,
            check_int(n_outputs, "n_outputs", low=1),
        )
        if len(self.widths) < 3:
            raise InputError("hidden must hold at least one width")
        self.depth = len(self.widths) - 1
        self.activation = make_activation(activation, iota=iota)
        self.names = tuple(f"{kind}{layer}" for layer in range(1, self.depth + 1) for kind in "Wb")
        shapes: list[tuple[int, ...]] = []
        for below, above in zip(self.widths[:-1], self.widths[1:], strict=True):
            shapes += [(above, below), (above,)]
        self.shapes = tuple(shapes)
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        self._slices = tuple(
            slice(int(end) - math.prod(shape), int(end)) for end, shape in zip(ends, shapes, strict=True)
        )
        self.n_parameters = int(ends[-1])

    def __repr__(self) -> str:
        """Return the widths and the activation."""
        return f"Network({'-'.join(map(str, self.widths))}, {self.activation.name})"

    def slice_of(self, name: str) -> slice:
        """Return where a block, such as "W1" or "b2", lies in the parameter vector.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        slice
            Its place; the block is stored row by row.

        Raises
        ------
        InputError
            If there's no such block.
        """
        return self._slices[self.names.index(check_option(name, "name", self.names))]

    def unpack(self, parameters: Any) -> list[tuple[FloatArray, FloatArray]]:
        """Return views of the weights (m_l, m_{l-1}) and biases (m_l,) of each layer.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            The vector.

        Returns
        -------
        list of (ndarray, ndarray)
            From the first layer to the last.

        Raises
        ------
        InputError
            If the vector has the wrong length or isn't finite.
        InputTypeError
            If it isn't an array of real numbers.
        """
        vector = check_array(parameters, "parameters", shape=(self.n_parameters,))
        blocks = [vector[where].reshape(shape) for where, shape in zip(self._slices, self.shapes, strict=True)]
        return list(zip(blocks[::2], blocks[1::2], strict=True))

    def pack(self, layers: Sequence[tuple[Any, Any]]) -> FloatArray:
        """Return the parameter vector of given layers, the inverse of `unpack`.

        Parameters
        ----------
        layers : sequence of (W, b)
            Weights and biases of each layer, of any array library.

        Returns
        -------
        ndarray of shape (n_parameters,)
            The vector.

        Raises
        ------
        InputError
            If a shape doesn't fit.
        """
        arrays = [to_numpy(block) for layer in layers for block in layer]
        if [array.shape for array in arrays] != list(self.shapes):
            raise InputError(f"layers must have shapes {self.shapes}, got {[a.shape for a in arrays]}")
        return np.concatenate([array.ravel() for array in arrays])

    def layers_like(self, parameters: FloatArray, reference: Any) -> Layers:
        """Return the layers in the library, data type and device of a reference array.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            The vector.
        reference : array
            Of the library wanted.

        Returns
        -------
        list of (array, array)
            Weights and biases.
        """
        return [(as_like(W, reference), as_like(b, reference)) for W, b in self.unpack(parameters)]

    def outputs(self, parameters: Any, X: Any) -> Any:
        """Return f at given inputs.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            The vector.
        X : array of shape (n, d)
            Inputs, of any array library, or array_like.

        Returns
        -------
        array of shape (n, c)
            Outputs, in the library of X.

        Raises
        ------
        InputError
            If a shape doesn't fit.
        """
        inputs = check_array(X, "X", ndim=2) if isinstance(X, (list, tuple, np.ndarray)) else X
        if inputs.ndim != 2 or inputs.shape[1] != self.widths[0]:
            raise InputError(f"X must have shape (n, {self.widths[0]}), got {tuple(inputs.shape)}")
        return Tape(self.layers_like(parameters, inputs), inputs, self.activation, 0).output

    def random_parameters(self, *, init: str = "fan_in", bias_scale: float = 1.0, rng: RNGLike = None) -> FloatArray:
        """Return a random start.

        "fan_in" draws the weights of each layer from N(0, 1/m_{l-1}), which keeps activations of size one, and hidden
        biases from N(0, bias_scale^2).  "mean_field" draws the output weights and the hidden biases from N(0, 1/m^2), m
        the width of the hidden layer, as the experiment published with arXiv:2510.19382 does.  The output bias is 0.

        Parameters
        ----------
        init : {"fan_in", "mean_field"}, default "fan_in"
            Distribution.
        bias_scale : float, default 1.0
            Standard deviation of hidden biases for "fan_in".
        rng : int, Generator or None
            Random stream.

        Returns
        -------
        ndarray of shape (n_parameters,)
            The parameters.

        Raises
        ------
        InputError
            If init is unknown.
        InputTypeError
            If rng is no seed.
        """
        check_option(init, "init", _INITS)
        generator = check_rng(rng)
        blocks: list[FloatArray] = []
        for layer, (below, above) in enumerate(zip(self.widths[:-1], self.widths[1:], strict=True), start=1):
            is_last = layer == self.depth
            small = init == "mean_field"
            scale = 1.0 / below if small and is_last else 1.0 / math.sqrt(below)
            blocks.append(scale * generator.standard_normal(above * below))
            width = 1.0 / above if small else bias_scale
            blocks.append(np.zeros(above) if is_last else width * generator.standard_normal(above))
        return np.concatenate(blocks)

    def mask(self, frozen: Sequence[str]) -> Any:
        """Return which parameters are trained.

        Parameters
        ----------
        frozen : sequence of str
            Blocks that keep their values: names such as "b1", or "biases" for all hidden biases, or "output" for the
            weights and biases of the last layer.

        Returns
        -------
        ndarray of bool, shape (n_parameters,)
            True where a parameter is trained.

        Raises
        ------
        InputError
            If a name is unknown.
        InputTypeError
            If a single string is given in place of a sequence.
        """
        if isinstance(frozen, str):
            raise InputTypeError("frozen must be a sequence of block names, such as ('b1',)")
        groups = {
            "biases": [name for name in self.names[:-2] if name[0] == "b"],
            "output": list(self.names[-2:]),
        }
        trained = np.ones(self.n_parameters, dtype=bool)
        for item in frozen:
            for name in groups.get(item, [item]):
                trained[self.slice_of(name)] = False
        return trained
