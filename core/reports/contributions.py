"""The contributions to a distance as a report shows them: the leading parts, and the steps of a waterfall."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from semblance.core.language import tr_lazy
from semblance.core.reports.document import RankedRow

#: Parts of a distance shown for a case; the others are summed.
PARTS = 5


def leading_parts(row: RankedRow, limit: int = PARTS) -> list[tuple[str, float]]:
    """The largest parts of a distance, and all others as one part, including those not in the row. The amounts sum
    to the distance."""
    ordered = sorted(row.parts, key=lambda part: -abs(part[1]))
    if not ordered:
        return []
    missing = row.distance - sum(amount for _, amount in ordered)
    has_rest = abs(missing) > 1e-6 * max(abs(row.distance), 1e-300)
    if len(ordered) + has_rest <= limit:
        return [*ordered, (tr_lazy("others"), missing)] if has_rest else ordered
    rest = ordered[limit - 1 :]
    name = tr_lazy("others") if has_rest else tr_lazy("{n} others", n=len(rest))
    return [*ordered[: limit - 1], (name, sum(amount for _, amount in rest) + (missing if has_rest else 0.0))]


def waterfall(row: RankedRow, limit: int = PARTS) -> list[tuple[str, float, float, float]]:
    """Each leading part with the start (0..1) and length of its step from 0 to the distance."""
    parts = leading_parts(row, limit)
    edges = [0.0]
    for _, amount in parts:
        edges.append(edges[-1] + amount)
    low, high = min(edges), max(edges)
    span = (high - low) or 1.0
    steps = []
    for (name, amount), (start, end) in zip(parts, itertools.pairwise(edges), strict=True):
        steps.append((name, amount, (min(start, end) - low) / span, abs(end - start) / span))
    return steps


def relative_distance(row: RankedRow, ranking: Sequence[RankedRow]) -> float:
    """The distance as a share, 0..1, of the largest in the ranking."""
    farthest = max((other.distance for other in ranking), default=0.0)
    return min(1.0, max(0.0, row.distance / farthest)) if farthest > 0 else 0.0
