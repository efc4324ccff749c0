"""Outliers predicted at finite size: from the whole low-rank part and the full-rank part that it stands in."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_option, check_scalar
from derand.exceptions import InputTypeError
from derand.two_step.assumptions import AssumptionWarning
from derand.two_step.bbp import bbp, tracy_widom_quantile
from derand.two_step.bulk import BulkEdge, RowProfile, localised_rows
from derand.two_step.directions import LowRank, low_rank_part
from derand.two_step.dynamics import TwoStepResult
from derand.two_step.edge import fit_edge, n_needed
from derand.two_step.resolvent import GramQuadrature

__all__ = ["LOCALISED_SHARE", "BoolArray", "OutlierPrediction", "normalised_roots", "predict_outliers"]

#: A singular vector on a smaller share of the neurons than this is localised: an artefact of a few large |a_i|.
#: The powers a, a^2, a^3 of the second layer have the shares 1/3, 1/12 and 1/46.
LOCALISED_SHARE = 0.01
_STEPS = 24
_SMALLEST_FIT = 64
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

    @property
    def n_localised(self) -> int:
        """Number of artefacts."""
        return int(np.sum(self.is_localised))


class _ProfileBulk:
    """Deterministic equivalent of noise with independent rows and isotropic columns."""

    def __init__(self, variances: FloatArray, spikes: LowRank) -> None:
        self.profile = RowProfile(variances, spikes.right.shape[1])
        self.edge = self.profile.edge()
        self.top = self.edge.location
        self.spikes, self.gram = spikes, spikes.right @ spikes.right.T

    def left(self, s: float) -> FloatArray:
        """Return L^T s (s^2 - B B^T)^{-1} L."""
        diagonal = self.profile.resolvents(s)[0]
        return np.asarray(self.spikes.left.T @ (diagonal[:, None] * self.spikes.left))

    def right(self, s: float) -> FloatArray:
        """Return R s (s^2 - B^T B)^{-1} R^T."""
        return np.asarray(self.profile.resolvents(s)[1] * self.gram)


class _ResolventBulk(_ProfileBulk):
    """Independent rows, as there, and the columns of the full-rank part itself by Lanczos quadrature."""

    def __init__(self, rest: FloatArray, variances: FloatArray, spikes: LowRank, level: float) -> None:
        super().__init__(variances, spikes)
        gram = rest.T @ rest
        self.quadrature = GramQuadrature(lambda block: gram @ block, spikes.right.T, steps=_STEPS)
        squares = np.linalg.eigvalsh(rest @ rest.T if rest.shape[0] < rest.shape[1] else gram)[::-1]
        values = np.sqrt(np.maximum(squares[: n_needed(min(rest.shape))], 0.0))
        if values.size >= _SMALLEST_FIT:
            self.edge = fit_edge(values, (rest.shape[0], rest.shape[1]), level=level)
        # Resolvents of the rows exist beyond the profile's own edge only.
        self.top = max(float(values[0]), self.top)

    def right(self, s: float) -> FloatArray:
        """Return R s (s^2 - B^T B)^{-1} R^T."""
        return self.quadrature.resolvent(s)


def predict_outliers(
    result: TwoStepResult,
    *,
    kmax: int | None = None,
    memory: bool | None = None,
    bulk: str = "resolvent",
    level: float = 0.999,
) -> OutlierPrediction:
    r"""Return the outliers of W2 that the low-rank part makes in the full-rank part.

    W2 is a low-rank part L R, known from the samples (`low_rank_part`), plus a full-rank part B.  A singular value s
    beyond the bulk solves

    .. math:: \det\left(1 - R\, s(s^2 - B^\top B)^{-1} R^\top \cdot L^\top s(s^2 - B B^\top)^{-1} L\right) = 0,

    the equation for spikes that are independent of the noise: cross terms L' (..) B R' are dropped, which is exact
    for N to infinity.  For an isotropic B it is the map `bbp` of the singular values theta of L R.

    Parameters
    ----------
    result : TwoStepResult
        From `two_step_update`.  One with the same samples and second layer but other weights W0 predicts as well,
        with no look at the weights that are measured, within the scatter of the longest rows.
    kmax : int, optional
        Highest order of the low-rank part.
    memory : bool, optional
        Whether its directions take the memory into account; by default wherever the activation has the derivatives.
    bulk : {"resolvent", "rows", "isotropic"}, default "resolvent"
        What is known of B: the matrix W2 - L R itself; only the norms of its rows; or only its shape, all rows of
        norm 1.
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
    that they make are flagged.  One product B' B, its eigenvalues, and 24 products with a few vectors, twice;
    deterministic.

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
    spikes = low_rank_part(result, kmax, memory=_memory(result, memory))
    _, theta, _ = spikes.singular_values()
    rest = result.W2 - spikes.left @ spikes.right
    part, extended, threshold, roots = _solve(spikes, rest, bulk, level)
    scaled = roots if bulk == "isotropic" else normalised_roots(result.W2, spikes, bulk=bulk, level=level)
    shapes = [_shape(part, extended, s) for s in roots]
    shares = np.array([1.0 / (rest.shape[0] * shape[3]) for shape in shapes])
    localised = np.ones(len(roots), dtype=bool)
    localised[np.argsort(-shares, kind="stable")[: len(scaled)]] = False
    return OutlierPrediction(
        len(scaled),
        theta,
        bbp(theta, rest.shape[0] / rest.shape[1]).location,
        np.array(roots),
        shares,
        localised,
        np.array([shape[0] for shape in shapes]),
        np.array([shape[1] for shape in shapes]),
        np.array([shape[2] for shape in shapes]).reshape(len(roots), rest.shape[1]),
        part.edge,
        threshold,
        np.array(scaled),
    )


