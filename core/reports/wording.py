"""How the writers of a report put moments, regions and distances into words and bars."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime

from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.reports.distances import distance_text
from semblance.core.reports.document import RankedRow

#: Parts of a distance shown for a case; the rest are summed.
PARTS = 5


def when(moment: str) -> str:
    """``2026-03-01 14:05 UTC`` from ISO 8601; other text as it is."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    zone = at.tzname()
    return f"{at:%Y-%m-%d %H:%M}{f' {zone}' if zone else ''}"


def region_text(region: Region) -> str:
    """``30 × 20 px at 4, 5``, in a volume with its slices, counted from 1 as the viewer does."""
    text = tr_lazy(
        "{width} × {height} px at {x}, {y}", width=region.width, height=region.height, x=region.x, y=region.y
    )
    if region.z is None:
        return text
    first, last = region.z + 1, region.z + region.depth
    if first == last:
        return tr_lazy("{place}, slice {first}", place=text, first=first)
    return tr_lazy("{place}, slices {first} to {last}", place=text, first=first, last=last)


def signed_text(amount: float) -> str:
    """``+0.071``, with a true minus sign."""
    return f"{'−' if amount < 0 else '+'}{distance_text(abs(amount))}"


def leading_parts(row: RankedRow, most: int = PARTS) -> list[tuple[str, float]]:
    """The largest parts of a distance; all others, those the row does not hold included, as one. The amounts
    sum to the distance."""
    ordered = sorted(row.parts, key=lambda part: -abs(part[1]))
    if not ordered:
        return []
    missing = row.distance - sum(amount for _, amount in ordered)
    untold = abs(missing) > 1e-6 * max(abs(row.distance), 1e-300)
    if len(ordered) + untold <= most:
        return [*ordered, (tr_lazy("others"), missing)] if untold else ordered
    rest = ordered[most - 1 :]
    name = tr_lazy("others") if untold else tr_lazy("{n} others", n=len(rest))
    return [*ordered[: most - 1], (name, sum(amount for _, amount in rest) + (missing if untold else 0.0))]


def waterfall(row: RankedRow, most: int = PARTS) -> list[tuple[str, float, float, float]]:
    """Each leading part with the place (0..1) and length of its step, from nothing to the distance."""
    parts = leading_parts(row, most)
    edges = [0.0]
    for _, amount in parts:
        edges.append(edges[-1] + amount)
    low, high = min(edges), max(edges)
    span = (high - low) or 1.0
    steps = []
    for (name, amount), (start, end) in zip(parts, itertools.pairwise(edges), strict=True):
        steps.append((name, amount, (min(start, end) - low) / span, abs(end - start) / span))
    return steps


def reach(row: RankedRow, ranking: Sequence[RankedRow]) -> float:
    """The distance as a share, 0..1, of the largest in the ranking."""
    farthest = max((other.distance for other in ranking), default=0.0)
    return min(1.0, max(0.0, row.distance / farthest)) if farthest > 0 else 0.0
