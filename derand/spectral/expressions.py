"""Functions written as text, parsed without eval: arithmetic, a few functions, and the variables z, z1, z2, ..."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, expit

from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputError, InputTypeError

__all__ = ["FUNCTIONS", "Expression", "parse_expression"]

_MAX_LENGTH, _MAX_NODES, _MAX_VARIABLES = 1000, 200, 16


def _relu(z: FloatArray) -> FloatArray:
    """Return max(z, 0)."""
    return np.maximum(z, 0.0)


#: What may be called, with the number of arguments.
FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int]] = MappingProxyType(
    {
        **{name: (getattr(np, name), 1) for name in ("abs", "sign", "sqrt", "exp", "log", "sin", "cos", "tan")},
        **{name: (getattr(np, name), 1) for name in ("sinh", "cosh", "tanh", "arctan", "floor", "round")},
        "erf": (erf, 1),
        "sigmoid": (expit, 1),
        "relu": (_relu, 1),
        "min": (np.minimum, 2),
        "max": (np.maximum, 2),
        "heaviside": (np.heaviside, 2),
    }
)
_KINKED = frozenset({"abs", "sign", "relu", "heaviside", "min", "max"})
_CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e})
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = MappingProxyType(
    {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power}
)


class Expression:
    """A parsed expression, callable on arrays; made by `parse_expression`.

    Parameters
    ----------
    text : str
        The source.
    tree : ast.expr
        Its checked syntax tree.
    n_variables : int
        Number of coordinates.
    """

    def __init__(self, text: str, tree: ast.expr, n_variables: int) -> None:
        self.text, self.n_variables = text, n_variables
        self._tree = tree

    def __call__(self, z: Any) -> FloatArray:
        """Return the values at points.

        Parameters
        ----------
        z : array_like of shape (n, n_variables), or (n,) for one variable
            Points.

        Returns
        -------
        ndarray of shape (n,)
            Values; overflow and invalid operations give infinity and NaN.

        Raises
        ------
        InputError
            If the shape doesn't fit.
        """
        points = np.asarray(z, dtype=np.float64)
        points = points[:, None] if points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != self.n_variables:
            raise InputError(f"z must have shape (n, {self.n_variables}), got {np.shape(z)}")
        with np.errstate(all="ignore"):
            values = self._value(self._tree, points)
        return np.broadcast_to(np.asarray(values, dtype=np.float64), (len(points),)).copy()

    def kinks(self) -> tuple[float, ...]:
        """Return where abs, sign, relu, heaviside, min and max of one coordinate have a kink or jump, between -8 and 8.

        Returns
        -------
        tuple of float
            In increasing order.  Zeros of arguments that don't change sign, and kinks across the axes, are missed.

        Examples
        --------
        >>> parse_expression("min(max(z1, -1), 2) * abs(z2 - 0.5)").kinks()
        (-1.0, 0.5, 2.0)
        """
        found: set[float] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KINKED:
                names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _index(part.id) >= 0}
                if len(names) == 1:
                    found.update(self._sign_changes(node, _index(names.pop())))
        return tuple(sorted(found))

    def _sign_changes(self, call: ast.Call, axis: int) -> list[float]:
        """Return where the argument of a call, or the difference of its two, changes sign along an axis."""

        def value(t: Any) -> Any:
            """Return the difference at points of the axis."""
            points = np.zeros((np.size(t), self.n_variables))
            points[:, axis] = t
            with np.errstate(all="ignore"):
                arguments = [self._value(argument, points) for argument in call.args]
                is_pair = len(arguments) == 2 and call.func.id != "heaviside"  # type: ignore[attr-defined]
                difference = arguments[0] - arguments[1] if is_pair else arguments[0]
            return np.broadcast_to(difference, np.size(t))

        grid = np.linspace(-8.0, 8.0, 3201)
        signs = np.sign(value(grid))
        found = grid[signs == 0.0].tolist() if np.sum(signs == 0.0) < 100 else []
        for k in np.flatnonzero(signs[:-1] * signs[1:] < 0.0):
            found.append(float(brentq(lambda t: float(value(t)[0]), grid[k], grid[k + 1], xtol=1e-14)))
        return [round(t, 12) for t in found if math.isfinite(t)]

    def __repr__(self) -> str:
        """Return the source."""
        return f"Expression({self.text!r})"

    def _value(self, node: ast.expr, z: FloatArray) -> Any:
        """Return the value of a checked subtree."""
        if isinstance(node, ast.Constant):
            return np.float64(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return _CONSTANTS[node.id] if node.id in _CONSTANTS else z[:, _index(node.id)]
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, z)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return _BINARY[type(node.op)](self._value(node.left, z), self._value(node.right, z))
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        return FUNCTIONS[node.func.id][0](*(self._value(argument, z) for argument in node.args))


def parse_expression(text: Any, k: int | None = None) -> Expression:
    """Return the function that a text describes.

    Numbers, ``+ - * / **``, parentheses, pi, e, the variables z (the same as z1), z1, z2, ..., and the functions abs,
    sign, sqrt, exp, log, sin, cos, tan, sinh, cosh, tanh, arctan, floor, round, erf, sigmoid, relu, min, max and
    heaviside.
    Nothing else is ever looked up or run.

    Parameters
    ----------
    text : str
        The expression, at most 1000 characters.
    k : int, optional
        Number of coordinates; the highest one named by default.

    Returns
    -------
    Expression
        A callable on arrays.

    Raises
    ------
    InputError
        If the text isn't such an expression or names more than k coordinates.
    InputTypeError
        If it isn't a string.

    Examples
    --------
    >>> parse_expression("sign(z1*z2) + 2**3")(np.array([[1.0, -2.0]])).tolist()
    [7.0]
    """
    if not isinstance(text, str):
        raise InputTypeError(f"the expression must be a string, got {type(text).__name__}")
    if k is not None:
        check_int(k, "k", low=1, high=_MAX_VARIABLES)
    if len(text) > _MAX_LENGTH:
        raise InputError(f"the expression must have at most {_MAX_LENGTH} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise InputError(f"the expression {text!r} is malformed: {getattr(error, 'msg', error)}") from error
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    if len(nodes) > _MAX_NODES:
        raise InputError(f"the expression must have at most {_MAX_NODES} parts, got {len(nodes)}")
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if id(node) not in called:
            _check(node)
    names = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    highest = max([_index(name) + 1 for name in names if name not in _CONSTANTS], default=1)
    if k is not None and highest > k:
        raise InputError(f"the expression {text!r} names z{highest}: k must be at least {highest}, got {k}")
    return Expression(text, tree, highest if k is None else k)


def _check(node: ast.expr) -> None:
    """Raise unless the node is of an allowed kind."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)) or abs(node.value) > 1e300:
            raise InputError(f"{node.value!r} is no number that an expression may hold")
    elif isinstance(node, ast.Name):
        if node.id not in _CONSTANTS and not 0 <= _index(node.id) < _MAX_VARIABLES:
            raise InputError(f"{node.id!r} is unknown; variables are z, z1, z2, ..., z{_MAX_VARIABLES}")
    elif isinstance(node, ast.UnaryOp):
        if not isinstance(node.op, (ast.USub, ast.UAdd)):
            raise InputError(f"the operator {type(node.op).__name__} isn't allowed in an expression")
    elif isinstance(node, ast.BinOp):
        if type(node.op) not in _BINARY:
            advice = ": write ** for powers" if isinstance(node.op, ast.BitXor) else ""
            raise InputError(f"the operator {type(node.op).__name__} isn't allowed in an expression{advice}")
    elif isinstance(node, ast.Call):
        _check_call(node)
    else:
        raise InputError(f"{type(node).__name__} isn't allowed in an expression")


def _check_call(node: ast.Call) -> None:
    """Raise unless a known function is called with as many arguments as it takes."""
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        name = ast.unparse(node.func)[:40]
        raise InputError(f"{name!r} is an unknown function; those known are {', '.join(sorted(FUNCTIONS))}")
    count = FUNCTIONS[node.func.id][1]
    if node.keywords or len(node.args) != count or any(isinstance(a, ast.Starred) for a in node.args):
        raise InputError(f"{node.func.id} takes {count} argument(s)")


def _index(name: str) -> int:
    """Return the number of a coordinate from 0, or -1 for a name that isn't one."""
    match = re.fullmatch(r"z([1-9][0-9]?)?", name, re.ASCII)
    return -1 if match is None else int(match[1] or 1) - 1
