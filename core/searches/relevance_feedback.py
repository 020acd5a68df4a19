"""What a ledger teaches: its judgements as triplets of points, and as directions that tell cases apart.

Comparisons are triplets as they are. Thumbs for one query make more of them: what is like the query is alike
among itself, so the query and each case like it is nearer to the others than to what is not like the query.
One answer then teaches as many triplets as there were answers before it, which is what makes a few clicks
enough; a person thereby says "of the same kind", not only "close".

A judgement that all others about its query speak against counts less, and all triplets together count no
more than the judgements warrant, however many they are, and more where queries agree. Where many cases were
judged for one query, the direction that tells what is like it from what is not is stretched, as far as it
predicts each judgement from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.judgement_agreement import (
    SeparatingDirection,
    agreement,
    judgement_reliabilities,
    separating_direction,
)
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from semblance.core.metrics.relevance_feedback.triplet_learning import Rows, WeightedTriplets, fit_form
from semblance.core.searches.judgement import Judgement, Kind

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

#: Each anchor is compared with so many of the cases like it and so many of those nearest that are not.
ALIKE_EACH, UNLIKE_EACH = 10, 10
#: Judgements after which triplets count as much as the metric they started from.
HALF_TRUST = 20
#: The first judgements are followed as so many would be: a person shall see what one does. One thumb then
#: moves its own case by a rank or two and the others of the first 20 by a third of a rank.
FIRST = 4
#: What all triplets weigh together at most: so much, and so much more for every judgement; the latter grows
#: with the agreement of queries.
WEIGHT, WEIGHT_EACH, AGREED = 5.0, 0.3, 10.0
#: Directions that predicted every judgement would together be stretched so much; each takes so many cases.
STRETCH, FEWEST_FOR_DIRECTION = 30.0, 24

#: The coordinates (m,) of a query or case by its key; ``None`` where it is gone from the library.
Coordinates = Callable[[str], Matrix | None]


def trust(judgements: int) -> float:
    """How far ``judgements`` clicks are followed, 0 to 1: few say little, and one in five may be wrong."""
    counted = max(judgements, FIRST) if judgements else 0
    return counted / (counted + HALF_TRUST)


def opened(judgements: int) -> float:
    """How far plain features count after so many clicks, 0 to 1: half after as many as are half trusted.

    The first count with hardly anything: among a query's nearest cases any share of what the metric leaves
    out, such as all but one direction, decides the order by itself.
    """
    return judgements**2 / (judgements**2 + HALF_TRUST**2)


def learn(
    judgements: Iterable[Judgement],
    coordinates: Coordinates,
    m: int,
    strength: float = 1.0,
    beginning: InitialWeights | None = None,
) -> FeedbackForm:
    """The form in ``m`` dimensions that the judgements lead to, whatever their order.

    ``strength`` (0..1) blends between where it started and where the clicks lead, of which :func:`trust` is
    part for what the triplets say; directions are trusted as far as they predict. It started from
    ``beginning``, which opens as :func:`opened` says.
    """
    distinct = list({one.statement: one for one in judgements}.values())
    with one_thread():
        given = gather_feedback(distinct, coordinates)
        judged = given.judged()
        if judged is None:
            return FeedbackForm.start(m, beginning)
        form = fit_form(judged).blended(trust(len(distinct))).stretched(given.directions(m))
        return form.begun(beginning, opened(len(distinct))).blended(strength)


def one_thread() -> AbstractContextManager[object]:
    """Inside it BLAS, which spends ten times as long on matrices this small with two threads, has one."""
    limits: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limits


@cache
def _blas() -> ThreadpoolController:
    """Found once: looking for the libraries of a process takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@dataclass
class _QueryJudgements:
    """The judgements about one query."""

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


class GatheredFeedback:
    """Points, triplets with weights, and the judgements of each query with both likes and dislikes."""

    def __init__(self, points: _Points) -> None:
        self.points = points
        #: Triplets (t, 3) and weights (t,) of each query or comparison.
        self.parts: list[tuple[Rows, Matrix]] = []
        self.judgements = 0
        #: For each query places (n,), signs (n,) and beliefs (n,).
        self.signed: list[tuple[list[int], Matrix, Matrix]] = []

    def add(self, triplets: Rows, weights: Matrix, judgements: int) -> None:
        """Triplets (t, 3) that together count as much as the judgements they came from."""
        if len(triplets):
            self.parts.append((triplets, weights * (judgements / weights.sum())))
        self.judgements += judgements

    def judged(self) -> WeightedTriplets | None:
        """All triplets with their final weights; ``None`` without any."""
        if not self.parts:
            return None
        points = np.stack(self.points.points)
        weights = np.concatenate([part for _, part in self.parts])
        most = most_weight(len(weights), self.judgements, agreement(points, self.parts))
        triplets = np.concatenate([part for part, _ in self.parts])
        return WeightedTriplets.of(points, triplets, weights * (most / weights.sum()))

    def directions(self, m: int) -> Matrix:
        """(v, m) to stretch along: one for each query with many judgements.

        What tells one apart may not tell others, so they count by the share such queries have in all.
        """
        return stretched_along(self.separating_directions(), self.judgements, m)

    def separating_directions(self) -> list[tuple[int, SeparatingDirection | None]]:
        """For each query with many judgements their number, and the direction that tells them apart."""
        return [
            (
                len(places) - 1,
                separating_direction(np.stack([self.points.points[p] for p in places]), signs, believed),
            )
            for places, signs, believed in self.signed
            if len(places) >= FEWEST_FOR_DIRECTION
        ]


