"""The ledger: the judgements of a search in order, each of which can be undone and redone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.records import JudgementRecord
from semblance.core.searches.judgement import Judgement


class LedgerStore(Protocol):
    """Stores a ledger, as :class:`semblance.core.library.judgements.JudgementTable` does."""

    def read(self) -> list[tuple[int, JudgementRecord, int | None]]:
        """Id, judgement, and position among the undone ones (``None``: in force), in the order of their making."""

    def append(self, new: Sequence[JudgementRecord]) -> list[int]:
        """Store new judgements, all or none, and return their ids."""

    def set_undone(self, changes: Sequence[tuple[int, int | None]]) -> None:
        """Set the position among the undone ones, by id; ``None`` redoes a judgement."""


@dataclass(frozen=True)
class LedgerEntry:
    """A judgement in a ledger; ``undone`` is its position among the undone ones, ``None`` while it is in force."""

    id: int
    judgement: Judgement
    undone: int | None = None


class Ledger:
    """The judgements of a search. Every change is saved in ``store`` first; without a store nothing is saved."""

    def __init__(self, store: LedgerStore | None = None) -> None:
        """Read the ledger.

        Raises:
            BadInput: a stored judgement that this version does not know.
        """
        self._store = store
        stored = store.read() if store else []
        self._entries = {
            key: LedgerEntry(key, Judgement.from_record(one), undone) for key, one, undone in stored
        }
        self._ids_by_statement = {_own(entry.judgement): entry.id for entry in self._entries.values()}
        #: Judgements without their `shown` cases, by entry id. A judgement never changes.
        self._cached_without_visible: dict[int, Judgement] = {}
        self._last_undone = max(
            (entry.undone for entry in self._entries.values() if entry.undone is not None), default=0
        )

    @property
    def entries(self) -> list[LedgerEntry]:
        """All judgements, in the order of their making."""
        return list(self._entries.values())

    @property
    def entries_without_visible(self) -> tuple[LedgerEntry, ...]:
        """All judgements without the visible cases, which take much memory and are needed for learning only."""
        return tuple(self._without_visible(entry) for entry in self._entries.values())

    def _without_visible(self, entry: LedgerEntry) -> LedgerEntry:
        if not entry.judgement.shown:
            return entry
        without_visible = self._cached_without_visible.get(entry.id)
        if without_visible is None:
            without_visible = self._cached_without_visible[entry.id] = replace(entry.judgement, shown=())
        return LedgerEntry(entry.id, without_visible, entry.undone)

    @property
    def in_force(self) -> list[LedgerEntry]:
        """The judgements that are not undone."""
        return [entry for entry in self._entries.values() if entry.undone is None]

    def add(self, new: Iterable[Judgement]) -> list[int]:
        """Add judgements that were made together, all or none, and return their ids.

        A judgement with the same content as an earlier one of the same author is not added. The earlier one is redone
        if it was undone.
        """
        judgements = list(new)
        added = list(
            {_own(one): one for one in judgements if _own(one) not in self._ids_by_statement}.values()
        )
        records = [one.to_record() for one in added]
        if added:
            first = max(self._entries, default=0) + 1
            ids = self._store.append(records) if self._store else list(range(first, first + len(added)))
            for key, one in zip(ids, added, strict=True):
                self._entries[key] = LedgerEntry(key, one)
                self._ids_by_statement[_own(one)] = key
        ids = [self._ids_by_statement[_own(one)] for one in judgements]
        self.redo(ids)
        return ids

    def undo(self, ids: Iterable[int]) -> list[int]:
        """Undo judgements, also older ones, and return the ids of those that were in force.

        Raises:
            BadArguments: no such entry.
        """
        changed = [key for key in self._check_ids(ids) if self._entries[key].undone is None]
        places = range(self._last_undone + 1, self._last_undone + 1 + len(changed))
        self._set_undone(list(zip(changed, places, strict=True)))
        self._last_undone += len(changed)
        return changed

    def redo(self, ids: Iterable[int]) -> list[int]:
        """Redo judgements, and return the ids of those that were undone.

        Raises:
            BadArguments: no such entry.
        """
        changed = [key for key in self._check_ids(ids) if self._entries[key].undone is not None]
        self._set_undone([(key, None) for key in changed])
        return changed

    def undo_last(self, of: Callable[[Judgement], bool] = lambda _: True) -> list[int]:
        """Undo the newest judgement in force that is one ``of`` these, if any, with those made together with it."""
        newest = [entry for entry in self.in_force if of(entry.judgement)]
        return self.undo(_same_action(newest, newest[-1]) if newest else [])

    def redo_last(self, of: Callable[[Judgement], bool] = lambda _: True) -> list[int]:
        """Redo the judgement undone last that is one ``of`` these, if any, with those made together with it."""
        undone = [
            entry for entry in self._entries.values() if entry.undone is not None and of(entry.judgement)
        ]
        return self.redo(
            _same_action(undone, max(undone, key=lambda entry: entry.undone or 0)) if undone else []
        )

    def _check_ids(self, ids: Iterable[int]) -> list[int]:
        judgements = list(dict.fromkeys(ids))
        for key in judgements:
            if key not in self._entries:
                raise BadArguments(
                    tr_lazy("There is no judgement {key} in this ledger.", key=key), "Open the list again."
                )
        return judgements

    def _set_undone(self, changes: list[tuple[int, int | None]]) -> None:
        if self._store:
            self._store.set_undone(changes)
        for key, place in changes:
            self._entries[key] = LedgerEntry(key, self._entries[key].judgement, place)


def _same_action(entries: Iterable[LedgerEntry], one: LedgerEntry) -> list[int]:
    """Ids of the judgements made together with ``one``, such as several cases judged with one key."""
    new = (one.judgement.time, one.judgement.author)
    if not one.judgement.time:
        return [one.id]
    return [entry.id for entry in entries if (entry.judgement.time, entry.judgement.author) == new]


def _own(one: Judgement) -> tuple[str, ...]:
    """Equal for judgements of one author with the same content."""
    return one.author, *one.statement
