"""Which way to take a Gaussian expectation, and the nodes for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.validation import check_option
from derand.exceptions import InputError, InputTypeError
from derand.gaussian.qmc import monte_carlo_normal, sobol_normal
from derand.gaussian.quadrature import tensor_gauss_hermite
from derand.objectives.nodes import NodeSet
from derand.objectives.protocol import Integrand
from derand.objectives.sums import has_closed_form

__all__ = ["SAMPLES_PER_DIMENSION", "build_nodes", "choose_expectation", "default_size"]

EXPECTATIONS = ("auto", "exact", "quadrature", "qmc", "mc")
MAX_GRID_DIMENSION = 3
MAX_SOBOL_DIMENSION = 21_201
# Fewer points than this for each dimension leave Stein's identity wrong by a third and more, whatever the integrand.
SAMPLES_PER_DIMENSION = 40
_GRID_NODES = {1: 128, 2: 64, 3: 40}


def choose_expectation(integrand: Integrand, rank: int, wish: str) -> str:
    """Return the way to take the expectation: the best that is possible for ``"auto"``, else the wish.

    Parameters
    ----------
    integrand : Integrand
        The inner function.
    rank : int
        Number of Gaussians after the reduction.
    wish : {"auto", "exact", "quadrature", "qmc", "mc"}
        What the user asked for.

    Returns
    -------
    str
        One of the last four.

    Raises
    ------
    InputError
        If the wish is unknown, or a grid or Sobol points are asked for in too many dimensions.
    InputTypeError
        If a closed form is asked for and there is none.
    """
    check_option(wish, "expectation", EXPECTATIONS)
    closed = has_closed_form(integrand)
    if wish == "auto":
        if closed:
            return "exact"
        if rank <= MAX_GRID_DIMENSION:
            return "quadrature"
        return "qmc" if rank <= MAX_SOBOL_DIMENSION else "mc"
    if wish == "exact" and not closed:
        raise InputTypeError(f"expectation='exact' needs a closed form, and {type(integrand).__name__} has none")
    if wish == "quadrature" and rank > MAX_GRID_DIMENSION:
        raise InputError(f"expectation='quadrature' works for min(k, d) <= {MAX_GRID_DIMENSION}, got {rank} dimensions")
    if wish == "qmc" and rank > MAX_SOBOL_DIMENSION:
        raise InputError(f"expectation='qmc' works for at most {MAX_SOBOL_DIMENSION} dimensions, got {rank}")
    return wish


def default_size(expectation: str, rank: int) -> int:
    """Return the default number of nodes: for each dimension of a grid, in all for sampled expectations."""
    if expectation == "quadrature":
        return _GRID_NODES[rank]
    # Measured at k = 6, d = 30, lam = 0.02 on cosine sums with periods below |W| at the start: 1024 Sobol points had a
    # stationary point with W away from 0 in 6 of 120 runs, 2048 in 1 of 120.
    lowest = 2048 if expectation == "qmc" else 256
    return max(lowest, 1 << (SAMPLES_PER_DIMENSION * rank - 1).bit_length())


def build_nodes(expectation: str, size: int, rank: int, seed: int, like: Any = None) -> NodeSet:
    """Return the nodes of a rule, the same for the same seed.

    Parameters
    ----------
    expectation : {"quadrature", "qmc", "mc"}
        A tensor Gauss-Hermite rule, scrambled Sobol points or independent draws.
    size : int
        Nodes for each dimension of a tensor rule, in all otherwise.
    rank : int
        Number of Gaussians.
    seed : int
        For the last two.
    like : array, optional
        An array of the library and device that shall hold the nodes.

    Returns
    -------
    NodeSet
        The nodes.
    """
    if expectation == "quadrature":
        return NodeSet.weighted(*tensor_gauss_hermite(size, rank), like)
    draw = sobol_normal if expectation == "qmc" else monte_carlo_normal
    return NodeSet.equal(draw(size, rank, np.random.default_rng(seed)), like)
