"""Binary quadratic models of dimod as maximum cut problems and back."""

from __future__ import annotations

from typing import Any

from derand._utils.validation import check_option
from derand.exceptions import InputTypeError, MissingDependencyError
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.quadratic import VARTYPES, QuadraticModel, as_model, from_ising, from_qubo, to_ising, to_qubo

__all__ = ["from_bqm", "to_bqm"]


def from_bqm(bqm: Any) -> QuadraticModel:
    """Return the maximum cut problem of a dimod binary quadratic model.

    Parameters
    ----------
    bqm : dimod.BinaryQuadraticModel
        Or anything with its attributes ``linear``, ``quadratic``, ``offset`` and ``vartype``; dimod isn't needed.

    Returns
    -------
    QuadraticModel
        The cut problem, exact.

    Raises
    ------
    InputTypeError
        If an attribute is missing.
    InputError
        If the vartype is neither BINARY nor SPIN, or a coefficient is NaN or infinite.
    """
    missing = [name for name in ("linear", "quadratic", "offset", "vartype") if not hasattr(bqm, name)]
    if missing:
        raise InputTypeError(f"bqm must be a binary quadratic model, but it has no attribute {missing[0]!r}")
    kind = str(getattr(bqm.vartype, "name", bqm.vartype)).lower()
    check_option(kind, "the vartype of bqm", VARTYPES)
    linear, quadratic = dict(bqm.linear.items()), dict(bqm.quadratic.items())
    if kind == "spin":
        return from_ising(linear, quadratic, bqm.offset)
    return from_qubo({(v, v): bias for v, bias in linear.items()} | quadratic, bqm.offset)


def to_bqm(model: QuadraticModel | MaxCutProblem) -> Any:
    """Return the model as a dimod binary quadratic model of the same vartype.

    Parameters
    ----------
    model : QuadraticModel or MaxCutProblem
        For a cut problem the energy is minus the cut, and the variables are its vertices.

    Returns
    -------
    dimod.BinaryQuadraticModel
        Coefficients in double precision.

    Raises
    ------
    MissingDependencyError
        If dimod isn't installed.
    """
    try:
        from dimod import BinaryQuadraticModel
    except ImportError as error:
        raise MissingDependencyError("to_bqm needs dimod: pip install dimod") from error
    form = as_model(model)
    if form.vartype == "spin":
        h, J, offset = to_ising(form)
    else:
        Q, offset = to_qubo(form)
        h = {v: Q.get((v, v), 0) for v in form.variables}
        J = {pair: q for pair, q in Q.items() if pair[0] != pair[1]}
    linear, quadratic = {v: float(b) for v, b in h.items()}, {pair: float(b) for pair, b in J.items()}
    return BinaryQuadraticModel(linear, quadratic, float(offset), form.vartype.upper())
