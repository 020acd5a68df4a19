"""The judgements of a search as a list shows them, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, overload

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.searches.contradictions import Contradiction
from semblance.core.searches.influence import Influence
from semblance.core.searches.judgement import Judgement, Kind
from semblance.core.searches.ledger import Entry
from semblance.core.searches.marks import query_key
from semblance.core.searches.search import Search

NONE = -1
#: The whole :class:`LedgerRow`.
ROW = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class LedgerRow:
    """A judgement in words; ``case`` and ``other`` are catalogue rows, -1 where there is none or it is gone.

    ``names``: what its case, the other one and its query are called. ``of_query``: it is about what is asked
    now. ``against``: what disagrees with it.
    """

    entry: Entry
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
    def said(self) -> str:
        """What was said, without the case it was said of."""
        one = self.judgement
        if one.kind == Kind.CLOSER:
            return tr("closer than")
        if one.kind == Kind.ALIKE:
            return tr("like {query}", query=self.query)
        return tr("not like {query}", query=self.query)

    @property
    def query(self) -> str:
        return tr("the query") if self.of_query else self.names[2]

    @property
    def words(self) -> str:
        """The whole judgement in one sentence."""
        case, other, _ = self.names
        if self.judgement.kind == Kind.CLOSER:
            if self.of_query:
                return tr("{case} is closer to the query than {other}", case=case, other=other)
            return tr("{case} is closer to {query} than {other}", case=case, query=self.query, other=other)
        return tr("{case} is {said}", case=case, said=self.said)


class _Rows(Sequence[LedgerRow]):
    """Rows made when they are looked at: a ledger may hold ten thousand, of which a dozen are seen."""

    def __init__(
        self, entries: Sequence[Entry], found: Sequence[Contradiction], columns: CaseColumns, query: str
    ) -> None:
        self._entries, self._columns, self._query = entries[::-1], columns, query
        self._made: dict[int, LedgerRow] = {}
        self._against: dict[int, list[Contradiction]] = {}
        for one in found:
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
        if at not in self._made:
            self._made[at] = self._make(self._entries[at])
        return self._made[at]

    def ids(self) -> list[int]:
        """Of all entries, without making their rows."""
        return [entry.id for entry in self._entries]

    def _make(self, entry: Entry) -> LedgerRow:
        one = entry.judgement
        names = (self._name(one.case), self._name(one.other), self._name(one.query))
        against = tuple(self._against.get(entry.id, ()))
        return LedgerRow(
            entry, self._row(one.case), self._row(one.other), names, one.asked == self._query, against
        )

    def _row(self, case: str | None) -> int:
        index = self._columns.index_of_id(case) if case is not None else NONE
        return int(self._columns.case_row[index]) if index >= 0 else NONE

    def _name(self, case: str | None) -> str:
        index = self._columns.index_of_id(case) if case is not None else NONE
        return self._columns.labels[index] if index >= 0 else _short(case or "")


class LedgerRows(QAbstractListModel):
    """Judgements of one search in rows, those undone among them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = _Rows((), (), no_cases(), "")
        self._places: dict[int, int] = {}
        #: What each judgement does to the ranking, in words; and the same as short as a row is wide.
        self.influences: Mapping[int, str] = {}
        self.short_influences: Mapping[int, str] = {}

    def show(
        self,
        search: Search | None,
        entries: Sequence[Entry],
        found: Sequence[Contradiction],
        columns: CaseColumns,
    ) -> None:
        """Show the ``entries`` of ``search``; ``found`` is what in them disagrees."""
        rows = _Rows(entries, found, columns, query_key(search.query) if search is not None else "")
        places = {key: place for place, key in enumerate(rows.ids())}
        if list(places) == list(self._places):
            # The place in the list stays where it was looked at.
            self.rows = rows
            if len(rows):
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows, self._places = rows, places
        self.endResetModel()

    def show_influences(self, found: Sequence[Influence], columns: CaseColumns, k: int) -> None:
        """Say of each judgement what it does to the first ``k`` ranks; an empty list says nothing."""
        self.influences = {one.entry: _influence(one, columns, k) for one in found}
        self.short_influences = {one.entry: _short_influence(one, k) for one in found}
        if len(self.rows):
            self.dataChanged.emit(self.index(0), self.index(len(self.rows) - 1))

    def place_of(self, entry: int) -> int:
        """Where a judgement stands, -1 where it does not."""
        return self._places.get(entry, NONE)

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
            return f"{row.words}{state}"
        return None


def ago(time: str, now: datetime | None = None) -> str:
    """How long ago an ISO 8601 ``time`` was: "now", "4 min", "2 h", "3 d"; empty where it tells nothing."""
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
    case = columns.labels[index] if index >= 0 else tr("a deleted case")
    shift = f"{one.shift:+d}".replace("-", "\N{MINUS SIGN}")
    return tr("moves {n} of {k}, most {shift} ({case})", n=one.moved, k=k, shift=shift, case=case)


def _short(query: str) -> str:
    """A query's name: of an image from outside its file."""
    return query.replace("\\", "/").rpartition("/")[2] or query
