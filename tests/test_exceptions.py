import inspect
import pickle

import pytest

from derand import exceptions
from derand.exceptions import (
    BudgetExceededError,
    DerandError,
    DerandWarning,
    GraphFormatError,
    InputError,
    MissingDependencyError,
    NonConvergenceError,
)

CLASSES = [getattr(exceptions, name) for name in exceptions.__all__]


def test_the_tree_has_two_roots():
    for kind in CLASSES:
        assert issubclass(kind, DerandError) != issubclass(kind, DerandWarning)
    defined = [
        kind for _, kind in inspect.getmembers(exceptions, inspect.isclass) if kind.__module__ == exceptions.__name__
    ]
    assert sorted(kind.__name__ for kind in defined) == sorted(exceptions.__all__)


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("InputError", ValueError),
        ("InputTypeError", TypeError),
        ("GraphFormatError", ValueError),
        ("CertificateError", ValueError),
        ("DerivativeError", ValueError),
        ("BudgetExceededError", RuntimeError),
        ("NonConvergenceError", RuntimeError),
        ("MissingDependencyError", ImportError),
        ("DerandWarning", UserWarning),
    ],
)
def test_code_that_knows_nothing_of_derand_catches_the_built_in_class(name, builtin):
    assert issubclass(getattr(exceptions, name), builtin)


def test_partial_result_travels_with_the_error():
    for kind in (BudgetExceededError, NonConvergenceError, MissingDependencyError):
        error = kind("a sentence", partial={"best": 1})
        assert str(error) == "a sentence"
        assert error.partial == {"best": 1}
    assert InputError("x").partial is None


def test_line_number_is_part_of_the_message():
    error = GraphFormatError("no number", line=7)
    assert (str(error), error.line) == ("line 7: no number", 7)
    assert (str(GraphFormatError("empty")), GraphFormatError("empty").line) == ("empty", None)


def test_errors_cross_process_boundaries():
    """joblib and xdist send exceptions between processes by pickle."""
    error = pickle.loads(pickle.dumps(BudgetExceededError("too long", partial=(1, 2))))
    assert (type(error), str(error), error.partial) == (BudgetExceededError, "too long", (1, 2))
    error = pickle.loads(pickle.dumps(GraphFormatError("no number", line=7)))
    assert (str(error), error.line) == ("line 7: no number", 7)
