"""What a grid of cases shows: which cases, in what order, and what is written beside each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns, Indices, no_cases
from semblance.core.reports.formatting import FEWEST, digits_for, distance_text

#: What a thumb says of a case.
JUDGED = {1: tr("marked more like this"), -1: tr("marked less like this")}


@dataclass(frozen=True, eq=False)
class CaseModel:
    """``order`` holds positions in ``columns``; place ``i`` shows the case ``order[i]``.

    A ranking also has ``distances`` (m,) and may have ``alike`` (m,), how many near-duplicates are folded
    under each, and ``ranks`` (m,) where they are not simply 1, 2, 3. A distance of ``full`` fills the bar.
    ``shifts`` (m,) tells by how many ranks each stands before where clicks found it. ``waiting`` (m,) marks
    cases whose features are still being made; ``judgements`` go by catalogue row.
    """

    columns: CaseColumns = field(default_factory=no_cases)
    order: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    distances: npt.NDArray[np.float64] | None = None
    alike: npt.NDArray[np.int64] | None = None
    ranks: npt.NDArray[np.int64] | None = None
    shifts: npt.NDArray[np.int64] | None = None
    waiting: npt.NDArray[np.bool_] | None = None
    full: float | None = None
    judgements: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def ranked(self) -> bool:
        return self.distances is not None

    def index(self, place: int) -> int:
        """The position in ``columns`` of the case at ``place``."""
        return int(self.order[place])

    def case_row(self, place: int) -> int:
        """The catalogue row of the case at ``place``."""
        return int(self.columns.case_row[self.order[place]])

    def place_of(self, case_row: int) -> int:
        """Where a catalogue row is shown, -1 where it is not."""
        index = self.columns.index_of_row(case_row)
        if index < 0:
            return -1
        found = np.flatnonzero(self.order == index)
        return int(found[0]) if found.size else -1

    def rank(self, place: int) -> int:
        return place + 1 if self.ranks is None else int(self.ranks[place])

    def shift(self, place: int) -> str:
        """By how many ranks clicks moved the case, as shown; empty where it stands as before."""
        moved = 0 if self.shifts is None else int(self.shifts[place])
        return f"{moved:+d}".replace("-", "\N{MINUS SIGN}") if moved else ""

    def share(self, place: int) -> float:
        """How far the bar at ``place`` is filled, 0 to 1."""
        if self.distances is None:
            return 0.0
        full = self.full if self.full is not None else float(self.distances[-1]) * 1.25
        return min(1.0, max(0.0, float(self.distances[place]) / full)) if full > 0 else 0.0

    @cached_property
    def _digits(self) -> int:
        return FEWEST if self.distances is None else digits_for(self.distances.tolist())

    def distance_text(self, place: int) -> str:
        """The distance at ``place``, so that it differs from those beside it."""
        return "" if self.distances is None else distance_text(float(self.distances[place]), self._digits)

    @cached_property
    def longest_distance(self) -> str:
        """What takes as much room as any distance of the ranking."""
        ends = [self.distance_text(place) for place in (0, -1)] if len(self) else []
        return max([f"0.{'0' * self._digits}", *ends], key=len)

    def words(self, place: int) -> str:
        """The case at ``place`` in words, for tooltips and screen readers."""
        index = self.index(place)
        parts = [self.columns.ids[index]]
        if self.distances is not None:
            parts.insert(0, tr("rank {rank}", rank=self.rank(place)))
        parts.append(self.columns.finding_name(index) or tr("finding not given"))
        patient = self.columns.patient_name(index)
        if patient is not None:
            parts.append(tr("patient {patient}", patient=patient))
        if self.distances is not None:
            parts.append(tr("distance {distance}", distance=self.distance_text(place)))
        if self.shift(place):
            parts.append(tr("moved {shift}", shift=self.shift(place)))
        judged = JUDGED.get(self.judgements.get(self.case_row(place), 0))
        return ", ".join([*parts, judged] if judged else parts)
