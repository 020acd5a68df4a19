"""Which cases of a grid are chosen together."""

from __future__ import annotations

from semblance.app.widgets.cards.case_model import CaseModel

NONE = -1


class Selection:
    """Catalogue rows chosen beside the current case; empty while there is only that one.

    ``anchor`` is the row a range is counted from.
    """

    def __init__(self) -> None:
        self.rows: frozenset[int] = frozenset()
        self.anchor = NONE

    def only(self, row: int) -> bool:
        """Choose ``row`` alone; whether that changed anything."""
        changed, self.rows, self.anchor = bool(self.rows), frozenset(), row
        return changed

    def toggle(self, row: int, current: int) -> None:
        """Add ``row`` to what is chosen, or take it out; ``current`` counts as chosen so far."""
        chosen = self.rows or frozenset({current} - {NONE})
        self.rows, self.anchor = chosen ^ {row}, row

    def reach(self, model: CaseModel, place: int, current: int) -> None:
        """Choose everything from the anchor to ``place``."""
        if self.anchor == NONE:
            self.anchor = current
        start = model.place_of(self.anchor) if self.anchor != NONE else place
        first, last = sorted((start if start >= 0 else place, place))
        self.rows = frozenset(model.columns.case_row[model.order[first : last + 1]].tolist())

    def everything(self, model: CaseModel) -> None:
        """Choose all cases shown."""
        self.rows = frozenset(model.columns.case_row[model.order].tolist())

    def keep(self, model: CaseModel) -> None:
        """Forget the rows that ``model`` does not show."""
        if self.rows:
            self.rows &= frozenset(model.columns.case_row[model.order].tolist())

    def of(self, model: CaseModel, current: int) -> list[int]:
        """What is chosen, in the order shown; the current case where nothing else is."""
        if not self.rows:
            return [current] if current != NONE else []
        return sorted(self.rows, key=model.place_of)