def most_weight(triplets: int, judgements: int, agreed: float) -> float:
    """What so many triplets of so many judgements weigh together at most."""
    return min(float(triplets), WEIGHT + WEIGHT_EACH * (1.0 + AGREED * agreed) * judgements)


def stretched_along(
    separating_directions: list[tuple[int, SeparatingDirection | None]], judgements: int, m: int
) -> Matrix:
    """(v, m) directions as long as the form is stretched along them; see :meth:`GatheredFeedback.directions`."""
    covered = sum(number for number, _ in separating_directions) / max(1, judgements)
    most = STRETCH * covered / max(1, len(separating_directions))
    found = [one.unit * np.sqrt(most * one.share) for _, one in separating_directions if one is not None]
    return np.array(found).reshape(-1, m)


def feedback_triplets(judgements: Iterable[Judgement], coordinates: Coordinates) -> WeightedTriplets | None:
    """Points and triplets of the judgements whose cases are still there; ``None`` if there are none."""
    return gather_feedback(judgements, coordinates).judged()


def gather_feedback(judgements: Iterable[Judgement], coordinates: Coordinates) -> GatheredFeedback:
    """The triplets of comparisons and thumbs, as far as their cases are still in the library."""
    points, asked = _Points(coordinates), dict[str, _QueryJudgements]()
    out = GatheredFeedback(points)
    # Sorted, so that neither the order of clicks nor its rounding decides anything.
    for one in sorted(judgements, key=lambda one: one.statement):
        if one.kind == Kind.CLOSER:
            assert one.other is not None
            triple = points.places((one.asked, one.case, one.other))
            if len(triple) == 3:
                out.add(np.array([triple], dtype=np.int64), np.ones(1), 1)
            continue
        of_query = asked.setdefault(one.asked, _QueryJudgements(one.asked))
        (of_query.alike if one.kind == Kind.ALIKE else of_query.unlike).append(one.case)
        of_query.shown.update(dict.fromkeys(one.shown))
    for of_query in asked.values():
        _add_thumbs(of_query, out)
    return out


def _add_thumbs(asked: _QueryJudgements, out: GatheredFeedback) -> None:
    points = out.points
    query = points.place(asked.query)
    if query is None:
        return
    alike, unlike = points.places(asked.alike), points.places(asked.unlike)
    n_judgements = len(alike) + len(unlike)
    if not alike or not unlike:
        alone = _alone(asked, query, alike, unlike, points)
        out.add(alone, np.ones(len(alone)), n_judgements)
        return
    places = [query, *alike, *unlike]
    signs = np.repeat([1.0, -1.0], [1 + len(alike), len(unlike)])
    believed = judgement_reliabilities(np.stack([points.points[place] for place in places]), signs)
    belief = np.zeros(len(points.points))
    # A case called both like and unlike stands twice; the later counts.
    belief[places] = believed
    triplets = _of_thumbs([query, *alike], unlike, points)
    out.add(triplets, belief[triplets].prod(axis=1) ** 2, n_judgements)
    out.signed.append((places, signs, believed**2))


def _of_thumbs(anchors: list[int], unlike: list[int], points: _Points) -> Rows:
    """(t, 3): each anchor is nearer to the others of them than to what is unlike."""
    others = np.stack([points.points[place] for place in unlike])
    all_alike, all_unlike = np.array(anchors), np.array(unlike)
    out = []
    for number, anchor in enumerate(anchors):
        squared = ((others - points.points[anchor]) ** 2).sum(axis=1)
        far = all_unlike[np.argsort(squared, kind="stable")[:UNLIKE_EACH]]
        near = all_alike[all_alike != anchor]
        if len(near) > ALIKE_EACH:
            near = np.sort(np.random.default_rng(len(near) * 1000 + number).choice(near, ALIKE_EACH, False))
        pairs = np.column_stack([np.repeat(near, len(far)), np.tile(far, len(near))])
        pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 1] != anchor)]
        out.append(np.column_stack([np.full(len(pairs), anchor), pairs]))
    return np.concatenate(out)


def _alone(asked: _QueryJudgements, query: int, alike: list[int], unlike: list[int], points: _Points) -> Rows:
    """Only likes, or only dislikes: each against the mean of the others that were shown."""
    judged_keys = {*asked.alike, *asked.unlike, asked.query}
    others = points.places(sorted(key for key in asked.shown if key not in judged_keys))
    if not others:
        return np.empty((0, 3), dtype=np.int64)
    mean = points.add(np.mean([points.points[place] for place in others], axis=0))
    compared = [(query, case, mean) for case in alike] + [(query, mean, case) for case in unlike]
    return np.array(compared, dtype=np.int64)
