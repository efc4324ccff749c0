"""What the spectral laws answer: edges, outliers and thresholds, each with its kind and an error estimate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray

__all__ = ["Edge", "Edges", "FiniteOutlier", "Outlier", "Threshold"]


@dataclass(frozen=True)
class Edge(ResultRepr):
    """One end of the bulk.

    Parameters
    ----------
    value : float
        The end; infinite where the weights are unbounded on this side.
    kind : {"soft", "support", "none"}
        "soft": the density vanishes like a square root there.  "support": set by the extreme weight alone, because
        the law of the weights is thin there.  "none": the weights are unbounded and there is no edge.
    tau : float
        The Stieltjes transform at the edge, divided by the ratio delta.
    error : float
        Estimate of the error of `value`, from a second resolution; NaN where there is none to compare with.
    """

    value: float
    kind: str
    tau: float
    error: float = float("nan")


@dataclass(frozen=True)
class Edges(ResultRepr):
    """Both ends of the bulk.

    Parameters
    ----------
    left, right : Edge
        The ends.
    """

    left: Edge
    right: Edge


@dataclass(frozen=True, repr=False)
class Outlier(ResultRepr):
    """An eigenvalue outside the bulk, caused by a planted direction.

    Parameters
    ----------
    value : float
        Its limit.
    side : {"left", "right"}
        Side of the bulk.
    overlap : float
        Squared length of the projection of its unit eigenvector on the planted directions (and, for neuron blocks,
        summed over the neurons).
    direction : ndarray of shape (k,) or (m, k)
        Unit vector along that projection; its sign is arbitrary.
    tau : float or ndarray of shape (m, m)
        The Stieltjes transform there, divided by the ratio delta for scalar weights.
    error : float
        Estimate of the error of `value`.
    overlap_error : float
        Estimate of the error of `overlap`.
    """

    value: float
    side: str
    overlap: float
    direction: FloatArray
    tau: float | FloatArray
    error: float = float("nan")
    overlap_error: float = float("nan")


@dataclass(frozen=True)
class FiniteOutlier(ResultRepr):
    """An outlier in d dimensions.

    Parameters
    ----------
    mean, deviation : float
        Mean and standard deviation of the sorted eigenvalue.
    limit : float
        Where it is as d goes to infinity.
    cluster_size : int
        Number of outliers that come close to each other in d dimensions and repel each other, this one included; 1 for
        an outlier by itself.  The mean over the cluster is that of the limits.
    """

    mean: float
    deviation: float
    limit: float
    cluster_size: int


@dataclass(frozen=True)
class Threshold(ResultRepr):
    """The ratio delta = samples / dimensions from which on an informative outlier exists.

    Parameters
    ----------
    value : float
        Start of the last interval of delta with an outlier, which mostly has no end; infinite when there is none.
    kind : {"soft", "support", "none"}
        Kind of the edge that the outlier leaves there; "none" when the value is infinite.
    roots : tuple of float
        Every delta at which the outlier appears or disappears, ascending.
    intervals : tuple of (float, float)
        The values of delta with an outlier.
    bracket : tuple of (float, float)
        Interval that held `value` in the last step of the search.
    error : float
        Estimate of the error of `value`, from a second resolution.
    reason : str
        Why there is no finite threshold; empty otherwise.
    """

    value: float
    kind: str
    roots: tuple[float, ...] = ()
    intervals: tuple[tuple[float, float], ...] = ()
    bracket: tuple[float, float] = (np.nan, np.nan)
    error: float = float("nan")
    reason: str = field(default="")

    @property
    def is_finite(self) -> bool:
        """Whether there is a finite threshold."""
        return bool(np.isfinite(self.value))
