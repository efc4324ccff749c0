"""The two-layer network, its risk, gradient blocks and Hessian blocks, sample by sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.spectral.activations import SmoothFunction, as_activation
from derand.spectral.losses import Loss, as_loss

__all__ = ["Network", "make_network"]


@dataclass(frozen=True)
class Network:
    r"""Network :math:`f(x) = \frac1m \sum_j a_j s(\theta_j \cdot x + b_j)` with a loss.

    All arrays of fields have shape (m, n): neurons by samples.

    Parameters
    ----------
    activation : SmoothFunction
        The function s.
    loss : Loss
        The loss l(f, y).
    a, b : ndarray of shape (m,)
        Second layer and biases, which stay fixed.
    """

    activation: SmoothFunction
    loss: Loss
    a: FloatArray
    b: FloatArray

    @property
    def m(self) -> int:
        """Number of neurons."""
        return len(self.a)

    def output(self, u: FloatArray) -> FloatArray:
        """Return f, shape (n,), at fields u = theta . x."""
        return np.asarray(self.a @ self.activation.value(u + self.b[:, None])) / self.m

    def risk(self, u: FloatArray, y: FloatArray) -> float:
        """Return the mean loss."""
        return float(np.mean(self.loss.l(self.output(u), y)))

    def force(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Return L_j = a_j l'(f, y) s'(u_j + b_j), m times the derivative of the loss in u_j."""
        slope = self.activation.first(u + self.b[:, None])
        return np.asarray(self.a[:, None] * self.loss.dl(self.output(u), y) * slope)

    def blocks(self, u: FloatArray, y: FloatArray) -> FloatArray:
        r"""Return the Hessian blocks, which are also the derivative of `force` in u.

        :math:`S = \mathrm{diag}(a_j l' s''_j) + \frac{l''}{m} (a s')(a s')^\top`; m times the Hessian of the risk is
        :math:`\frac1n \sum_i S_i \otimes x_i x_i^\top`.

        Parameters
        ----------
        u : ndarray of shape (m, n)
            Fields theta . x.
        y : ndarray of shape (n,)
            Responses.

        Returns
        -------
        ndarray of shape (n, m, m)
            Symmetric.
        """
        shifted = u + self.b[:, None]
        f = np.asarray(self.a @ self.activation.value(shifted)) / self.m
        slope = self.a[:, None] * self.activation.first(shifted)
        diagonal = self.a[:, None] * self.loss.dl(f, y) * self.activation.second(shifted)
        S = (self.loss.ddl(f, y) / self.m) * slope[:, None, :] * slope[None, :, :]
        index = np.arange(self.m)
        S[index, index] += diagonal
        return np.ascontiguousarray(S.transpose(2, 0, 1))


def make_network(activation: Any, loss: Any, m: int, a: Any = None, b: Any = None) -> Network:
    """Return a checked network.

    Parameters
    ----------
    activation : str or SmoothFunction
        See `as_activation`.
    loss : str or Loss
        See `as_loss`.
    m : int
        Number of neurons.
    a : array_like of shape (m,), optional
        Second layer; ones by default.
    b : array_like of shape (m,), optional
        Biases; zeros by default.

    Returns
    -------
    Network
        The network.

    Raises
    ------
    InputError
        If a shape or number is wrong.

    Examples
    --------
    >>> net = make_network("half-quad", "square", 1)
    >>> net.blocks(np.array([[2.0]]), np.array([1.0])).tolist()  # (f - y) s'' + s'^2 = 1 + 4
    [[[5.0]]]
    """
    if isinstance(m, float) and math.isinf(m):
        raise InputError("m must be finite here; infinite width is for nn_threshold at t = 0")
    m = check_int(m, "m", low=1)
    a = np.ones(m) if a is None else check_array(a, "a", shape=(m,))
    b = np.zeros(m) if b is None else check_array(b, "b", shape=(m,))
    return Network(as_activation(activation), as_loss(loss), a, b)
