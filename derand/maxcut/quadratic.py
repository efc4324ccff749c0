"""Quadratic binary programs (QUBO) and Ising models as maximum cut problems, and back, without rounding."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import InputError, InputTypeError
from derand.maxcut.coefficients import Terms, check_offset, linear_terms, quadratic_terms
from derand.maxcut.problem import MaxCutProblem, SideArray

__all__ = [
    "VARTYPES",
    "QuadraticModel",
    "as_model",
    "from_ising",
    "from_maxcut",
    "from_qubo",
    "to_ising",
    "to_qubo",
]

VARTYPES = ("binary", "spin")
Number = int | float | Fraction
LinearDict = dict[Hashable, Number]
PairDict = dict[tuple[Hashable, Hashable], Number]


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """A quadratic form in binary or spin variables as a cut problem: energy = constant - scale * cut.

    Variable i is vertex i of the graph, and one further vertex n is the reference: a binary variable is 1, a spin +1
    exactly if its vertex lies on the side of the reference.  So 1 stands for +1 and 0 for -1, as in dimod.

    Attributes
    ----------
    problem : MaxCutProblem
        Whole-number weights on n + 1 vertices.
    variables : tuple of hashable
        Labels of the n variables.
    vartype : {"binary", "spin"}
        Whether variables take the values 0 and 1, or -1 and +1.
    scale : Fraction
        Energy per unit of cut, positive.
    constant : Fraction
        Energy of the empty cut.
    """

    problem: MaxCutProblem
    variables: tuple[Hashable, ...]
    vartype: str
    scale: Fraction
    constant: Fraction

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @cached_property
    def is_integer(self) -> bool:
        """Whether all energies are whole numbers of quarters, as they are for whole-number coefficients."""
        return (4 * self.scale).denominator == 1 and (4 * self.constant).denominator == 1

    def values(self, side: Any) -> NDArray[np.int8]:
        """Return the values of the variables for a cut.

        Parameters
        ----------
        side : array_like of shape (n + 1,)
            +1 and -1 for every vertex, the reference last.

        Returns
        -------
        ndarray of int8, shape (n,)
            0 and 1, or -1 and +1.
        """
        sides = self.problem.check_side(side)
        spins: NDArray[np.int8] = sides[:-1] * sides[-1]
        return spins if self.vartype == "spin" else (spins + 1) // 2

    def side(self, values: Any) -> SideArray:
        """Return the cut for values of the variables, the reference on side +1.

        Parameters
        ----------
        values : array_like of shape (n,)
            0 and 1, or -1 and +1.

        Returns
        -------
        ndarray of int8, shape (n + 1,)
            The cut.

        Raises
        ------
        InputError
            If ``values`` has the wrong length or another value.
        """
        array = np.asarray(values)
        low = 0 if self.vartype == "binary" else -1
        if array.shape != (self.n_variables,):
            raise InputError(f"values must have shape ({self.n_variables},), got {array.shape}")
        bad = np.flatnonzero((array != low) & (array != 1))
        if bad.size:
            raise InputError(f"values must hold only {low} and 1, got {array[bad[0]]} at index {int(bad[0])}")
        return np.append(np.where(array == 1, 1, -1), 1).astype(np.int8)

    def energy(self, values: Any) -> Fraction:
        """Return the value of the form, offset included, without rounding.

        Parameters
        ----------
        values : array_like of shape (n,)
            0 and 1, or -1 and +1.

        Returns
        -------
        Fraction
            The energy.
        """
        return self.energy_of_cut(self.problem.cut_value(self.side(values)))

    def energy_of_cut(self, cut: int | float | Fraction) -> Fraction:
        """Return the energy that belongs to a cut value; an upper bound on cuts gives a lower bound on energies."""
        return self.constant - self.scale * Fraction(cut)

    def _number(self, value: Fraction) -> Number:
        """Return a coefficient as int or float; as a Fraction where a whole-number model needs one to stay exact."""
        if value.denominator == 1:
            return value.numerator
        return value if self.is_integer and Fraction(float(value)) != value else float(value)


def from_qubo(Q: Any, offset: Any = 0, *, symmetric: bool | None = None) -> QuadraticModel:
    """Return the maximum cut problem of min x'Qx + offset over x in {0, 1}^n.

    With c_ij = 1 for separated vertices, x_i = 1 - c_in and x_i x_j = 1 - (c_in + c_jn + c_ij)/2, so that x'Qx is a
    constant minus half of a cut with weights q_ij between variables and 2 q_ii + sum_j q_ij towards the reference.

    Parameters
    ----------
    Q : mapping, array_like, scipy sparse array or EdgeList
        Coefficients.  {(i, j): q} with any hashable labels: the form is the sum of q x_i x_j over all keys, where
        (i, i) is linear.  A matrix: the form is x'Qx with every entry counted once, so that an upper triangular and a
        symmetric matrix mean what they say.  An edge list from `derand.io`: undirected entries stand for both halves of
        a symmetric matrix, as in the files of the Biq Mac library, so q counts twice off the diagonal.
    offset : number, default 0
        Constant term.
    symmetric : bool, optional
        For mappings and edge lists: whether an entry off the diagonal stands for its mirror image too.

    Returns
    -------
    QuadraticModel
        The cut problem, exact for integers of any size and for floats.

    Raises
    ------
    InputError
        If Q isn't square, a key is no pair, or a number is NaN, infinite or too large.
    InputTypeError
        If a coefficient is no real number.

    Notes
    -----
    Floats are brought to whole numbers of one power of two, so nothing is rounded.  O(m log m) time.

    References
    ----------
    Barahona, Juenger, Reinelt, Math. Programming 44 (1989) 127-137, section 2.

    Examples
    --------
    >>> model = from_qubo({("a", "a"): -3, ("a", "b"): 2, ("b", "b"): 1}, offset=5)
    >>> model.variables, model.energy([1, 0])
    (('a', 'b'), Fraction(2, 1))
    """
    terms = quadratic_terms(Q, symmetric=symmetric)
    n = len(terms.variables)
    reference = np.full(terms.rows.size, n, dtype=np.int64)
    # A diagonal term adds 2 q to its edge, an off-diagonal one q to both: a parallel edge from either end does that.
    heads = np.concatenate([terms.rows, terms.rows, terms.cols])
    tails = np.concatenate([terms.cols, reference, reference])
    problem = MaxCutProblem.from_edges(heads, tails, np.tile(terms.values, 3), n=n + 1)
    unit = Fraction(1, 2**terms.exponent)
    constant = check_offset(offset) + unit * sum(terms.values.tolist())
    return QuadraticModel(problem, terms.variables, "binary", unit / 2, constant)


def from_ising(h: Any, J: Any, offset: Any = 0) -> QuadraticModel:
    """Return the maximum cut problem of min h's + s'Js + offset over s in {-1, +1}^n.

    Parameters
    ----------
    h : mapping or array_like of shape (n,)
        Fields, by label or for the variables 0..n-1; empty for none.
    J : mapping, array_like or scipy sparse array
        Couplings, {(i, j): J} or a matrix, every entry counted once; a diagonal one is a constant, since s_i^2 = 1.
    offset : number, default 0
        Constant term.

    Returns
    -------
    QuadraticModel
        The cut problem with weights J_ij and h_i, exact: energy = sum of all coefficients + offset - 2 cut.

    Raises
    ------
    InputError
        If J isn't square, a key is no pair, or a number is NaN, infinite or too large.
    InputTypeError
        If a coefficient is no real number.

    Examples
    --------
    >>> model = from_ising({"a": 1}, {("a", "b"): -1})
    >>> model.energy([-1, -1]), model.problem.n
    (Fraction(-2, 1), 3)
    """
    fields, couplings = linear_terms(h), quadratic_terms(J, "J")
    n_fields = fields.rows.size
    terms = couplings if n_fields == 0 else fields.joined(couplings)
    n = len(terms.variables)
    tails = terms.cols.copy()
    tails[:n_fields] = n
    return _spin_model(terms, tails, check_offset(offset))


def _spin_model(terms: Terms, tails: NDArray[np.int64], offset: Fraction) -> QuadraticModel:
    """Return the model with a weight for every term, towards the given ends."""
    n = len(terms.variables)
    unit = Fraction(1, 2**terms.exponent)
    problem = MaxCutProblem.from_edges(terms.rows, tails, terms.values, n=n + 1)
    return QuadraticModel(problem, terms.variables, "spin", 2 * unit, offset + unit * sum(terms.values.tolist()))


def from_maxcut(problem: MaxCutProblem) -> QuadraticModel:
    """Return a cut problem as a model whose energy is minus the cut: one binary variable for every vertex.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.

    Returns
    -------
    QuadraticModel
        The model; its reference vertex is isolated.

    Raises
    ------
    InputTypeError
        If ``problem`` is something else.

    Examples
    --------
    >>> edge = MaxCutProblem.from_edges([0], [1])
    >>> from_maxcut(edge).energy([0, 1])
    Fraction(-1, 1)
    """
    if not isinstance(problem, MaxCutProblem):
        raise InputTypeError(f"problem must be a MaxCutProblem, got {type(problem).__name__}")
    weights = problem.exact_weights.tolist()
    bottom = max((Fraction(weight).denominator for weight in weights), default=1)
    whole = [int(Fraction(weight) * bottom) for weight in weights]
    scaled = MaxCutProblem.from_edges(problem.heads, problem.tails, whole, n=problem.n + 1)
    return QuadraticModel(scaled, tuple(range(problem.n)), "binary", Fraction(1, bottom), Fraction(0))


def to_qubo(model: QuadraticModel | MaxCutProblem) -> tuple[PairDict, Number]:
    """Return (Q, offset) with x'Qx + offset equal to the model's energy.

    Parameters
    ----------
    model : QuadraticModel or MaxCutProblem
        For a cut problem the energy is minus the cut, and the variables are its vertices.

    Returns
    -------
    Q : dict
        {(u, v): q} without zeros, u before v in ``model.variables``; (u, u) is linear.
    offset : int, float or Fraction
        Constant term.

    Notes
    -----
    For whole-number models every number is exact: an int, or a multiple of 1/4 as a float (as a Fraction beyond
    2^53).  Other numbers are rounded to double precision once.

    Examples
    --------
    >>> to_qubo(MaxCutProblem.from_edges([0], [1], [3]))
    ({(0, 0): -3, (0, 1): 6, (1, 1): -3}, 0)
    """
    form = as_model(model)
    linear, pairs = _weights(form)
    offset = form.constant - form.scale * sum(linear)
    for (i, j), weight in pairs.items():
        linear[i] -= weight
        linear[j] -= weight
    scaled = {(i, i): form.scale * weight for i, weight in enumerate(linear)}
    scaled |= {pair: 2 * form.scale * weight for pair, weight in pairs.items()}
    names = form.variables
    Q = {(names[i], names[j]): form._number(q) for (i, j), q in sorted(scaled.items()) if q}
    return Q, form._number(offset)


def to_ising(model: QuadraticModel | MaxCutProblem) -> tuple[LinearDict, PairDict, Number]:
    """Return (h, J, offset) with h's + s'Js + offset equal to the model's energy.

    Parameters
    ----------
    model : QuadraticModel or MaxCutProblem
        For a cut problem the energy is minus the cut, and the variables are its vertices.

    Returns
    -------
    h : dict
        A field for every variable, zeros included.
    J : dict
        Couplings without zeros, {(u, v): J} with u before v in ``model.variables``.
    offset : int, float or Fraction
        Constant term.

    Notes
    -----
    Exact as in `to_qubo`.

    Examples
    --------
    >>> to_ising(from_qubo([[1, 4], [0, 0]]))
    ({0: 1.5, 1: 1}, {(0, 1): 1}, 1.5)
    """
    form = as_model(model)
    linear, pairs = _weights(form)
    half, names = form.scale / 2, form.variables
    h = {names[i]: form._number(half * weight) for i, weight in enumerate(linear)}
    J = {(names[i], names[j]): form._number(half * weight) for (i, j), weight in sorted(pairs.items())}
    return h, J, form._number(form.constant - half * (sum(linear) + sum(pairs.values())))


def as_model(model: QuadraticModel | MaxCutProblem) -> QuadraticModel:
    """Return a model as it is and a cut problem as the model of minus its cut."""
    return model if isinstance(model, QuadraticModel) else from_maxcut(model)


def _weights(form: QuadraticModel) -> tuple[list[int], dict[tuple[int, int], int]]:
    """Return the weights towards the reference and those between variables, as Python ints."""
    linear: list[int] = [0] * form.n_variables
    pairs: dict[tuple[int, int], int] = {}
    problem = form.problem
    for i, j, weight in zip(
        problem.heads.tolist(), problem.tails.tolist(), problem.exact_weights.tolist(), strict=True
    ):
        if j == form.n_variables:
            linear[i] = int(weight)
        else:
            pairs[i, j] = int(weight)
    return linear, pairs
