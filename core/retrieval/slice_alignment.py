"""The same level in another volume: slices of two volumes in pairs, by their descriptions.

A monotone path through the similarities of all slices, found by dynamic programming: a slice of one volume may be
matched anywhere between the slices of the other. The ends are free, so that either volume may reach further. That two
volumes show no common part is decided on the path: by how alike its slices are, by how much of the shorter volume it
covers, by whether a path through the slices in the opposite order is nearly as good, and by whether the most similar
slice, looked for alone, lies near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import unit_rows

Rows = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float64]

#: Similarities are compared with what is usual between the slices of two volumes: their mean and so many standard
#: deviations. A slice less alike than that is rather not matched.
USUAL_SD = 0.75
#: What it costs to go faster or slower through one volume than through the other: so much a mm, times the square of
#: the relative difference. And what it costs a mm where both volumes go on beyond the path.
SPEED_COST, END_COST = 0.12, 0.05
#: The path goes at most so many times as fast through one volume as through the other.
FASTEST = 2.0
#: Positions between two slices at which one may be matched.
PARTS = 4
#: Where slices have no known distance, a volume is taken to be so long.
ASSUMED_MM = 200.0

#: What volumes with a common part have at least: the mean similarity of matched slices, the part of the shorter volume
#: that is matched, how many times the score of the opposite order is exceeded, and the share of slices whose most
#: similar slice lies within NEAR_MM of the matched one. Chosen on parts of two CT of the chest and on two MR of the
#: head, generated versions of them, and shuffled slices.
LEAST_SIMILARITY, LEAST_PART, LEAST_RATIO, LEAST_AGREEMENT = 0.68, 0.5, 2.0, 0.45
NEAR_MM = 15.0
#: Slices that follow each other are more alike than any two of the volume, by so much of what is possible at least.
#: Else they are in no order.
LEAST_ORDER = 0.25
#: With fewer described slices in one of the volumes there is no order to judge by: then the similarity decides.
FEWEST, LEAST_SIMILARITY_OF_FEW = 3, 0.8

CONTENT, POSITION = "content", "position"


@dataclass(frozen=True, eq=False)
class DescribedSlices:
    """Some slices of a volume of ``count`` slices, from the first to the last.

    ``slices`` (s,): their numbers from 0, ascending. ``rows`` (s, d) of length 1 describe them. ``distance_mm`` from
    each slice of the volume to the next; ``None`` where it is unknown.
    """

    slices: npt.NDArray[np.intp]
    rows: Rows
    count: int
    distance_mm: float | None

    @property
    def are_in_order(self) -> bool:
        """Whether slices change gradually from each to the next; true of few slices."""
        n = len(self.rows)
        if n <= FEWEST:
            return True
        following = float((self.rows[1:] * self.rows[:-1]).sum(axis=1).mean())
        # Of all pairs of different slices.
        usual = (float(np.square(self.rows.sum(axis=0, dtype=np.float64)).sum()) - n) / (n * (n - 1))
        return following - usual >= LEAST_ORDER * (1.0 - usual)

    def reversed(self) -> Self:
        """The volume with its last slice first."""
        turned = (self.count - 1 - self.slices)[::-1]
        return type(self)(turned, self.rows[::-1], self.count, self.distance_mm)


@dataclass(frozen=True, eq=False)
class Alignment:
    """The slices of one volume with their counterparts in another.

    ``slices`` (k,): numbers from 0, ascending and without gaps. ``counterparts`` (k,): where each lies in the other
    volume, in slices from 0, between two of them where it is no whole number. ``count``, ``other_count``: slices of
    both. ``is_reversed``: the slices of the other run the other way. ``similarity``: mean cosine of matched slices.
    ``confidence``, 0 to 1: the share of slices whose most similar slice in the other volume, looked for without the
    order, lies within :data:`NEAR_MM` of the counterpart. ``by``: what they were aligned by.

    Empty where the volumes have no common part.
    """

    slices: npt.NDArray[np.intp]
    counterparts: Numbers
    count: int
    other_count: int
    is_reversed: bool = False
    similarity: float = 0.0
    confidence: float = 0.0
    by: str = CONTENT

    @property
    def overlap(self) -> float:
        """The share of the slices of the first volume that have a counterpart."""
        return len(self.slices) / self.count

    def pairs(self) -> list[tuple[int, int]]:
        """(slice, nearest slice of the other volume), both from 0."""
        nearest = np.clip(np.floor(self.counterparts + 0.5).astype(int), 0, self.other_count - 1)
        return list(zip(self.slices.tolist(), nearest.tolist(), strict=True))

    def to_json(self) -> dict[str, object]:
        """The pairs from 1, the share of slices that have a counterpart, and what they were found by."""
        return {
            "slices": [[one + 1, other + 1] for one, other in self.pairs()],
            "overlap": round(self.overlap, 4),
            "confidence": round(self.confidence, 4),
            "by": self.by,
            "reversed": self.is_reversed,
        }

    def counterpart(self, place: int) -> int | None:
        """The slice of the other volume at the level of ``place``; ``None`` beyond the common part."""
        at = place - int(self.slices[0]) if len(self.slices) else -1
        return self.pairs()[at][1] if 0 <= at < len(self.slices) else None

    def inverse(self) -> Alignment:
        """The same pairs for the slices of the other volume."""
        order = np.argsort(self.counterparts, kind="stable")
        there, here = self.counterparts[order], self.slices[order].astype(np.float64)
        if not len(there):
            slices = np.empty(0, dtype=np.intp)
        else:
            first, last = np.ceil(there[0] - 0.5 + 1e-9), np.floor(there[-1] + 0.5)
            slices = np.arange(max(first, 0), min(last, self.other_count - 1) + 1).astype(np.intp)
        found = np.interp(slices, there, here) if len(there) else there
        return Alignment(
            slices,
            found,
            self.other_count,
            self.count,
            self.is_reversed,
            self.similarity,
            self.confidence,
            self.by,
        )


def align_slices(
    one: DescribedSlices, other: DescribedSlices, *, runs_the_same_way: bool | None = None
) -> Alignment:
    """The level of each slice of ``one`` in ``other``.

    ``runs_the_same_way``: whether the slices of both follow each other in the same direction of the patient; ``None``
    where that is unknown. The content decides where it says clearly otherwise, because headers may be wrong.
    """
    if not (one.are_in_order and other.are_in_order):
        return no_alignment(one.count, other.count)
    lengths = _lengths(one, other)
    forward = _Candidate.found(one, other, lengths, is_reversed=False)
    backward = _Candidate.found(one, other, lengths, is_reversed=True)
    best, null = (forward, backward) if forward.score >= backward.score else (backward, forward)
    if runs_the_same_way is not None:
        expected, opposite = (forward, backward) if runs_the_same_way else (backward, forward)
        best, null = (expected, opposite) if expected.is_better_than(opposite) else (best, null)
    if not best.is_better_than(null):
        return no_alignment(one.count, other.count)
    return best.alignment(one, other)


def no_alignment(count: int, other_count: int) -> Alignment:
    """Of volumes without a common part."""
    return Alignment(np.empty(0, dtype=np.intp), np.empty(0), count, other_count)


def align_by_position(heights: Sequence[float], other_heights: Sequence[float]) -> Alignment:
    """The slices of two volumes in one frame of reference, from their positions in mm along a common normal, in the
    order of the slices."""
    one, other = np.asarray(heights, dtype=np.float64), np.asarray(other_heights, dtype=np.float64)
    order = np.argsort(other, kind="stable")
    step = float(np.median(np.diff(other[order]))) if len(other) > 1 else 0.0
    inside = (one >= other.min() - step / 2 - 1e-6) & (one <= other.max() + step / 2 + 1e-6)
    slices = np.flatnonzero(inside)
    found = np.interp(one[slices], other[order], order.astype(np.float64))
    turned = len(one) > 1 and len(other) > 1 and (one[1] - one[0]) * (other[1] - other[0]) < 0
    return Alignment(slices, found, len(one), len(other), turned, 1.0, 1.0, POSITION)


def slice_path(similarity: Numbers, step_mm: float, grid_mm: float) -> tuple[npt.NDArray[np.intp], float]:
    """((n,) positions in the second volume, -1 for none, and the score) of the best monotone path through
    ``similarity`` (n, p).

    ``similarity``: of n slices, ``step_mm`` apart, with p positions, ``grid_mm`` apart, less what is usual. The path
    maximises the sum of ``step_mm`` times the similarity of each matched slice, less
    ``step_mm * SPEED_COST * (way / step_mm - 1) ** 2`` for the ``way`` in mm from one match to the next, less
    ``END_COST`` for each mm by which both volumes go on before its first and after its last match.
    """
    n, p = similarity.shape
    gains = step_mm * similarity
    most = int(FASTEST * step_mm / grid_mm + 1e-9)
    ways = np.arange(most + 1) * grid_mm
    costs = SPEED_COST * (ways - step_mm) ** 2 / max(step_mm, 1e-9)
    before = np.arange(p) * grid_mm
    after = before[::-1]
    scores = np.empty((n, p))
    came = np.full((n, p), -1, dtype=np.intp)
    scores[0] = gains[0]
    for i in range(1, n):
        padded = np.concatenate([np.full(most, -np.inf), scores[i - 1]])
        # [k, w]: the score of the slice before at the position k - w.
        reached = np.lib.stride_tricks.sliding_window_view(padded, most + 1)[:, ::-1] - costs
        way = reached.argmax(axis=1)
        continued = reached[np.arange(p), way]
        begun = -END_COST * np.minimum(i * step_mm, before)
        begins = begun > continued
        scores[i] = gains[i] + np.where(begins, begun, continued)
        came[i] = np.where(begins, -1, way)
    left = (n - 1 - np.arange(n)) * step_mm
    total = scores - END_COST * np.minimum(left[:, np.newaxis], after)
    i, k = divmod(int(total.argmax()), p)
    score = float(total[i, k])
    path = np.full(n, -1, dtype=np.intp)
    path[i] = k
    while came[i, k] >= 0:
        k -= int(came[i, k])
        i -= 1
        path[i] = k
    return path, score


class _Lengths(NamedTuple):
    """The distance of slices of both volumes in mm, known or assumed."""

    one: float
    other: float


def _lengths(one: DescribedSlices, other: DescribedSlices) -> _Lengths:
    known = [each.distance_mm * max(each.count - 1, 1) for each in (one, other) if each.distance_mm]
    assumed = known[0] if known else ASSUMED_MM
    return _Lengths(*(each.distance_mm or assumed / max(each.count - 1, 1) for each in (one, other)))


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The best path in one order of the slices. ``matched`` (k,): positions among the described slices of the first
    volume; ``levels`` (k,): in slices of the second, in its own order; the rest as in :class:`Alignment`."""

    matched: npt.NDArray[np.intp]
    levels: Numbers
    score: float
    similarity: float
    part: float
    agreement: float
    is_reversed: bool
    are_few: bool

    @classmethod
    def found(
        cls, one: DescribedSlices, other: DescribedSlices, lengths: _Lengths, *, is_reversed: bool
    ) -> Self:
        turned = other.reversed() if is_reversed else other
        along = np.asarray(one.slices * lengths.one, dtype=np.float64)
        # The steps of the path are equal: rows are interpolated where described slices are not evenly spread.
        step = float(np.median(np.diff(along))) if len(along) > 1 else 1.0
        steps_of_one = round(float(along[-1] - along[0]) / step)
        even = np.asarray(np.linspace(along[0], along[-1], steps_of_one + 1), dtype=np.float64)
        rows = _between(one.rows, along, even)
        other_along = np.asarray(turned.slices * lengths.other, dtype=np.float64)
        finest = min(step, float(np.diff(other_along).min())) if len(other_along) > 1 else step
        grid_mm = finest / PARTS
        positions = np.asarray(
            np.arange(other_along[0], other_along[-1] + grid_mm / 2, grid_mm), dtype=np.float64
        )
        similarity = rows.astype(np.float64) @ _between(turned.rows, other_along, positions).T
        spread = max(float(similarity.std()), 1e-6)
        even_step = float(even[1] - even[0]) if len(even) > 1 else step
        path, score = slice_path(similarity - similarity.mean() - USUAL_SD * spread, even_step, grid_mm)
        steps = _without_waiting(path, similarity)
        at = path[steps]
        shorter = min(along[-1] - along[0], other_along[-1] - other_along[0])
        covered = min((len(steps) - 1) * even_step, float(positions[at[-1]] - positions[at[0]]))
        matched = np.flatnonzero((along >= even[steps[0]] - 1e-6) & (along <= even[steps[-1]] + 1e-6))
        levels = np.interp(along[matched], even[steps], positions[at]) / lengths.other
        return cls(
            matched,
            other.count - 1 - levels if is_reversed else levels,
            score / spread,
            float(similarity[steps, at].mean()),
            covered / shorter if shorter > 0 else 1.0,
            _agreement(similarity, steps, at, even, positions),
            is_reversed,
            min(len(one.rows), len(other.rows)) < FEWEST,
        )

    def is_better_than(self, null: _Candidate) -> bool:
        """Whether the volumes have a common part, if ``null`` is the path in the opposite order."""
        if self.are_few:
            return self.similarity >= LEAST_SIMILARITY_OF_FEW
        return (
            self.score > 0.0
            and self.similarity >= LEAST_SIMILARITY
            and self.part >= LEAST_PART
            and self.score >= LEAST_RATIO * max(null.score, 0.0)
            and self.agreement >= LEAST_AGREEMENT
        )

    def alignment(self, one: DescribedSlices, other: DescribedSlices) -> Alignment:
        """The pairs for every slice, those between described ones interpolated."""
        described = one.slices[self.matched].astype(np.float64)
        slices = np.arange(int(described[0]), int(described[-1]) + 1, dtype=np.intp)
        levels = np.interp(slices, described, self.levels)
        return Alignment(
            slices,
            np.clip(levels, 0, other.count - 1),
            one.count,
            other.count,
            self.is_reversed,
            self.similarity,
            self.agreement,
        )


