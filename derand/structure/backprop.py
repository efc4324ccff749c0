"""Reverse mode of fully connected networks, and its derivative along a direction, by hand in array API operations.

With a_0 = X, z_l = a_{l-1} W_l' + b_l, a_l = phi(z_l) and the output f = z_L, one pass back gives

    delta_L = dloss/df,   e_l = delta_{l+1} W_{l+1},   delta_l = e_l phi'(z_l),   dW_l = delta_l' a_{l-1},
    db_l = sum delta_l,

and differentiating each line along (V, u) gives the Hessian product (Pearlmutter's R-operator).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.arrays import array_namespace
from derand.structure.activations import HiddenActivation

__all__ = ["Layers", "Tape", "unit_column"]

#: Weights (m_l, m_{l-1}) and biases (m_l,) of each layer, arrays of one library.
Layers = list[tuple[Any, Any]]


class Tape:
    """The forward pass of one batch, kept for the passes back.

    Parameters
    ----------
    layers : list of (W, b)
        The parameters.
    X : array of shape (n, d)
        Inputs.
    activation : HiddenActivation
        Applied after every layer but the last.
    order : int, default 2
        0 for outputs only, 1 for gradients, 2 for Hessian products.

    References
    ----------
    B. A. Pearlmutter (1994), Fast exact multiplication by the Hessian, Neural Computation 6, 147-160.
    """

    def __init__(self, layers: Layers, X: Any, activation: HiddenActivation, order: int = 2) -> None:
        self.layers = layers
        self.inputs = [X]
        self.slopes: list[Any] = []
        self.curvatures: list[Any] = []
        self._deltas: list[Any] = []
        self._pulled: list[Any] = []
        for W, b in layers[:-1]:
            jet = activation.jet(self.inputs[-1] @ W.T + b, order)
            self.inputs.append(jet[0])
            if order > 0:
                self.slopes.append(jet[1])
            if order > 1:
                self.curvatures.append(jet[2])
        W, b = layers[-1]
        self.output = self.inputs[-1] @ W.T + b

    def gradient(self, dloss: Any) -> Layers:
        """Return the gradient of every layer's weights and biases.

        Parameters
        ----------
        dloss : array of shape (n, c)
            Derivative of the (weighted) loss of every sample by its outputs.

        Returns
        -------
        list of (array, array)
            In the order of the layers.
        """
        self._pull_back(dloss)
        return [
            (delta.T @ a, array_namespace(delta).sum(delta, axis=0))
            for delta, a in zip(self._deltas, self.inputs, strict=True)
        ]

    def first_deltas(self, dloss: Any) -> tuple[Any, Any]:
        """Return (delta_1, e_1): derivatives of the loss by the first layer's pre-activations and activations."""
        self._pull_back(dloss)
        pulled = self._pulled[0] if self._pulled else dloss
        return self._deltas[0], pulled

    def _pull_back(self, dloss: Any) -> None:
        """Compute delta_l and e_l from the last layer to the first."""
        deltas, pulled = [dloss], []
        for (W, _), slope in zip(self.layers[:0:-1], self.slopes[::-1], strict=True):
            e = deltas[-1] @ W
            pulled.append(e)
            deltas.append(e * slope)
        self._deltas, self._pulled = deltas[::-1], pulled[::-1]

    def tangent(self, directions: Layers) -> tuple[Any, list[Any], list[Any]]:
        """Return the derivatives of the output, of the hidden z_l and of their activations along a direction.

        Parameters
        ----------
        directions : list of (V, u)
            Direction in the parameters, shaped like the layers.

        Returns
        -------
        output : array of shape (n, c)
            Derivative of f.
        pre, post : list of array
            Derivatives of z_l and of a_l, l = 1..L-1.
        """
        V, u = directions[0]
        z = self.inputs[0] @ V.T + u
        pre: list[Any] = []
        post: list[Any] = []
        for index in range(1, len(self.layers)):
            pre.append(z)
            post.append(self.slopes[index - 1] * z)
            V, u = directions[index]
            z = self.inputs[index] @ V.T + u + post[-1] @ self.layers[index][0].T
        return z, pre, post

    def hessian_product(self, directions: Layers, tangent: tuple[Any, list[Any], list[Any]], dslope: Any) -> Layers:
        """Return the derivative of the gradient along a direction; `gradient` must have been called before.

        Parameters
        ----------
        directions : list of (V, u)
            The direction.
        tangent : tuple
            What `tangent` returned for it.
        dslope : array of shape (n, c)
            Derivative of ``dloss`` along it: second derivative of the loss times the output's tangent.

        Returns
        -------
        list of (array, array)
            The product, shaped like the layers.
        """
        _, pre, post = tangent
        products: Layers = []
        moved = dslope
        for index in range(len(self.layers) - 1, -1, -1):
            delta, a = self._deltas[index], self.inputs[index]
            dW = moved.T @ a
            if index > 0:
                dW = dW + delta.T @ post[index - 1]
            products.append((dW, array_namespace(moved).sum(moved, axis=0)))
            if index > 0:
                W, V = self.layers[index][0], directions[index][0]
                e = self._pulled[index - 1]
                moved = (moved @ W + delta @ V) * self.slopes[index - 1]
                moved = moved + e * self.curvatures[index - 1] * pre[index - 1]
        return products[::-1]


def unit_column(output: Any, c: int) -> Any:
    """Return an array like the outputs with ones in one column, else zeros."""
    rows = np.zeros(tuple(output.shape))
    rows[:, c] = 1.0
    if isinstance(output, np.ndarray):
        return rows
    return array_namespace(output).asarray(rows, dtype=output.dtype, device=output.device)
