"""What a ledger teaches: its judgements as triplets of points.

Comparisons are triplets as they are. Thumbs for one query make more of them: what is like the query is alike
among itself, so the query and each case like it is nearer to the others than to what is not like the query.
One answer then teaches as many triplets as there were answers before it, which is what makes a few clicks
enough; a person thereby says "of the same kind", not only "close".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from core.metrics.distance import Matrix
from core.metrics.online.click_form import ClickForm
from core.metrics.online.click_learning import Judged, replay
from core.searches.judgement import Judgement, Kind

#: Each anchor is compared with so many of the cases like it and so many of those nearest that are not.
ALIKE_EACH, UNLIKE_EACH = 10, 10
#: Judgements after which the clicks count as much as the metric they started from.
HALF_TRUST = 20

#: The coordinates (m,) of a query or case by its key; ``None`` where it is gone from the library.
Coordinates = Callable[[str], Matrix | None]


def trust(judgements: int) -> float:
    """How far ``judgements`` clicks are followed, 0 to 1: few say little, and one in five may be wrong."""
    return judgements / (judgements + HALF_TRUST)


def learn(
    judgements: Iterable[Judgement], coordinates: Coordinates, m: int, strength: float = 1.0
) -> ClickForm:
    """The form in ``m`` dimensions that the judgements lead to, whatever their order.

    ``strength`` (0..1) blends between where it started and where the clicks lead, of which :func:`trust` is
    part.
    """
    said = list({one.said: one for one in judgements}.values())
    judged = triplets_of(said, coordinates)
    return ClickForm.start(m) if judged is None else replay(judged).blended(strength * trust(len(said)))


@dataclass
class _Asked:
    """What was said of one query."""

    query: str
    alike: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    shown: dict[str, None] = field(default_factory=dict)


class _Points:
    """The points triplets speak of, each once."""

    def __init__(self, coordinates: Coordinates) -> None:
        self._coordinates, self._places = coordinates, dict[str, int | None]()
        self.points: list[Matrix] = []

    def place(self, key: str) -> int | None:
        if key not in self._places:
            point = self._coordinates(key)
            self._places[key] = None if point is None else self.add(point)
        return self._places[key]

    def places(self, keys: Iterable[str]) -> list[int]:
        return [place for key in keys if (place := self.place(key)) is not None]

    def add(self, point: Matrix) -> int:
        self.points.append(point)
        return len(self.points) - 1


def triplets_of(judgements: Iterable[Judgement], coordinates: Coordinates) -> Judged | None:
    """Points and triplets of the judgements whose cases are still there; ``None`` if there are none."""
    points, asked = _Points(coordinates), dict[str, _Asked]()
    triplets: list[tuple[int, int, int]] = []
    # Sorted, so that neither the order of clicks nor its rounding decides anything.
    for one in sorted(judgements, key=lambda one: one.said):
        if one.kind == Kind.CLOSER:
            assert one.other is not None
            triple = points.places((one.asked, one.case, one.other))
            if len(triple) == 3:
                triplets.append((triple[0], triple[1], triple[2]))
            continue
        of_query = asked.setdefault(one.asked, _Asked(one.asked))
        (of_query.alike if one.kind == Kind.ALIKE else of_query.unlike).append(one.case)
        of_query.shown.update(dict.fromkeys(one.shown))
    for of_query in asked.values():
        triplets += _of_thumbs(of_query, points)
    return Judged.of(np.stack(points.points), triplets) if triplets else None


def _of_thumbs(asked: _Asked, points: _Points) -> list[tuple[int, int, int]]:
    query = points.place(asked.query)
    if query is None:
        return []
    alike, unlike = points.places(asked.alike), points.places(asked.unlike)
    if not alike or not unlike:
        return _alone(asked, query, alike, unlike, points)
    anchors = [query, *alike]
    others = np.stack([points.points[place] for place in unlike])
    out: list[tuple[int, int, int]] = []
    for anchor in anchors:
        squared = ((others - points.points[anchor]) ** 2).sum(axis=1)
        far = [unlike[place] for place in np.argsort(squared, kind="stable")[:UNLIKE_EACH]]
        near = [place for place in anchors if place != anchor]
        if len(near) > ALIKE_EACH:
            drawn = np.random.default_rng(len(near) * 1000 + anchors.index(anchor))
            near = sorted(drawn.choice(near, ALIKE_EACH, replace=False).tolist())
        out += [(anchor, n, f) for n in near for f in far if f not in (n, anchor)]
    return out


def _alone(
    asked: _Asked, query: int, alike: list[int], unlike: list[int], points: _Points
) -> list[tuple[int, int, int]]:
    """Only likes, or only dislikes: each against the mean of the others that were shown."""
    told = {*asked.alike, *asked.unlike, asked.query}
    others = points.places(sorted(key for key in asked.shown if key not in told))
    if not others:
        return []
    mean = points.add(np.mean([points.points[place] for place in others], axis=0))
    return [(query, case, mean) for case in alike] + [(query, mean, case) for case in unlike]
