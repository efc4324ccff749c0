"""Adam's method, for bounds that are smooth only piecewise and that any iterate proves."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["Adam"]

_MEAN, _SQUARE = 0.9, 0.99


class Adam:
    """Steps of ascent along a running mean of gradients, each entry in units of its running root mean square.

    Parameters
    ----------
    size : int
        Number of variables; `extend` adds more.
    tiny : float, default 1e-14
        What is added to the root mean square: no step where the gradient is 0 throughout.

    References
    ----------
    D. P. Kingma, J. Ba, Adam: a method for stochastic optimization, ICLR 2015, arXiv:1412.6980.

    Examples
    --------
    The first step has the length asked for, whatever the scale of the gradient.

    >>> Adam(2).step(np.array([1e-6, -5.0]), 0.1).round(6).tolist()
    [0.1, -0.1]
    """

    def __init__(self, size: int, tiny: float = 1e-14) -> None:
        self.mean: FloatArray = np.zeros(size)
        self.square: FloatArray = np.zeros(size)
        self.age: FloatArray = np.zeros(size)
        self.tiny = tiny

    def extend(self, count: int) -> None:
        """Add variables, which have seen no gradient yet.

        Parameters
        ----------
        count : int
            How many.
        """
        for name in ("mean", "square", "age"):
            setattr(self, name, np.append(getattr(self, name), np.zeros(count)))

    def step(self, gradient: FloatArray, rate: float) -> FloatArray:
        """Return what to add to the variables.

        Parameters
        ----------
        gradient : ndarray, shape (size,)
            Gradient of what is to grow.
        rate : float
            Length of a step.

        Returns
        -------
        ndarray, shape (size,)
            The step.
        """
        self.age += 1.0
        self.mean = _MEAN * self.mean + (1.0 - _MEAN) * gradient
        self.square = _SQUARE * self.square + (1.0 - _SQUARE) * gradient**2
        size = np.sqrt(self.square / (1.0 - _SQUARE**self.age)) + self.tiny
        step: FloatArray = rate * self.mean / (1.0 - _MEAN**self.age) / size
        return step
