"""When a run of the smoothed objective has settled on one cut: the short way to the stationary point there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from derand._utils.validation import FloatArray
from derand.maxcut.conditioning import round_means
from derand.maxcut.mixing import row_dots
from derand.maxcut.objective import SmoothedCutObjective
from derand.optimize.result import SOSPResult

__all__ = ["SettlingWatch", "joined_runs"]

# Iterations without a change of sign, and share of the vertices whose sign the noise no longer changes.
_QUIET = 10
_CERTAIN_SHARE = 0.5
_CERTAIN = 9.0
# Biases of the target in units of sigma: still within reach of the gradient, which can object to a vertex.
_TARGET_BIAS = 5.0


class SettlingWatch:
    """A callback for `minimize_sosp` that ends a run which has settled on a cut.

    Late in a run no sign of the biases changes any more, while the weights of a few undecided vertices still shrink.
    Once ten iterations went by without a change and half of the vertices are certain, the target W = 0, b = +-5 sigma
    with the rounded signs is evaluated; where it is lower, the run stops, to go on from there.  As the solver goes on
    with the same function, the target is a long step of descent, not the end: a vertex on the wrong side still has a
    gradient there.

    Parameters
    ----------
    objective : SmoothedCutObjective
        The function that is minimised.

    Attributes
    ----------
    target : ndarray, shape (n d + n,), or None
        Where to go on; None while nothing has settled.

    Examples
    --------
    >>> from derand.maxcut.problem import MaxCutProblem
    >>> SettlingWatch(SmoothedCutObjective(MaxCutProblem.from_edges([0], [1]), 2)).target is None
    True
    """

    def __init__(self, objective: SmoothedCutObjective) -> None:
        self.objective = objective
        self.target: FloatArray | None = None
        self._signs: NDArray[np.bool_] | None = None
        self._quiet = 0

    def __call__(self, state: SOSPResult) -> bool:
        """Return whether the run has settled."""
        W, b = self.objective.unpack(state.x)
        signs = b >= 0.0
        is_quiet = self._signs is not None and np.array_equal(signs, self._signs)
        self._signs, self._quiet = signs, self._quiet + 1 if is_quiet else 0
        if self._quiet < _QUIET:
            return False
        certain = np.abs(b) >= _CERTAIN * np.sqrt(row_dots(W, W) + self.objective.sigma**2)
        if float(np.mean(certain)) < _CERTAIN_SHARE:
            return False
        target = self._rounded(b)
        if self.objective.value_and_grad(target)[0] > state.fun:
            self._quiet = 0
            return False
        self.target = target
        return True

    def _rounded(self, b: FloatArray) -> FloatArray:
        """Return the flat variable of the cut that the biases round to."""
        objective = self.objective
        side = round_means(objective.problem, erf(b / (objective.sigma * 2.0**0.5)))
        biases = side.astype(np.float64) * (_TARGET_BIAS * objective.sigma)
        return objective.pack(np.zeros((objective.n, objective.d)), biases)


def joined_runs(first: SOSPResult, second: SOSPResult) -> SOSPResult:
    """Return the second of two runs with the counts and the history of both.

    Parameters
    ----------
    first, second : SOSPResult
        A run that was stopped, and the one that went on after a long step.

    Returns
    -------
    SOSPResult
        Point, status and certificate of the second; it has no checkpoint, since no single run can be resumed.
    """
    later = [
        record._replace(nit=record.nit + first.nit, nfev=record.nfev + first.nfev, nhev=record.nhev + first.nhev)
        for record in second.history
    ]
    return replace(
        second,
        nit=first.nit + second.nit,
        nfev=first.nfev + second.nfev,
        nhev=first.nhev + second.nhev,
        n_escapes=first.n_escapes + second.n_escapes,
        history=(*first.history, *later),
        checkpoint=None,
    )
