"""The forms a frozen distance can take, found again by their kind."""

from __future__ import annotations

from core.metrics.distance import Distance
from core.metrics.distances.bits import BitDistance
from core.metrics.distances.linear import LinearDistance
from core.metrics.distances.mapped import MappedDistance

DISTANCES: tuple[type[Distance], ...] = (LinearDistance, BitDistance, MappedDistance)

__all__ = ["DISTANCES", "BitDistance", "LinearDistance", "MappedDistance"]
