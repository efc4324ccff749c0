"""Minimisation of quadratic binary programs and Ising models with a proved lower bound."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand._utils.html import ResultRepr
from derand._utils.words import counted
from derand.exceptions import CertificateError, InputTypeError
from derand.maxcut.bound import round_up
from derand.maxcut.bqm import from_bqm
from derand.maxcut.certificate import Certificate
from derand.maxcut.quadratic import QuadraticModel, from_qubo
from derand.maxcut.solve import MaxCutSolution, solve_maxcut

__all__ = ["QUBOSolution", "solve_qubo"]


@dataclass(frozen=True, eq=False)
class QUBOSolution(ResultRepr):
    """The best values found for the variables, with a lower bound on the whole form.

    Attributes
    ----------
    model : QuadraticModel
        The form as a cut problem.
    solution : MaxCutSolution
        The cut, its bound and its history.
    """

    model: QuadraticModel
    solution: MaxCutSolution

    @property
    def x(self) -> NDArray[np.int8]:
        """Values of the variables, shape (n,), in the order of ``model.variables``."""
        return self.model.values(self.solution.side)

    @property
    def assignment(self) -> dict[Hashable, int]:
        """The same by label."""
        return dict(zip(self.model.variables, self.x.tolist(), strict=True))

    @property
    def value(self) -> int | float:
        """Value of the form at x: exact for whole-number coefficients, else correctly rounded."""
        exact = self.model.energy_of_cut(self.solution.value)
        return exact.numerator if exact.denominator == 1 else float(exact)

    @property
    def lower_bound(self) -> int | float | None:
        """Proved lower bound on all values of the form, rounded down where it isn't whole; None without a proof."""
        exact = self._exact_bound
        if exact is None:
            return None
        # Rounding can't lift the bound above a value that it equals.
        return exact.numerator if exact.denominator == 1 else -round_up(-exact)

    @property
    def gap(self) -> float | None:
        """(value - lower_bound)/|lower_bound|, 0 where they are equal; None without a proof."""
        exact = self._exact_bound
        if exact is None:
            return None
        distance = self.model.energy_of_cut(self.solution.value) - exact
        if distance == 0:
            return 0.0
        return float(distance / abs(exact)) if exact else math.inf

    @property
    def is_proved(self) -> bool:
        """Whether there's a proved lower bound."""
        return self.solution.is_proved

    @property
    def is_optimal(self) -> bool:
        """Whether x is proved to be a minimiser."""
        exact = self._exact_bound
        return exact is not None and self.model.energy_of_cut(self.solution.value) <= exact

    @property
    def _exact_bound(self) -> Fraction | None:
        """The lower bound without rounding."""
        proved = self.solution.bound
        return None if proved is None or proved.exact is None else self.model.energy_of_cut(proved.exact)

    def certificate(self) -> Certificate:
        """Return the certificate of the cut problem ``model.problem``, for the stand-alone checker.

        Returns
        -------
        Certificate
            Cut and bound; `QuadraticModel.energy_of_cut` turns both into energies.

        Raises
        ------
        CertificateError
            If there's no proved bound.
        """
        return self.solution.certificate()

    def verify(self, Q: Any, offset: Any = 0, *, symmetric: bool | None = None) -> bool:
        """Return True after recomputing value and bound from the coefficients, the bound by the stand-alone checker.

        Parameters
        ----------
        Q, offset, symmetric
            As given to `solve_qubo`.

        Returns
        -------
        bool
            Always True; a result that doesn't hold raises.

        Raises
        ------
        CertificateError
            If variables, value or bound don't belong to these coefficients.
        """
        model = _model(Q, offset, symmetric)
        if (model.variables, model.vartype) != (self.model.variables, self.model.vartype):
            raise CertificateError("the coefficients belong to other variables than the result")
        if model.energy(self.x) != self.model.energy_of_cut(self.solution.value):
            raise CertificateError(f"x has the value {float(model.energy(self.x))}, the result says {self.value}")
        if self.is_proved:
            bound = self.certificate().verify(model.problem)[1]
            if model.energy_of_cut(bound) != self._exact_bound:
                raise CertificateError("the proof gives another lower bound than the result says")
        return True

    def __repr__(self) -> str:
        """Return value, bound and size in one line."""
        proof = "proved optimal" if self.is_optimal else f"lower bound {self.lower_bound}"
        return f"<QUBOSolution value {self.value}, {proof}, {counted(self.model.n_variables, 'variable')}>"


def solve_qubo(Q: Any, offset: Any = 0, *, symmetric: bool | None = None, **options: Any) -> QUBOSolution:
    """Return near-best x in {0, 1}^n for min x'Qx + offset, with a proved lower bound.

    Parameters
    ----------
    Q : mapping, array_like, scipy sparse array, EdgeList, QuadraticModel or dimod.BinaryQuadraticModel
        The form, as in `from_qubo`; a model may have spins instead.  To maximise, negate it.
    offset : number, default 0
        Constant term.
    symmetric : bool, optional
        As in `from_qubo`.
    **options
        Passed to `solve_maxcut`: ``method``, ``effort``, ``bound``, ``time_limit``, ``callback``, ``rng``,
        ``n_starts``, ``n_jobs``.

    Returns
    -------
    QUBOSolution
        x, value, lower bound, certificate.

    Raises
    ------
    InputError
        If Q isn't square, or a number is NaN, infinite or too large.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    Deterministic like `solve_maxcut`, whose cost it has on n + 1 vertices.  The guarantee of the hyperplane rounding
    holds for the cut and says nothing of use about the ratio of energies: their zero lies elsewhere.

    Examples
    --------
    >>> solution = solve_qubo([[-2, 3], [0, -1]])
    >>> solution.x.tolist(), solution.value, solution.lower_bound, solution.is_optimal
    ([1, 0], -2, -2, True)
    """
    model = _model(Q, offset, symmetric)
    return QUBOSolution(model, solve_maxcut(model.problem, **options))


def _model(Q: Any, offset: Any, symmetric: bool | None) -> QuadraticModel:
    """Return a model as it is, and coefficients as a model."""
    is_bqm = hasattr(Q, "quadratic") and hasattr(Q, "vartype")
    if not (is_bqm or isinstance(Q, QuadraticModel)):
        return from_qubo(Q, offset, symmetric=symmetric)
    if symmetric is not None or offset != 0:
        raise InputTypeError(f"a {type(Q).__name__} has its own offset and symmetry: pass neither")
    return from_bqm(Q) if is_bqm else Q
