"""A parallel map over threads, with ``n_jobs`` as in scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def parallel_map(function: Callable[[T], R], items: Iterable[T], n_jobs: int | None) -> list[R]:
    """``function`` of each of ``items``, in their order, by ``n_jobs`` threads at once.

    ``None`` and 1: without threads; negative: as many as processors, plus one, less. Threads, because matrices are
    multiplied outside Python's lock, and a process would take longer to start than most choices take.

    Raises:
        ValueError: 0.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning.")
    count = 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    if count == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))
