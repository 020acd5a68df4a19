"""A parallel map over threads, with ``n_jobs`` as in scikit-learn, or over what a caller offers in their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: ``map(function, items)``: the results in the order of the items.
Map = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
_OFFERED: ContextVar[Map | None] = ContextVar("_OFFERED", default=None)


@contextmanager
def using_parallel_map(offered: Map) -> Iterator[None]:
    """A context in which :func:`parallel_map` is ``offered``, such as the tasks of a cluster.

    What a function changes there in its arguments may stay there: only its result counts.
    """
    token = _OFFERED.set(offered)
    try:
        yield
    finally:
        _OFFERED.reset(token)


def parallel_map(function: Callable[[T], R], items: Iterable[T], n_jobs: int | None) -> list[R]:
    """``function`` of each of ``items``, in their order, by ``n_jobs`` threads at once.

    ``None`` and 1: without threads; negative: as many as processors, plus one, less. Threads, because matrices are
    multiplied outside Python's lock, and a process would take longer to start than most choices take. In the context
    of :func:`using_parallel_map` the number does not matter.

    Raises:
        ValueError: 0.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning.")
    offered = _OFFERED.get()
    if offered is not None:
        return offered(function, items)
    count = 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    if count == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))
