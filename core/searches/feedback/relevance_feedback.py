"""Learning from a ledger: judgements become triplets of points, and directions that separate cases.

A comparison is a triplet. The marks of one query give more triplets: the query and each case like it are nearer to
the other cases like it than to the cases unlike it. Each judgement then gives as many triplets as there were
judgements before it, so few judgements suffice. A mark thereby means "of the same kind", not only "close".

A judgement that contradicts the others of its query has less weight. The weight of all triplets together is limited
by the number of judgements, and grows with the agreement of queries. If many cases were judged for one query, the
form is stretched along the direction that separates cases like it from cases unlike it, as much as this direction
predicts each judgement from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

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
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.threads import one_thread

#: Each anchor is compared with so many cases like it and so many of the nearest cases unlike it.
MAX_POSITIVE, MAX_NEGATIVE = 10, 10
#: Number of judgements at which the triplets have the weight of the initial metric.
HALF_TRUST = 20
#: Fewer judgements have the weight of so many, so that one judgement has a visible effect: it moves its own
#: case by a rank or two and the others of the first 20 by a third of a rank.
MIN_COUNTED = 4
#: The maximum weight of all triplets together: a constant and a share for every judgement, which grows with the
#: agreement of queries.
WEIGHT, WEIGHT_PER_JUDGEMENT, AGREEMENT_FACTOR = 5.0, 0.3, 10.0
#: Stretching by directions that predict every judgement, and the number of cases a direction needs.
STRETCH, MIN_CASES_FOR_DIRECTION = 30.0, 24

#: The coordinates (m,) of a query or case by its key; ``None`` if it was deleted from the library.
Coordinates = Callable[[str], Matrix | None]


def trust(judgements: int) -> float:
    """The weight of the learnt form after so many judgements, 0 to 1. One in five may be wrong."""
    count = max(judgements, MIN_COUNTED) if judgements else 0
    return count / (count + HALF_TRUST)


def feature_weight(judgements: int) -> float:
    """The weight of plain features after so many judgements, 0 to 1; one half after HALF_TRUST judgements.

    It is close to 0 after the first judgements: among the nearest cases of a query even a small weight of what the
    metric leaves out, such as all but one direction, determines the order.
    """
    return judgements**2 / (judgements**2 + HALF_TRUST**2)


def learn_form(
    judgements: Iterable[Judgement],
    coordinates: Coordinates,
    m: int,
    strength: float = 1.0,
    initial_weights: InitialWeights | None = None,
) -> FeedbackForm:
    """Learn the quadratic form in ``m`` dimensions from the judgements, independent of their order.

    ``strength`` (0..1) blends between the initial and the learnt form. :func:`trust` weights the triplets,
    directions are weighted by how well they predict. The initial form has ``initial_weights``, weighted by
    :func:`feature_weight`.
    """
    distinct = list({one.statement: one for one in judgements}.values())
    with one_thread():
        feedback = gather_feedback(distinct, coordinates)
        triplets = feedback.weighted_triplets()
        if triplets is None:
            return FeedbackForm.start(m, initial_weights)
        form = fit_form(triplets).blended(trust(len(distinct))).stretched(feedback.directions(m))
        return form.with_initial_weights(initial_weights, feature_weight(len(distinct))).blended(strength)


@dataclass
class _QueryJudgements:
    """The judgements of one query."""

    query: str
    positive: list[str] = field(default_factory=list)
    negative: list[str] = field(default_factory=list)
    shown: dict[str, None] = field(default_factory=dict)


class _Points:
    """The points of the triplets, each once."""

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
    """Points, triplets with weights, and the judgements of each query that has cases like and unlike it."""

    def __init__(self, points: _Points) -> None:
        self.points = points
        #: Triplets (t, 3) and weights (t,) of each query or comparison.
        self.parts: list[tuple[Rows, Matrix]] = []
        self.judgements = 0
        #: For each query point numbers (n,), signs (n,) and reliabilities (n,).
        self.separable: list[tuple[list[int], Matrix, Matrix]] = []

    def add(self, triplets: Rows, weights: Matrix, judgements: int) -> None:
        """Add triplets (t, 3), with a total weight of the number of judgements they came from."""
        if len(triplets):
            self.parts.append((triplets, weights * (judgements / weights.sum())))
        self.judgements += judgements

    def weighted_triplets(self) -> WeightedTriplets | None:
        """All triplets with their final weights; ``None`` without any."""
        if not self.parts:
            return None
        points = np.stack(self.points.points)
        weights = np.concatenate([part for _, part in self.parts])
        maximum = maximum_weight(len(weights), self.judgements, agreement(points, self.parts))
        triplets = np.concatenate([part for part, _ in self.parts])
        return WeightedTriplets.of(points, triplets, weights * (maximum / weights.sum()))

    def directions(self, m: int) -> Matrix:
        """(v, m) the directions to stretch along, one for each query with many judgements.

        Their weight is the share of these queries in all judgements, because a direction of one query may not separate
        the cases of others.
        """
        return stretch_directions(self.separating_directions(), self.judgements, m)

    def separating_directions(self) -> list[tuple[int, SeparatingDirection | None]]:
        """For each query with many judgements their number, and the direction that separates its cases."""
        return [
            (
                len(places) - 1,
                separating_direction(np.stack([self.points.points[p] for p in places]), signs, reliabilities),
            )
            for places, signs, reliabilities in self.separable
            if len(places) >= MIN_CASES_FOR_DIRECTION
        ]


def maximum_weight(triplets: int, judgements: int, agreement_share: float) -> float:
    """The maximum weight of so many triplets of so many judgements."""
    return min(
        float(triplets),
        WEIGHT + WEIGHT_PER_JUDGEMENT * (1.0 + AGREEMENT_FACTOR * agreement_share) * judgements,
    )


def stretch_directions(
    separating_directions: list[tuple[int, SeparatingDirection | None]], judgements: int, m: int
) -> Matrix:
    """(v, m) directions with the length of the stretching; see :meth:`GatheredFeedback.directions`."""
    covered = sum(number for number, _ in separating_directions) / max(1, judgements)
    maximum = STRETCH * covered / max(1, len(separating_directions))
    found = [one.unit * np.sqrt(maximum * one.share) for _, one in separating_directions if one is not None]
    return np.array(found).reshape(-1, m)


def feedback_triplets(judgements: Iterable[Judgement], coordinates: Coordinates) -> WeightedTriplets | None:
    """Points and triplets of the judgements whose cases exist; ``None`` if there are none."""
    return gather_feedback(judgements, coordinates).weighted_triplets()


def gather_feedback(judgements: Iterable[Judgement], coordinates: Coordinates) -> GatheredFeedback:
    """The triplets of comparisons and marks whose cases are in the library."""
    points, judged_query = _Points(coordinates), dict[str, _QueryJudgements]()
    out = GatheredFeedback(points)
    # Sorted, so that the order of judgements has no effect, not even by rounding.
    for one in sorted(judgements, key=lambda one: one.statement):
        if one.kind == JudgementKind.CLOSER:
            assert one.other is not None
            places_of_comparison = points.places((one.query_key, one.case, one.other))
            if len(places_of_comparison) == 3:
                out.add(np.array([places_of_comparison], dtype=np.int64), np.ones(1), 1)
            continue
        query_judgements = judged_query.setdefault(one.query_key, _QueryJudgements(one.query_key))
        (query_judgements.positive if one.kind == JudgementKind.ALIKE else query_judgements.negative).append(
            one.case
        )
        query_judgements.shown.update(dict.fromkeys(one.shown))
    for query_judgements in judged_query.values():
        _add_marks(query_judgements, out)
    return out


def _add_marks(judged_query: _QueryJudgements, out: GatheredFeedback) -> None:
    points = out.points
    query = points.place(judged_query.query)
    if query is None:
        return
    positive, negative = points.places(judged_query.positive), points.places(judged_query.negative)
    n_judgements = len(positive) + len(negative)
    if not positive or not negative:
        triplets = _one_sided_triplets(judged_query, query, positive, negative, points)
        out.add(triplets, np.ones(len(triplets)), n_judgements)
        return
    places = [query, *positive, *negative]
    signs = np.repeat([1.0, -1.0], [1 + len(positive), len(negative)])
    reliabilities = judgement_reliabilities(np.stack([points.points[place] for place in places]), signs)
    reliability = np.zeros(len(points.points))
    # A case marked both like and unlike occurs twice; the last one counts.
    reliability[places] = reliabilities
    triplets = _mark_triplets([query, *positive], negative, points)
    out.add(triplets, reliability[triplets].prod(axis=1) ** 2, n_judgements)
    out.separable.append((places, signs, reliabilities**2))


def _mark_triplets(anchors: list[int], negative: list[int], points: _Points) -> Rows:
    """(t, 3) triplets: each anchor is nearer to the other anchors than to the cases unlike them."""
    unlike_points = np.stack([points.points[place] for place in negative])
    all_positive, all_negative = np.array(anchors), np.array(negative)
    out = []
    for number, anchor in enumerate(anchors):
        squared = ((unlike_points - points.points[anchor]) ** 2).sum(axis=1)
        far = all_negative[np.argsort(squared, kind="stable")[:MAX_NEGATIVE]]
        near = all_positive[all_positive != anchor]
        if len(near) > MAX_POSITIVE:
            near = np.sort(np.random.default_rng(len(near) * 1000 + number).choice(near, MAX_POSITIVE, False))
        pairs = np.column_stack([np.repeat(near, len(far)), np.tile(far, len(near))])
        pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 1] != anchor)]
        out.append(np.column_stack([np.full(len(pairs), anchor), pairs]))
    return np.concatenate(out)


def _one_sided_triplets(
    judged_query: _QueryJudgements, query: int, positive: list[int], negative: list[int], points: _Points
) -> Rows:
    """Triplets if all marks have the same sign: each case against the mean of the other visible cases."""
    judged_keys = {*judged_query.positive, *judged_query.negative, judged_query.query}
    others = points.places(sorted(key for key in judged_query.shown if key not in judged_keys))
    if not others:
        return np.empty((0, 3), dtype=np.int64)
    mean = points.add(np.mean([points.points[place] for place in others], axis=0))
    triplets = [(query, case, mean) for case in positive] + [(query, mean, case) for case in negative]
    return np.array(triplets, dtype=np.int64)
