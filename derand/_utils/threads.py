"""A cap on the threads of BLAS, so that results don't depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def blas_threads(limit: int | None) -> Iterator[None]:
    """Run the body with at most ``limit`` BLAS threads; None leaves them as they are."""
    if limit is None:
        yield
        return
    with _controller().limit(limits=limit, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Return the loaded BLAS libraries; looking for them costs milliseconds, so it is done once."""
    # SciPy brings a BLAS of its own, which has to be loaded by now to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
