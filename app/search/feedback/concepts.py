"""The concepts of the open library: add, mark, rename, delete, undo, and search with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from semblance.app.search.feedback.refine_metric import author
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.app.shell.state import Change
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n
from semblance.core.workflows.searches.feedback import concepts
from semblance.core.workflows.searches.feedback.concepts import ConceptFacts

_CHANNEL = "concepts"
#: Number of changes that can be undone.
UNDOABLE = 100


class Concepts(QObject):
    """The concepts of the library with their strength under the current metric; ``changed`` when they change.

    The last 100 changes can be undone, the newest first.
    """

    changed = Signal()

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state = context, context.state
        self.facts: tuple[ConceptFacts, ...] = ()
        #: Id of the concept that keys and menus mark cases for.
        self.selected: int | None = None
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._read_for: tuple[Path | None, str] = (None, "")
        self._state.on_change(Change.LIBRARY, self, self._clear)
        self._state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, self, self._refresh)
        self._refresh()

    @property
    def current(self) -> ConceptFacts | None:
        """The concept that keys and menus mark cases for: the selected one, or the first."""
        first = self.facts[0] if self.facts else None
        return next((one for one in self.facts if one.id == self.selected), first)

    @property
    def undoable(self) -> str:
        """A label of the change that :meth:`undo` would undo; empty if there is none."""
        return self._undo[-1][0] if self._undo else ""

    @property
    def available(self) -> set[str]:
        """The conditions of commands that are met; see :func:`semblance.app.shell.command_conditions.available`."""
        return ({"concepts"} if self.facts and self._state.can_write else set()) | (
            {"concepts changed"} if self._undo else set()
        )

    def select(self, key: int) -> None:
        """Select the concept that keys and menus mark cases for."""
        if key != self.selected:
            self.selected = key
            self.changed.emit()

    def amount(self, name: str) -> float:
        """How much the current search uses a concept, -1 to 1."""
        search = self._state.search
        return dict(search.concepts).get(name, 0.0) if search else 0.0

    def set_amount(self, name: str, amount: float) -> None:
        """Set how much the search uses a concept, and rank again."""
        search = self._state.search
        if search is None:
            return
        rest = tuple((other, other_amount) for other, other_amount in search.concepts if other != name)
        self._state.change_search(concepts=(*rest, (name, amount)) if amount else rest)
        if self._state.search != search:
            search_operations.rank(self._context)

    # Changes

    def add(self, name: str, marks: Sequence[tuple[str, bool]] = ()) -> None:
        """Add a concept with marks of cases, and select it."""
        before = {one.id for one in self.facts}

        def add_marks(facts: tuple[ConceptFacts, ...]) -> None:
            new = next((one for one in facts if one.id not in before), None)
            if new is not None:
                self.selected = new.id
                self._add_undo(tr("new concept {name}", name=new.name), lambda: self._delete(new.id))
                self.changed.emit()
                if marks:
                    self._run(concepts.mark_cases, new.id, list(marks))

        self._run(concepts.add_concept, name, then=add_marks)

    def mark(self, key: int, cases: Sequence[str], has: bool | None) -> None:
        """Mark cases as with (True) or without (False) the concept, or remove their marks (None)."""
        one = self._find(key)
        if one is None:
            return
        marked = {*one.with_, *one.without, *one.undecided}
        changed = [case for case in cases if (case in marked if has is None else one.own.get(case) != has)]
        if not changed:
            return
        before = [(case, one.own.get(case)) for case in changed]
        label = tr_n("a mark of {name}", "{n} marks of {name}", len(before), name=one.name)
        self._add_undo(label, lambda: self._mark(key, before))
        self._mark(key, [(case, has) for case in changed])

    def rename(self, key: int, name: str) -> None:
        """Rename a concept, in the search too."""
        one = self._find(key)
        if one is not None and name.strip() and name != one.name:
            old_name = one.name
            self._rename(key, old_name, name, add_undo=lambda new: self._rename(key, new, old_name))

    def delete(self, key: int) -> None:
        """Delete a concept. :meth:`undo` restores it with its marks."""
        one = self._find(key)
        if one is None:
            return
        amount = self.amount(one.name)

        def restore() -> None:
            self._run(concepts.restore_concept, key, then=lambda _facts: self.set_amount(one.name, amount))

        self._add_undo(tr("deleting {name}", name=one.name), restore)
        self._delete(key)

    def undo(self) -> None:
        """Undo the last change."""
        if self._undo:
            self._undo.pop()[1]()
            self.changed.emit()

    def _find(self, key: int) -> ConceptFacts | None:
        return next((one for one in self.facts if one.id == key), None)

    def _add_undo(self, label: str, undo_change: Callable[[], None]) -> None:
        self._undo.append((label, undo_change))
        del self._undo[:-UNDOABLE]

    def _mark(self, key: int, marks: Sequence[tuple[str, bool | None]]) -> None:
        one = self._find(key)
        in_use = one is not None and bool(self.amount(one.name))
        self._run(
            concepts.mark_cases,
            key,
            list(marks),
            then=lambda _facts: search_operations.rank(self._context) if in_use else None,
        )

    def _delete(self, key: int) -> None:
        one = self._find(key)
        if one is not None:
            self.set_amount(one.name, 0.0)
        self._run(concepts.delete_concept, key)

    def _rename(
        self, key: int, old_name: str, name: str, add_undo: Callable[[str], None] | None = None
    ) -> None:
        amount = self.amount(old_name)

        def update_search(facts: tuple[ConceptFacts, ...]) -> None:
            new = next((one.name for one in facts if one.id == key), name)
            if add_undo is not None:
                self._add_undo(tr("renaming {name}", name=old_name), lambda: add_undo(new))
                self.changed.emit()
            if amount:
                search = self._state.search
                assert search is not None
                concepts_after = tuple(
                    (new if one == old_name else one, other_amount) for one, other_amount in search.concepts
                )
                self._state.change_search(concepts=concepts_after)
                search_operations.rank(self._context)

        self._run(concepts.rename_concept, key, name, then=update_search)

    # Reading

    def _clear(self) -> None:
        self._undo.clear()
        self.facts, self.selected, self._read_for = (), None, (None, "")
        self.changed.emit()

    def _refresh(self) -> None:
        """Read the concepts again for another metric or library."""
        path, metric = self._state.path, self._state.metric
        read_for = (path, metric.name if metric else "")
        if path is None or read_for == self._read_for:
            return
        self._read_for = read_for
        self._start_job(concepts.concepts, path, metric.name if metric else None, channel=_CHANNEL)

    def _run(
        self,
        function: Callable[..., tuple[ConceptFacts, ...]],
        *args: Any,
        then: Callable[[tuple[ConceptFacts, ...]], None] | None = None,
    ) -> None:
        path, metric = self._state.path, self._state.metric
        if path is None or metric is None:
            self._context.messages.info(tr("Concepts need a metric. Train one first."))
            return
        # The result of this call is newer than what is being read.
        self._context.jobs.cancel_channel(_CHANNEL)
        self._start_job(function, path, metric.name, *args, then=then)

    def _start_job(
        self,
        function: Callable[..., tuple[ConceptFacts, ...]],
        path: Path,
        *args: Any,
        then: Callable[[tuple[ConceptFacts, ...]], None] | None = None,
        channel: str | None = None,
    ) -> None:
        job = self._context.jobs.run(
            tr("Concepts"),
            function,
            path,
            *args,
            lane=Lane.SEARCH,
            quiet=True,
            channel=channel,
            author=author(self._context),
        )

        def show(facts: tuple[ConceptFacts, ...]) -> None:
            if self._state.path != path:
                return
            self.facts = facts
            self.changed.emit()
            if then is not None:
                then(facts)

        def fail(error: SemblanceError) -> None:
            self._context.messages.error(error)

        job.done.connect(show)
        job.failed.connect(fail)
