"""The judgements of a search as a list shows them, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, overload

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.searches.feedback.influence import Influence
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, key_of_query
from semblance.core.searches.feedback.ledger import Contradiction, LedgerEntry
from semblance.core.searches.search import Search

NONE = -1
#: The whole :class:`LedgerRow`.
ROW = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class LedgerRow:
    """A judgement for display; ``case`` and ``other`` are catalogue rows, -1 for none or a deleted case.

    ``names``: names of its case, the other case and its query. ``of_query``: it belongs to the current query.
    ``against``: the contradictions it is part of.
    """

    entry: LedgerEntry
    case: int
    other: int
    names: tuple[str, str, str]
    of_query: bool
    against: tuple[Contradiction, ...] = ()

    @property
    def id(self) -> int:
        return self.entry.id

    @property
    def judgement(self) -> Judgement:
        return self.entry.judgement

    @property
    def undone(self) -> bool:
        return self.entry.undone is not None

    @property
    def relation(self) -> str:
        """The judgement without its case, as in "like the query"."""
        one = self.judgement
        if one.kind == JudgementKind.CLOSER:
            return tr("closer than")
        if one.kind == JudgementKind.ALIKE:
            return tr("like {query}", query=self.query)
        return tr("not like {query}", query=self.query)

    @property
    def query(self) -> str:
        return tr("the query") if self.of_query else self.names[2]

    @property
    def sentence(self) -> str:
        """The whole judgement in one sentence."""
        case, other, _ = self.names
        if self.judgement.kind == JudgementKind.CLOSER:
            if self.of_query:
                return tr("{case} is closer to the query than {other}", case=case, other=other)
            return tr("{case} is closer to {query} than {other}", case=case, query=self.query, other=other)
        return tr("{case} is {relation}", case=case, relation=self.relation)


class _LedgerSequence(Sequence[LedgerRow]):
    """Makes rows on demand: a ledger may have ten thousand entries, of which a dozen are visible."""

    def __init__(
        self,
        entries: Sequence[LedgerEntry],
        contradictions: Sequence[Contradiction],
        columns: CaseColumns,
        query: str,
    ) -> None:
        self._entries, self._columns, self._query = entries[::-1], columns, query
        self._cache: dict[int, LedgerRow] = {}
        self._against: dict[int, list[Contradiction]] = {}
        for one in contradictions:
            for key in one.entries:
                self._against.setdefault(key, []).append(one)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, place: int) -> LedgerRow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LedgerRow]: ...
    def __getitem__(self, place: int | slice) -> LedgerRow | Sequence[LedgerRow]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        at = place % len(self)
        if at not in self._cache:
            self._cache[at] = self._make_row(self._entries[at])
        return self._cache[at]

    def ids(self) -> list[int]:
        """Ids of all entries, without making their rows."""
        return [entry.id for entry in self._entries]

    def _make_row(self, entry: LedgerEntry) -> LedgerRow:
        one = entry.judgement
        names = (self._name(one.case), self._name(one.other), self._name(one.query))
        against = tuple(self._against.get(entry.id, ()))
        return LedgerRow(
            entry, self._row(one.case), self._row(one.other), names, one.query_key == self._query, against
        )

    def _row(self, case: str | None) -> int:
        index = self._columns.index_of_id(case) if case is not None else NONE
        return int(self._columns.case_row[index]) if index >= 0 else NONE

    def _name(self, case: str | None) -> str:
        index = self._columns.index_of_id(case) if case is not None else NONE
        return self._columns.name(index) if index >= 0 else _short_name(case or "")


class LedgerModel(QAbstractListModel):
    """The judgements of one search in rows, including undone ones."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = _LedgerSequence((), (), no_cases(), "")
        self._positions: dict[int, int] = {}
        #: How each judgement changes the ranking, as text, and in a short form for a row.
        self.influences: Mapping[int, str] = {}
        self.short_influences: Mapping[int, str] = {}

    def show(
        self,
        search: Search | None,
        entries: Sequence[LedgerEntry],
        contradictions: Sequence[Contradiction],
        columns: CaseColumns,
    ) -> None:
        """Show the ``entries`` of ``search`` and the ``contradictions`` among them."""
        rows = _LedgerSequence(
            entries, contradictions, columns, key_of_query(search.query) if search is not None else ""
        )
        places = {key: place for place, key in enumerate(rows.ids())}
        if list(places) == list(self._positions):
            # The selection and the scroll position stay unchanged.
            self.rows = rows
            if len(rows):
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows, self._positions = rows, places
        self.endResetModel()

    def show_influences(self, contradictions: Sequence[Influence], columns: CaseColumns, k: int) -> None:
        """Show how each judgement changes the first ``k`` ranks; hide it for an empty list."""
        self.influences = {one.entry: _influence(one, columns, k) for one in contradictions}
        self.short_influences = {one.entry: _short_influence(one, k) for one in contradictions}
        if len(self.rows):
            self.dataChanged.emit(self.index(0), self.index(len(self.rows) - 1))

    def place_of(self, entry: int) -> int:
        """The position of a judgement in the list, or -1."""
        return self._positions.get(entry, NONE)

    def row_of(self, entry: int) -> LedgerRow | None:
        place = self.place_of(entry)
        return self.rows[place] if place != NONE else None

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == ROW:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            state = tr(", undone") if row.undone else tr(", contradicts") if row.against else ""
            return f"{row.sentence}{state}"
        return None


def ago(time: str, now: datetime | None = None) -> str:
    """How long ago an ISO 8601 ``time`` was: "now", "4 min", "2 h", "3 d"; empty if it is not a time."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 45:
        return tr("now")
    if seconds < 3570:
        return tr("{n} min", n=max(1, round(seconds / 60)))
    if seconds < 36 * 3600:
        return tr("{n} h", n=round(seconds / 3600))
    return tr("{n} d", n=round(seconds / 86400))


def _short_influence(one: Influence, k: int) -> str:
    return tr("moves {n} of {k}", n=one.moved, k=k)


def _influence(one: Influence, columns: CaseColumns, k: int) -> str:
    if not one.moved:
        return tr("moves none of the first {k}", k=k)
    index = columns.index_of_row(one.most_moved)
    case = columns.name(index) if index >= 0 else tr("a deleted case")
    shift = f"{one.shift:+d}".replace("-", "\N{MINUS SIGN}")
    return tr("moves {n} of {k}, most {shift} ({case})", n=one.moved, k=k, shift=shift, case=case)


def _short_name(query: str) -> str:
    """The name of a query: for an image that is not in the library its file name."""
    return query.replace("\\", "/").rpartition("/")[2] or query
