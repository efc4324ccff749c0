"""Errors and warnings of derand, in one tree.

Every error derives from `DerandError` and from the built-in exception that a caller would expect (`ValueError`,
`TypeError`, `RuntimeError`), so that code which knows nothing of derand still catches the right thing.  An error that
interrupts a computation carries what was reached in its attribute ``partial``.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BudgetExceededError",
    "CertificateError",
    "DerandError",
    "DerandWarning",
    "DerivativeError",
    "GraphFormatError",
    "InputError",
    "InputTypeError",
    "MeaninglessCertificateWarning",
    "MissingDependencyError",
    "NonConvergenceError",
    "NonConvergenceWarning",
    "PrecisionWarning",
]


class DerandError(Exception):
    """Base class of all errors raised on purpose by derand.

    Parameters
    ----------
    message : str
        One sentence that names the offending thing and says what to do.
    partial : object, optional
        What was reached before the error, for an error that interrupts a computation.
    """

    def __init__(self, message: str = "", *, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class InputError(DerandError, ValueError):
    """A value, shape or range that the function can't work with."""


class InputTypeError(DerandError, TypeError):
    """An argument of the wrong type."""


class GraphFormatError(InputError):
    """A file or a text that isn't a graph in the format it claims.

    Parameters
    ----------
    message : str
        What is wrong.
    line : int, optional
        Number of the offending line, counted from 1.
    """

    def __init__(self, message: str = "", *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class CertificateError(DerandError, ValueError):
    """A certificate that doesn't prove what it claims."""


class DerivativeError(InputError):
    """A gradient or Hessian product that contradicts the function it belongs to."""


class BudgetExceededError(DerandError, RuntimeError):
    """A limit on time, memory or evaluations was reached; ``partial`` holds the best result so far."""


class NonConvergenceError(DerandError, RuntimeError):
    """An iteration ended without reaching its tolerance; ``partial`` holds the best result so far."""


class MissingDependencyError(DerandError, ImportError):
    """An optional package is needed and not installed."""


class DerandWarning(UserWarning):
    """Base class of all warnings issued by derand."""


class NonConvergenceWarning(DerandWarning):
    """The returned result is valid but its tolerance was not reached."""


class PrecisionWarning(DerandWarning):
    """Rounding limits what can be computed or proved here."""


class MeaninglessCertificateWarning(DerandWarning):
    """A certificate holds for the sampled objective but says little about the expectation."""
