"""Quadrature rules on which a spectral law of a function of Gaussian coordinates is built."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from derand._utils.validation import FloatArray
from derand.spectral.bounds import Range
from derand.spectral.quadrature import gaussian_panels, panel_edges, tensor_panels

__all__ = ["resolved_integrands", "weight_rule"]


def weight_rule(
    dim: int, breakpoints: Sequence[float], edges: FloatArray | None, order: int
) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights for weights that depend on Gaussian coordinates.

    Parameters
    ----------
    dim : int
        Number of coordinates.
    breakpoints : sequence of float
        Kinks along the axes.
    edges : ndarray or None
        Ends of the panels for one coordinate.
    order : int
        Nodes in each panel.

    Returns
    -------
    nodes : ndarray of shape (n, dim)
        Points.
    weights : ndarray of shape (n,)
        Probabilities.
    """
    if dim > 1:
        return tensor_panels(dim, breakpoints, order=order)
    nodes, weights = gaussian_panels(panel_edges(breakpoints) if edges is None else edges, order)
    return nodes[:, None], weights


def resolved_integrands(G: FloatArray, z: FloatArray, bounds: Range) -> FloatArray:
    """Return what a one-dimensional rule has to resolve: G, and T and T^2 close to the ends of tau.

    Parameters
    ----------
    G, z : ndarray of shape (n,)
        Weights and coordinates.
    bounds : Range
        Essential range of the weights.

    Returns
    -------
    ndarray of shape (q, n)
        Integrands.
    """
    rows = []
    for sign, lowest in ((1.0, bounds.low), (-1.0, -bounds.high)):
        if math.isinf(lowest):
            continue
        top = -1.0 / lowest if lowest < 0.0 else 1e3
        for share in (0.3, 0.9, 0.99, 0.999):
            x = sign * G * share * top
            with np.errstate(all="ignore"):
                t = np.where(np.isfinite(x), x / (1.0 + x), 1.0)
            rows += [t, t * t, t * z * z]
    if math.isfinite(bounds.low) and math.isfinite(bounds.high):
        rows.append(G)
    return np.array(rows) if rows else np.ones((1, len(z)))