def _without_waiting(path: npt.NDArray[np.intp], similarity: Numbers) -> npt.NDArray[np.intp]:
    """The matched slices of ``path`` (n,), without those at its ends that share a position with the next: they lie
    beyond the other volume. Where all share one, the most similar is left."""
    steps = np.flatnonzero(path >= 0)
    at = path[steps]
    if at[0] == at[-1]:
        return steps[[int(similarity[steps, at].argmax())]]
    return steps[np.flatnonzero(at == at[0])[-1] : np.flatnonzero(at == at[-1])[0] + 1]


def _between(rows: Rows, along: Numbers, positions: Numbers) -> Rows:
    """(p, d) rows of length 1 at ``positions``, between the ``rows`` (s, d) at ``along`` (s,)."""
    if len(rows) == 1:
        return np.repeat(rows, len(positions), axis=0)
    below = np.clip(np.searchsorted(along, positions, side="right") - 1, 0, len(along) - 2)
    share = ((positions - along[below]) / (along[below + 1] - along[below])).astype(np.float32)
    found = rows[below] * (1.0 - share)[:, np.newaxis] + rows[below + 1] * share[:, np.newaxis]
    return unit_rows(found)


def _agreement(
    similarity: Numbers,
    steps: npt.NDArray[np.intp],
    at: npt.NDArray[np.intp],
    even: Numbers,
    positions: Numbers,
) -> float:
    """The share of slices, of both volumes, whose most similar slice of the other lies within :data:`NEAR_MM` of the
    path."""
    nearest = positions[similarity[steps].argmax(axis=1)]
    there = np.abs(nearest - positions[at]) <= NEAR_MM
    columns = np.arange(at[0], at[-1] + 1)
    level = np.interp(columns, at, even[steps])
    back = np.abs(even[similarity[:, columns].argmax(axis=0)] - level) <= NEAR_MM
    return float((there.mean() + back.mean()) / 2)
