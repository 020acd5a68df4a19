"""Near-duplicates in a ranking are grouped under the nearest of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from semblance.core.retrieval.index import Rows


class _HasRows(Protocol):
    @property
    def rows(self) -> Rows:
        """(r,) the ranked cases, nearest first."""


RankedRows = TypeVar("RankedRows", bound=_HasRows)


def group_near_duplicates(
    rank: Callable[[int], RankedRows], representatives: Callable[[Rows], Rows], count: int, first: int
) -> tuple[RankedRows, Rows, Rows]:
    """A ranking so long that ``count`` of its cases stay, where there are as many.

    ``rank(k)`` gives the k nearest; ``first`` is tried first. ``representatives(rows)`` gives for each of them,
    nearest first, the number of the one that stands for it. Returned with the ranking, and the numbers of the cases
    that stand for themselves.
    """
    k = first
    while True:
        ranking = rank(k)
        grouped = representatives(ranking.rows)
        remaining = np.flatnonzero(grouped == np.arange(len(grouped)))
        if len(remaining) >= min(count, len(ranking.rows)) or len(ranking.rows) < k:
            return ranking, grouped, remaining
        k += len(ranking.rows) - len(remaining)
