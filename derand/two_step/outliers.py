"""Outliers predicted at finite size: from the whole low-rank part and the full-rank part that it stands in."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_option, check_scalar
from derand.exceptions import InputTypeError
from derand.two_step.assumptions import AssumptionWarning
from derand.two_step.bbp import bbp, tracy_widom_quantile
from derand.two_step.bulk import BulkEdge, localised_rows
from derand.two_step.directions import LowRank, low_rank_part
from derand.two_step.dynamics import TwoStepResult
from derand.two_step.full_rank import ProfileBulk, Remainder, ResolventBulk
from derand.two_step.response import Overlaps, known_overlaps, response_weights

__all__ = ["LOCALISED_SHARE", "BoolArray", "OutlierPrediction", "normalised_roots", "predict_outliers"]

#: A singular vector on a smaller share of the neurons than this is localised: an artefact of a few large |a_i|.
#: The powers a, a^2, a^3 of the second layer have the shares 1/3, 1/12 and 1/46.
LOCALISED_SHARE = 0.01
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False, repr=False)
class OutlierPrediction(ResultRepr):
    """Outliers of W2 that its samples predict.

    Attributes
    ----------
    count : int
        Number of outliers that aren't artefacts of a few neurons.
    theta : ndarray of shape (m,)
        Singular values of the low-rank part, descending; the spikes aren't orthogonal, so not the norms of its terms.
    bbp_location : ndarray of shape (m,)
        Where they would be on the undeformed bulk, from `bbp`.
    location : ndarray of shape (k,)
        Singular values of W2 predicted beyond the threshold, descending, artefacts among them.
    participation : ndarray of shape (k,)
        Share of the neurons that the left vectors sit on, 1/(N sum_i u_i^4).
    is_localised : ndarray of bool of shape (k,)
        Which of them are artefacts.
    left_cos2, right_cos2 : ndarray of shape (k,)
        Predicted squared norms of the projections of the singular vectors on the low-rank part's spaces.
    right_vectors : ndarray of shape (k, d)
        Unit vectors along those projections.
    edge : BulkEdge
        Edge of the bulk.
    threshold : float
        What counts as beyond it.
    normalised_location : ndarray of shape (count,)
        Outliers predicted for W2 with rows of norm 1, which ``count`` counts.
    n_own : int
        How many outliers the full-rank part with rows of norm 1 has by itself; ``count`` includes them.
    """

    count: int
    theta: FloatArray
    bbp_location: FloatArray
    location: FloatArray
    participation: FloatArray
    is_localised: BoolArray
    left_cos2: FloatArray
    right_cos2: FloatArray
    right_vectors: FloatArray
    edge: BulkEdge
    threshold: float
    normalised_location: FloatArray
    n_own: int

    @property
    def n_localised(self) -> int:
        """Number of artefacts."""
        return int(np.sum(self.is_localised))


def predict_outliers(
    result: TwoStepResult,
    *,
    kmax: int | None = None,
    memory: bool | None = None,
    bulk: str = "resolvent",
    overlaps: bool = True,
    level: float = 0.999,
) -> OutlierPrediction:
    r"""Return the outliers of W2 that the low-rank part makes in the full-rank part.

    W2 is a low-rank part L R, known from the samples (`low_rank_part`), plus a full-rank part B.  A singular value s
    beyond the bulk solves

    .. math:: \det\left(1 - R\, s(s^2 - B^\top B)^{-1} R^\top \cdot L^\top s(s^2 - B B^\top)^{-1} L\right) = 0,

    the equation for spikes that are independent of the noise; for an isotropic B it is the map `bbp` of the singular
    values theta of L R.  At a thousand neurons the overlaps :math:`u^\top B v` of the spikes with B, which vanish for
    N to infinity, move s by one or two per cent.  Nearly all of it comes from the part of B that is linear in W0, which
    is known before the first step, and is added to first order.

    Outliers that B has of its own count as well; they are read off B, which the theory of spikes says nothing about.

    Parameters
    ----------
    result : TwoStepResult
        From `two_step_update`.
    kmax : int, optional
        Highest order of the low-rank part.
    memory : bool, optional
        Whether its directions take the memory into account; by default wherever the activation has the derivatives.
    bulk : {"resolvent", "rows", "isotropic"}, default "resolvent"
        What is known of B: the matrix W2 - L R itself; only the norms of its rows; or only its shape, all rows of
        norm 1.
    overlaps : bool, default True
        Whether to take into account the overlaps of the spikes with W0 and, to first order, with what the steps make
        of it, for ``bulk="resolvent"``.  Without them a result with the same samples and second layer but other
        weights predicts as well, with no look at the weights that are measured, within a scatter of order N^(-1/2).
    level : float in (0, 1), default 0.999
        Tracy-Widom level of the threshold.

    Returns
    -------
    OutlierPrediction
        Locations, overlaps, count.

    Raises
    ------
    InputError
        If ``bulk`` is unknown or the activation has too few derivatives for ``memory=True``.
    InputTypeError
        If ``result`` isn't one of `two_step_update`.

    Warns
    -----
    AssumptionWarning
        If the activation has a kink: terms in |a_i| are then left out.

    Notes
    -----
    Rows of B with a variance beyond the threshold of `localised_rows` are moved to the low-rank part; the outliers
    that they make are flagged.  One product W' W, the eigenvalues of B' B in single precision, and 20 products with a
    few vectors, twice; deterministic.

    References
    ----------
    Benaych-Georges, Nadakuditi (2012), Theorems 2.8 to 2.10; arXiv 1103.2221.

    Examples
    --------
    >>> from derand.two_step.dynamics import two_step_update
    >>> rng = np.random.default_rng(0)
    >>> X, W0 = rng.standard_normal((200, 200)), rng.standard_normal((200, 200)) / 200**0.5
    >>> a0 = rng.standard_normal(200) / 200**0.5
    >>> run = two_step_update(X, np.tanh(2 * X[:, 0]), W0, a0, 8.0, 1.0, activation=[0.0, 1.0, 0.2])
    >>> found = predict_outliers(run)
    >>> found.count, bool(abs(found.location[0] / np.linalg.norm(run.W2, 2) - 1) < 0.02)
    (1, True)
    """
    if not isinstance(result, TwoStepResult):
        raise InputTypeError(f"result must come from two_step_update, got {type(result).__name__}")
    check_option(bulk, "bulk", ("resolvent", "rows", "isotropic"))
    level = check_scalar(level, "level", low=0.0, high=1.0, low_open=True, high_open=True)
    memory = _memory(result, memory)
    spikes = low_rank_part(result, kmax, memory=memory)
    _, theta, _ = spikes.singular_values()
    W, known = result.W2, None
    if overlaps and bulk == "resolvent":
        known = known_overlaps(result, response_weights(result, memory=memory))
    part, threshold, found = _solve(Remainder(W, W.T @ W, spikes), known, bulk, level)
    if bulk == "isotropic":
        scaled, n_own = [location for _, location in found], 0
    else:
        lengths = np.linalg.norm(W, axis=1)[:, None]
        unit = W / lengths
        scaled, n_own = normalised_roots(unit, unit.T @ unit, lengths, spikes, known, bulk=bulk, level=level)
    shapes = [_shape(part, s) for s, _ in found]
    shares = np.array([1.0 / (W.shape[0] * shape[3]) for shape in shapes])
    localised = np.ones(len(found), dtype=bool)
    localised[np.argsort(-shares, kind="stable")[: len(scaled)]] = False
    return OutlierPrediction(
        len(scaled),
        theta,
        bbp(theta, W.shape[0] / W.shape[1]).location,
        np.array([location for _, location in found]),
        shares,
        localised,
        np.array([shape[0] for shape in shapes]),
        np.array([shape[1] for shape in shapes]),
        np.array([shape[2] for shape in shapes]).reshape(len(found), W.shape[1]),
        part.edge,
        threshold,
        np.array(scaled),
        n_own,
    )


def normalised_roots(
    unit: FloatArray,
    gram: FloatArray,
    lengths: FloatArray,
    spikes: LowRank,
    known: Overlaps | None,
    *,
    bulk: str = "resolvent",
    level: float = 0.999,
) -> tuple[list[float], int]:
    """Return the outliers predicted for weights whose rows have been scaled to norm 1, descending.

    Parameters
    ----------
    unit : ndarray of shape (N, d)
        The scaled weights.
    gram : ndarray of shape (d, d)
        unit^T unit.
    lengths : ndarray of shape (N, 1)
        Norms of the rows before.
    spikes : LowRank
        Low-rank part of the weights before they were scaled.
    known : callable or None
        From `known_overlaps`, for overlaps of the spikes with the full-rank part, before the scaling.
    bulk : str, default "resolvent"
        As in `predict_outliers`.
    level : float, default 0.999
        As there.

    Returns
    -------
    tuple of list of float and int
        Predicted singular values beyond the threshold, and how many of them the full-rank part has by itself.
    """
    scaled = LowRank(spikes.left / lengths, spikes.right)
    shorter = None if known is None else lambda V: known(V / lengths)
    part, _, found = _solve(Remainder(unit, gram, scaled), shorter, bulk, level)
    return [location for _, location in found], part.n_own


def _solve(
    rest: Remainder, known: Overlaps | None, bulk: str, level: float
) -> tuple[ProfileBulk, float, list[tuple[float, float]]]:
    """Return the full-rank part, the threshold, and the outliers without and with the overlaps, descending."""
    if bulk == "isotropic":
        part = ProfileBulk(np.ones(rest.W.shape[0]), rest.spikes)
    else:
        variances, left = rest.variances(), rest.spikes.left
        rows = localised_rows(variances, rest.W.shape[1])
        if rows.size:
            # Rows that are moved have no overlap with what is left.
            left, variances[rows] = left.copy(), 0.0
            left[rows] = 0.0
            rest = rest.without_rows(rows)
        if bulk == "rows":
            part = ProfileBulk(variances, rest.spikes)
        else:
            part = ResolventBulk(rest, None if known is None else known(left), level)
    margin = max(tracy_widom_quantile(level), 0.5) * part.edge.scale
    lowest = part.top + 0.25 * part.edge.scale
    threshold = max(part.edge.location + margin, lowest)
    found = [(s, s + part.shift(s)) for s in part.roots(lowest)]
    return part, threshold, sorted((pair for pair in found if pair[1] > threshold), key=lambda pair: -pair[1])


def _memory(result: TwoStepResult, memory: bool | None) -> bool:
    """Return whether to use the memory, with a warning where a kink forbids it."""
    top = result.activation.max_order
    if top is not None and top < 2:
        warnings.warn(
            f"assumption of a smooth activation violated: {result.activation.name} has no second derivative, so terms "
            "in |a_i| are left out, and the memory of the samples with them",
            AssumptionWarning,
            stacklevel=4,
        )
        return bool(memory)
    return memory is None or memory


def _shape(part: ProfileBulk, s: float) -> tuple[float, float, FloatArray, float]:
    """Return left cos^2, right cos^2, unit right vector and sum u_i^4 of the left vector at a root s."""
    spikes, (q, p) = part.spikes, part.projections(s)
    on_left = spikes.left @ np.linalg.lstsq(spikes.left.T @ spikes.left, q, rcond=None)[0]
    on_right = np.linalg.lstsq(spikes.right @ spikes.right.T, p, rcond=None)[0] @ spikes.right
    left, right = float(on_left @ on_left), float(on_right @ on_right)
    n, rest = on_left.size, max(1.0 - left, 0.0)
    fourth = float(np.sum(on_left**4)) + 6.0 * left * rest / n + 3.0 * rest**2 / n
    return min(left, 1.0), min(right, 1.0), on_right / np.sqrt(right), fourth
