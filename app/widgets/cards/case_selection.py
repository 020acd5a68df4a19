"""The selected cases of a grid."""

from __future__ import annotations

import numpy as np

from semblance.app.widgets.cards.case_model import CaseModel
from semblance.core.library.case_columns import CaseColumns, Indices, Rows

NONE = -1
NO_ROWS: Rows = np.empty(0, dtype=np.int64)


class Selection:
    """``rows`` (k,): selected catalogue rows, ascending; none while only the current case is selected.

    ``anchor``: the row at which a range starts.
    """

    def __init__(self) -> None:
        self.rows = NO_ROWS
        self.anchor = NONE

    def __contains__(self, row: int) -> bool:
        place = int(np.searchsorted(self.rows, row))
        return place < len(self.rows) and int(self.rows[place]) == row

    def select_only(self, row: int) -> None:
        """Select ``row`` alone."""
        self.rows, self.anchor = NO_ROWS, row

    def replace(self, rows: Rows, anchor: int) -> None:
        """Select ``rows``, ascending, instead."""
        self.rows, self.anchor = rows, anchor

    def toggle(self, row: int, current: int) -> None:
        """Add ``row`` to the selection or remove it. Without a selection ``current`` counts as selected."""
        chosen = self.rows if len(self.rows) or current == NONE else np.array([current], dtype=np.int64)
        self.rows, self.anchor = np.setxor1d(chosen, [row]), row

    def extend_to(self, model: CaseModel, place: int, current: int) -> None:
        """Select all cases from the anchor to ``place``."""
        if self.anchor == NONE:
            self.anchor = current
        start = model.place_of(self.anchor) if self.anchor != NONE else place
        first, last = sorted((start if start >= 0 else place, place))
        self._select(model.columns, model.order[first : last + 1])

    def select_all(self, model: CaseModel) -> None:
        """Select all cases of ``model``."""
        self._select(model.columns, model.order)

    def _select(self, columns: CaseColumns, indices: Indices) -> None:
        is_selected = np.zeros(len(columns), dtype=bool)
        is_selected[indices] = True
        self.rows = columns.case_row[is_selected]

    def remove_missing(self, model: CaseModel) -> None:
        """Deselect the rows that ``model`` does not contain."""
        self.rows = self.rows[model.contains(self.rows)]

    def ordered_rows(self, model: CaseModel, current: int) -> Rows:
        """The selected rows in the order shown, or ``current`` if no other is selected."""
        if not len(self.rows):
            return self.rows if current == NONE else np.array([current], dtype=np.int64)
        is_selected = np.zeros(len(model.columns) + 1, dtype=bool)
        is_selected[model.columns.indices_of_rows(self.rows)] = True
        # Rows of no case were marked in the last place.
        return model.columns.case_row[model.order[is_selected[:-1][model.order]]]
