"""The selected cases of a grid."""

from __future__ import annotations

from semblance.app.widgets.cards.case_model import CaseModel

NONE = -1


class Selection:
    """``rows``: selected catalogue rows, empty while only the current case is selected.

    ``anchor``: the row at which a range starts.
    """

    def __init__(self) -> None:
        self.rows: frozenset[int] = frozenset()
        self.anchor = NONE

    def select_only(self, row: int) -> bool:
        """Select ``row`` alone; returns whether that changed the selection."""
        changed, self.rows, self.anchor = bool(self.rows), frozenset(), row
        return changed

    def replace(self, rows: frozenset[int], anchor: int) -> None:
        """Select ``rows`` instead."""
        self.rows, self.anchor = rows, anchor

    def toggle(self, row: int, current: int) -> None:
        """Add ``row`` to the selection or remove it. Without a selection ``current`` counts as selected."""
        chosen = self.rows or frozenset({current} - {NONE})
        self.rows, self.anchor = chosen ^ {row}, row

    def extend_to(self, model: CaseModel, place: int, current: int) -> None:
        """Select all cases from the anchor to ``place``."""
        if self.anchor == NONE:
            self.anchor = current
        start = model.place_of(self.anchor) if self.anchor != NONE else place
        first, last = sorted((start if start >= 0 else place, place))
        self.rows = frozenset(model.columns.case_row[model.order[first : last + 1]].tolist())

    def select_all(self, model: CaseModel) -> None:
        """Select all cases of ``model``."""
        self.rows = frozenset(model.columns.case_row[model.order].tolist())

    def remove_missing(self, model: CaseModel) -> None:
        """Deselect the rows that ``model`` does not contain."""
        if self.rows:
            self.rows &= frozenset(model.columns.case_row[model.order].tolist())

    def ordered_rows(self, model: CaseModel, current: int) -> list[int]:
        """The selected rows in the order shown, or ``current`` if no other is selected."""
        if not self.rows:
            return [current] if current != NONE else []
        return sorted(self.rows, key=model.place_of)
