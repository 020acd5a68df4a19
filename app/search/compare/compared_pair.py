"""The query and the ranked case that are compared, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from semblance.app.shell.query_source import QuerySource
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.core.library.case_columns import CaseColumns, ImageAvailability
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.feedback.judgements import QueryMarks, marks_of
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import RankedCase


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """A query and one of the cases ranked by it. ``ranked``: those that ``columns`` has; ``place``: that of the case.

    Header, image and facts of both sides are drawn from one pair, so they are never of two searches.
    """

    library: LibraryLocation
    columns: CaseColumns
    ranked_search: RankedSearch
    ranked: tuple[RankedCase, ...]
    place: int

    @property
    def query(self) -> Query:
        return self.ranked_search.result.query

    @property
    def case(self) -> RankedCase:
        return self.ranked[self.place]

    @property
    def source(self) -> QuerySource:
        """The image of the query."""
        return QuerySource.of(self.library, self.query)

    @property
    def query_row(self) -> int:
        """The catalogue row of the query, -1 for an image from outside."""
        index = -1 if self.query.case is None else self.columns.index_of_id(self.query.case)
        return int(self.columns.case_row[index]) if index >= 0 else -1

    @cached_property
    def marks(self) -> QueryMarks:
        """The cases marked as more and as less like the query."""
        in_force = (entry.judgement for entry in self.ranked_search.entries if entry.undone is None)
        return marks_of(in_force, self.query)

    def moved(self, steps: int) -> ComparedPair:
        """The pair ``steps`` ranks further, or back, as far as there are ranks."""
        return replace(self, place=min(max(self.place + steps, 0), len(self.ranked) - 1))

    def after(self, before: ComparedPair) -> ComparedPair:
        """The pair to show when the order changed: the same case, but after "less like this", or if it is not ranked
        any more, the case that has its rank now."""
        stays = self.case.row == before.case.row and self.case.case_id not in self.marks.disliked
        return self if stays else replace(self, place=min(before.place, len(self.ranked) - 1))

    def shows_same_case(self, other: ComparedPair) -> bool:
        """Whether ``other`` shows the same image, or the same features, beside the same query."""
        same = (self.source, self.case.row) == (other.source, other.case.row)
        return same and (self.ranked_search.search.metric == other.ranked_search.search.metric)

    def is_table_row(self, case: str | None) -> bool:
        """Whether the case ``case`` of the library is a row of a table."""
        index = self.columns.index_of_id(case) if case is not None else -1
        return index >= 0 and bool(self.columns.state[index] == ImageAvailability.NO_IMAGE)

    def described(self, case: str | None) -> tuple[str, str | None, int, str]:
        """Name, finding, its number and its letter of a case; ``None``: of a query from outside."""
        columns = self.columns
        index = columns.index_of_id(case) if case is not None else -1
        if index < 0:
            return case or (self.query.image.name if self.query.image is not None else ""), None, -1, "?"
        finding = columns.finding_name(index)
        return (
            columns.name(index),
            finding,
            int(columns.finding[index]),
            columns.letters.get(finding or "", "?"),
        )

    def cards(self) -> CaseModel:
        """The ranked cases with their marks."""
        columns = self.columns
        order = np.array([columns.index_of_row(case.row) for case in self.ranked], dtype=np.intp)
        distances = np.array([case.distance for case in self.ranked], dtype=np.float64)
        judgements = {
            int(columns.case_row[index]): mark
            for mark, cases in ((1, self.marks.liked), (-1, self.marks.disliked))
            for case in cases
            if (index := columns.index_of_id(case)) >= 0
        }
        return CaseModel(columns, order, distances, judgements=judgements)


def compared_pair(
    library: LibraryLocation, columns: CaseColumns, ranked_search: RankedSearch, case_row: int
) -> ComparedPair | None:
    """The query of ``ranked_search`` with the case ``case_row``, or with the nearest if that is not ranked; ``None`` if
    no ranked case is left."""
    ranked = tuple(case for case in ranked_search.result.ranked if columns.index_of_row(case.row) >= 0)
    if not ranked:
        return None
    place = next((place for place, case in enumerate(ranked) if case.row == case_row), 0)
    return ComparedPair(library, columns, ranked_search, ranked, place)
