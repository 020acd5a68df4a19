"""The cases that a grid shows, in order, with the values on their cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr, translate, visible
from semblance.core.library.case_columns import CaseColumns, Indices, Rows, no_cases
from semblance.core.library.text_query import TextHit
from semblance.core.reports.case_attributes import attribute_title
from semblance.core.reports.formatting import MIN_DIGITS, digits_for, distance_text, region_text
from semblance.core.searches.similar_cases import MatchedPlace

#: Judgement -> its text.
JUDGEMENT_TEXTS = {1: tr("marked more like this"), -1: tr("marked less like this")}
#: The same below a card, where there is little space.
SHORT_JUDGEMENT_TEXTS = {1: tr("marked more"), -1: tr("marked less")}
#: Letters before a word that was found that a card has space for.
_BEFORE_WORDS = 6
UP, DOWN = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"


def near_duplicates_text(n: int) -> str:
    """How many cases of the same lesion, or copies, are grouped under a case."""
    return tr("+{n} same lesion", n=n)


def place_text(found: MatchedPlace) -> str:
    """Where a search by place found the query."""
    return tr("place {region}", region=translate(region_text(found.region)))


def hit_texts(hit: TextHit) -> tuple[str, str]:
    """Where words were found, for a card and for its tooltip. A card is narrow: the word itself must be seen."""
    words = visible(hit.text if hit.start <= _BEFORE_WORDS else f"…{hit.text[hit.start :]}")
    return words, f"{translate(attribute_title(hit.name))}: {visible(hit.text)}"


@dataclass(frozen=True, eq=False)
class CaseModel:
    """``order`` (m,): positions in ``columns``. Place ``i`` shows the case ``order[i]``.

    A ranking has ``distances`` (m,). It may have ``near_duplicates`` (m,), the number of near-duplicates grouped
    under each case, ``ranks`` (m,) if they are not 1, 2, 3, and ``shifts`` (m,), the ranks that each case gained
    by judgements. A distance of ``full_distance`` fills the bar. ``pending`` (m,): cases whose features are not
    extracted yet. ``judgements``: by catalogue row. ``notes`` (m,): a line below each card and its longer form for
    the tooltip; ``None``: the cards have no such line. ``other_findings``: by catalogue row, what the near-duplicates
    grouped under a case are and it is not. ``places``: by catalogue row, where a search by place found the query.
    ``hits``: by catalogue row, where the words were found that cases are filtered by.
    """

    columns: CaseColumns = field(default_factory=no_cases)
    order: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    distances: npt.NDArray[np.float64] | None = None
    near_duplicates: npt.NDArray[np.int64] | None = None
    ranks: npt.NDArray[np.int64] | None = None
    shifts: npt.NDArray[np.int64] | None = None
    pending: npt.NDArray[np.bool_] | None = None
    full_distance: float | None = None
    judgements: Mapping[int, int] = field(default_factory=dict)
    notes: Sequence[tuple[str, str]] | None = None
    other_findings: Mapping[int, str] = field(default_factory=dict)
    places: Mapping[int, MatchedPlace] = field(default_factory=dict)
    hits: Mapping[int, TextHit] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def ranked(self) -> bool:
        return self.distances is not None

    @property
    def has_lines(self) -> bool:
        """Whether the names of the cases stand in two lines, as in the library."""
        return self.distances is None and self.columns.has_lines

    def index(self, place: int) -> int:
        """The position in ``columns`` of the case at ``place``."""
        return int(self.order[place])

    def case_row(self, place: int) -> int:
        """The catalogue row of the case at ``place``."""
        return int(self.columns.case_row[self.order[place]])

    def contains(self, case_rows: Rows) -> npt.NDArray[np.bool_]:
        """(k,) which of these catalogue rows are shown."""
        if not len(case_rows):
            return np.zeros(0, dtype=bool)
        is_shown = np.zeros(len(self.columns) + 1, dtype=bool)
        is_shown[self.order] = True
        # The last one stands for rows of no case.
        return is_shown[self.columns.indices_of_rows(case_rows)]

    def position_of(self, case_row: int) -> int:
        """The place of a catalogue row, -1 if it is not shown."""
        index = self.columns.index_of_row(case_row)
        if index < 0:
            return -1
        found = np.flatnonzero(self.order == index)
        return int(found[0]) if found.size else -1

    def rank(self, place: int) -> int:
        return place + 1 if self.ranks is None else int(self.ranks[place])

    def shift(self, place: int) -> str:
        """The number of ranks by which judgements moved the case, as text; empty for none."""
        moved = 0 if self.shifts is None else int(self.shifts[place])
        return f"{moved:+d}".replace("-", "\N{MINUS SIGN}") if moved else ""

    def shift_arrow(self, place: int) -> str:
        """:meth:`shift` as it stands on a card: signs would be taken for the buttons + and -."""
        moved = 0 if self.shifts is None else int(self.shifts[place])
        return f"{UP if moved > 0 else DOWN}{abs(moved)}" if moved else ""

    def share(self, place: int) -> float:
        """How far the bar at ``place`` is filled, 0 to 1."""
        if self.distances is None:
            return 0.0
        full_distance = (
            self.full_distance if self.full_distance is not None else float(self.distances[-1]) * 1.25
        )
        return min(1.0, max(0.0, float(self.distances[place]) / full_distance)) if full_distance > 0 else 0.0

    @cached_property
    def _digits(self) -> int:
        return MIN_DIGITS if self.distances is None else digits_for(self.distances.tolist())

    def distance_text(self, place: int) -> str:
        """The distance at ``place``, with enough digits to differ from its neighbours."""
        return "" if self.distances is None else distance_text(float(self.distances[place]), self._digits)

    @cached_property
    def longest_distance(self) -> str:
        """A text as wide as the widest distance of the ranking."""
        ends = [self.distance_text(place) for place in (0, -1)] if len(self) else []
        return max([f"0.{'0' * self._digits}", *ends], key=len)

    def row_lines(self, place: int) -> tuple[str, str]:
        """The name of the case at ``place`` in a row, and the smaller line below it, which may be empty."""
        index = self.index(place)
        name, detail = self.columns.lines(index) if self.has_lines else (self.columns.name(index), "")
        hit = self.hits.get(self.case_row(place))
        return name, detail if hit is None else hit_texts(hit)[0]

    def caption(self, index: int) -> str:
        """The text under the image of a case: its finding. A ranked case without one has its name there,
        which other cards show below."""
        finding = self.columns.finding_name(index)
        if finding is None and self.distances is not None:
            return self.columns.name(index)
        return finding or tr("not given")

    def describe(self, place: int, *, distance: bool = True) -> str:
        """A description of the case at ``place`` for tooltips and screen readers, with its ``distance`` or without."""
        index = self.index(place)
        # An id that contains the name is enough.
        name, case_id = (visible(text) for text in (self.columns.name(index), self.columns.ids[index]))
        parts = [case_id] if name in case_id else [name, case_id]
        if self.distances is not None:
            parts.insert(0, tr("rank {rank}", rank=self.rank(place)))
        parts.append(visible(self.columns.finding_name(index) or "") or tr("finding not given"))
        patient = self.columns.patient_name(index)
        if patient is not None:
            parts.append(tr("patient {patient}", patient=visible(patient)))
        if self.distances is not None and distance:
            parts.append(tr("distance {distance}", distance=self.distance_text(place)))
        if (found := self.places.get(self.case_row(place))) is not None:
            parts.append(place_text(found))
        if self.shift(place):
            parts.append(tr("moved {shift}", shift=self.shift(place)))
        if self.near_duplicates is not None and self.near_duplicates[place] > 0:
            parts.append(near_duplicates_text(int(self.near_duplicates[place])))
            if findings := self.other_findings.get(self.case_row(place)):
                parts.append(
                    tr("of the same lesion with another finding: {findings}", findings=visible(findings))
                )
        if self.notes is not None and self.notes[place][1]:
            parts.append(self.notes[place][1])
        if (hit := self.hits.get(self.case_row(place))) is not None:
            parts.append(hit_texts(hit)[1])
        judgement_text = JUDGEMENT_TEXTS.get(self.judgements.get(self.case_row(place), 0))
        return ", ".join([*parts, judgement_text] if judgement_text else parts)
