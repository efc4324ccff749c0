"""A cap on the threads of BLAS, so that results don't depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def blas_threads(limit: int | None) -> Iterator[None]:
    """Run the body with at most ``limit`` BLAS threads; None leaves them as they are."""
    if limit is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=limit, user_api="blas"):
        yield
