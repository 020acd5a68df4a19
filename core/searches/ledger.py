"""The judgements of a search in order, any of which can be undone and made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.records import JudgementRecord
from semblance.core.searches.judgement import Judgement


class Store(Protocol):
    """Where a ledger is kept: :class:`semblance.core.library.judgements.JudgementTable`."""

    def read(self) -> list[tuple[int, JudgementRecord, int | None]]:
        """Id, judgement and place among those undone (``None``: in force), in the order they were made."""

    def append(self, made: Sequence[JudgementRecord]) -> list[int]:
        """Store new judgements, all or none; their ids."""

    def set_undone(self, changes: Sequence[tuple[int, int | None]]) -> None:
        """Set the place among those undone, by id; ``None`` puts a judgement in force again."""


@dataclass(frozen=True)
class Entry:
    """A judgement in a ledger; ``undone`` is its place among those undone, ``None`` while it is in force."""

    id: int
    judgement: Judgement
    undone: int | None = None


class Ledger:
    """Every change is kept in ``store`` before it is seen here; without one it is forgotten in the end."""

    def __init__(self, store: Store | None = None) -> None:
        """Raises BadInput for a stored judgement this version does not know."""
        self._store = store
        kept = store.read() if store else []
        self._entries = {key: Entry(key, Judgement.from_record(one), undone) for key, one, undone in kept}
        self._known = {entry.judgement.statement: entry.id for entry in self._entries.values()}
        #: Judgements without their `shown` cases, by entry id; a judgement never changes.
        self._without_shown: dict[int, Judgement] = {}
        self._last_undone = max((e.undone for e in self._entries.values() if e.undone is not None), default=0)

    @property
    def entries(self) -> list[Entry]:
        """All of them, in the order they were made."""
        return list(self._entries.values())

    @property
    def entries_without_shown(self) -> tuple[Entry, ...]:
        """All of them without the cases that were on screen, which only learning needs and which are large."""
        return tuple(self._bare(entry) for entry in self._entries.values())

    def _bare(self, entry: Entry) -> Entry:
        if not entry.judgement.shown:
            return entry
        bare = self._without_shown.get(entry.id)
        if bare is None:
            bare = self._without_shown[entry.id] = replace(entry.judgement, shown=())
        return Entry(entry.id, bare, entry.undone)

    @property
    def in_force(self) -> list[Entry]:
        """Those not undone: the state that is learnt from."""
        return [entry for entry in self._entries.values() if entry.undone is None]

    def add(self, made: Iterable[Judgement]) -> list[int]:
        """Ids of clicks made together, kept all or none.

        What was said before counts once: its entry is put in force again where it was undone.
        """
        wanted = list(made)
        fresh = list({one.statement: one for one in wanted if one.statement not in self._known}.values())
        records = [one.to_record() for one in fresh]
        if fresh:
            first = max(self._entries, default=0) + 1
            ids = self._store.append(records) if self._store else list(range(first, first + len(fresh)))
            for key, one in zip(ids, fresh, strict=True):
                self._entries[key] = Entry(key, one)
                self._known[one.statement] = key
        found = [self._known[one.statement] for one in wanted]
        self.redo(found)
        return found

    def undo(self, ids: Iterable[int]) -> list[int]:
        """Take these back, whatever came after them; returned are those that were in force.

        Raises:
            BadArguments: no such entry.
        """
        changed = [key for key in self._checked(ids) if self._entries[key].undone is None]
        places = range(self._last_undone + 1, self._last_undone + 1 + len(changed))
        self._set(list(zip(changed, places, strict=True)))
        self._last_undone += len(changed)
        return changed

    def redo(self, ids: Iterable[int]) -> list[int]:
        """Put these in force again; returned are those that were undone.

        Raises:
            BadArguments: no such entry.
        """
        changed = [key for key in self._checked(ids) if self._entries[key].undone is not None]
        self._set([(key, None) for key in changed])
        return changed

    def undo_last(self) -> list[int]:
        """Take back the newest in force, if any, with what was said at the same moment."""
        newest = self.in_force
        return self.undo(_together(newest, newest[-1]) if newest else [])

    def redo_last(self) -> list[int]:
        """Put in force what was undone last, if anything, with what was said at the same moment."""
        undone = [e for e in self._entries.values() if e.undone is not None]
        return self.redo(_together(undone, max(undone, key=lambda e: e.undone or 0)) if undone else [])

    def _checked(self, ids: Iterable[int]) -> list[int]:
        wanted = list(dict.fromkeys(ids))
        for key in wanted:
            if key not in self._entries:
                raise BadArguments(
                    tr_lazy("There is no judgement {key} in this ledger.", key=key), "Look at the list again."
                )
        return wanted

    def _set(self, changes: list[tuple[int, int | None]]) -> None:
        if self._store:
            self._store.set_undone(changes)
        for key, place in changes:
            self._entries[key] = Entry(key, self._entries[key].judgement, place)


def _together(entries: Iterable[Entry], one: Entry) -> list[int]:
    """Ids of those made in the same call as ``one``, such as several cases judged by one key."""
    made = (one.judgement.time, one.judgement.author)
    if not one.judgement.time:
        return [one.id]
    return [entry.id for entry in entries if (entry.judgement.time, entry.judgement.author) == made]