def normalised_roots(W: FloatArray, spikes: LowRank, *, bulk: str = "resolvent", level: float = 0.999) -> list[float]:
    """Return the outliers predicted for weights whose rows are scaled to norm 1, descending.

    Parameters
    ----------
    W : ndarray of shape (N, d)
        The weights.
    spikes : LowRank
        Their low-rank part.
    bulk : str, default "resolvent"
        As in `predict_outliers`.
    level : float, default 0.999
        As there.

    Returns
    -------
    list of float
        Predicted singular values beyond the threshold.
    """
    lengths = np.linalg.norm(W, axis=1)[:, None]
    scaled = LowRank(spikes.left / lengths, spikes.right)
    return _solve(scaled, W / lengths - scaled.left @ scaled.right, bulk, level)[3]


def _solve(
    spikes: LowRank, rest: FloatArray, bulk: str, level: float
) -> tuple[_ProfileBulk, LowRank, float, list[float]]:
    """Return the full-rank part, the spikes with localised rows among them, the threshold and the outliers."""
    variances = np.ones(rest.shape[0])
    if bulk != "isotropic":
        spikes, rest, variances = _move_rows(spikes, rest, np.einsum("ij,ij->i", rest, rest))
    part = _ResolventBulk(rest, variances, spikes, level) if bulk == "resolvent" else _ProfileBulk(variances, spikes)
    margin = max(tracy_widom_quantile(level), 0.5) * part.edge.scale
    threshold = max(part.edge.location + margin, part.top + 0.25 * part.edge.scale)
    return part, spikes, threshold, _roots(part, spikes, threshold)


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


def _move_rows(spikes: LowRank, rest: FloatArray, variances: FloatArray) -> tuple[LowRank, FloatArray, FloatArray]:
    """Return spikes that include the localised rows, and the rest without them."""
    rows = localised_rows(variances, rest.shape[1])
    if rows.size == 0:
        return spikes, rest, variances
    units = np.zeros((rest.shape[0], rows.size))
    units[rows, np.arange(rows.size)] = 1.0
    moved = LowRank(np.concatenate([spikes.left, units], axis=1), np.concatenate([spikes.right, rest[rows]]))
    rest, variances = rest.copy(), variances.copy()
    rest[rows], variances[rows] = 0.0, 0.0
    return moved, rest, variances


def _strengths(part: _ProfileBulk, s: float) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues (descending) and vectors p of A_r A_l at s; a singular value is where one of them is 1."""
    right, left = part.right(s), part.left(s)
    sizes, basis = np.linalg.eigh(right)
    root = basis * np.sqrt(np.maximum(sizes, 0.0))
    values, vectors = np.linalg.eigh(root.T @ left @ root)
    return values[::-1], (root @ vectors)[:, ::-1]


def _roots(part: _ProfileBulk, spikes: LowRank, threshold: float) -> list[float]:
    """Return the predicted singular values beyond a threshold, descending."""
    low = threshold * (1.0 + 1e-9)
    high = 2.0 * (threshold + float(np.linalg.norm(spikes.left) * np.linalg.norm(spikes.right)))
    start = _strengths(part, low)[0]
    found = []
    for j in range(int(np.sum(start > 1.0))):

        def excess(s: float, j: int = j) -> float:
            """Return how far strength j is above 1."""
            return float(_strengths(part, s)[0][j]) - 1.0

        found.append(float(brentq(excess, low, high, xtol=1e-10)))
    return found


def _shape(part: _ProfileBulk, spikes: LowRank, s: float) -> tuple[float, float, FloatArray, float]:
    """Return left cos^2, right cos^2, unit right vector and sum u_i^4 of the left vector at a root s."""
    values, vectors = _strengths(part, s)
    p = vectors[:, int(np.argmin(np.abs(values - 1.0)))]
    q = part.left(s) @ p
    h = 1e-5 * s
    slopes = [(side(s + h) - side(s - h)) / (2.0 * h) for side in (part.left, part.right)]
    norm = -0.5 * float(p @ slopes[0] @ p + q @ slopes[1] @ q)
    p, q = p / np.sqrt(norm), q / np.sqrt(norm)
    on_left = spikes.left @ np.linalg.lstsq(spikes.left.T @ spikes.left, q, rcond=None)[0]
    on_right = np.linalg.lstsq(spikes.right @ spikes.right.T, p, rcond=None)[0] @ spikes.right
    left, right = float(on_left @ on_left), float(on_right @ on_right)
    n, rest = on_left.size, max(1.0 - left, 0.0)
    fourth = float(np.sum(on_left**4)) + 6.0 * left * rest / n + 3.0 * rest**2 / n
    return min(left, 1.0), min(right, 1.0), on_right / np.sqrt(right), fourth
