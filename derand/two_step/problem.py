"""Gaussian data and weights, the problem that two steps are studied on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import result_html
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError

__all__ = ["Problem", "random_problem"]


class Problem(NamedTuple):
    """Data and weights at the start.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Standard normal inputs.
    y : ndarray of shape (n,)
        Labels.
    W0 : ndarray of shape (N, d)
        First layer, entries N(0, 1/d).
    a0 : ndarray of shape (N,)
        Second layer, entries N(0, 1/N).
    directions : ndarray of shape (K, d)
        The target's directions, orthonormal.
    """

    X: FloatArray
    y: FloatArray
    W0: FloatArray
    a0: FloatArray
    directions: FloatArray

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def random_problem(
    n_neurons: int, n_inputs: int, n_samples: int, links: Any, *, noise: float = 0.0, rng: RNGLike = None
) -> Problem:
    """Return Gaussian data with labels sum_k g_k(x_k) + noise, and Gaussian weights.

    Parameters
    ----------
    n_neurons, n_inputs, n_samples : int
        N, d and n.
    links : callable or sequence of callable
        g_k; the k-th direction is the k-th unit vector.
    noise : float, default 0.0
        Standard deviation of the label noise.
    rng : seed or Generator
        Random stream.

    Returns
    -------
    Problem
        Data, weights and directions.

    Raises
    ------
    InputError
        If an argument is out of range, or there are more links than inputs.
    InputTypeError
        If a link isn't a function.

    Examples
    --------
    >>> problem = random_problem(30, 20, 40, [np.tanh], rng=0)
    >>> bool(np.allclose(problem.y, np.tanh(problem.X @ problem.directions[0])))
    True
    """
    n_neurons = check_int(n_neurons, "n_neurons", low=1)
    d, n = check_int(n_inputs, "n_inputs", low=1), check_int(n_samples, "n_samples", low=1)
    noise = check_scalar(noise, "noise", low=0.0, high=math.inf, high_open=True)
    functions = [links] if callable(links) else list(links)
    for k, link in enumerate(functions):
        if not callable(link):
            raise InputTypeError(f"links[{k}] must be a function of an array, got {type(link).__name__}")
    if not 1 <= len(functions) <= d:
        raise InputError(f"links must hold between 1 and n_inputs = {d} functions, got {len(functions)}")
    generator = check_rng(rng)
    X = generator.standard_normal((n, d))
    W0 = generator.standard_normal((n_neurons, d)) / math.sqrt(d)
    a0 = generator.standard_normal(n_neurons) / math.sqrt(n_neurons)
    y = noise * generator.standard_normal(n)
    for k, link in enumerate(functions):
        y = y + check_array(link(X[:, k]), f"links[{k}](z)", shape=(n,))
    return Problem(X, check_array(y, "y", shape=(n,)), W0, a0, np.eye(len(functions), d))
