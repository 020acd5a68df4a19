"""The concepts of the open library: made, marked, renamed, put away, taken back, and moved along."""

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
from semblance.core.workflows.searches import concepts
from semblance.core.workflows.searches.concepts import ConceptFacts

_CHANNEL = "concepts"
#: Changes that can be taken back: each keeps the cases it was of.
UNDOABLE = 100


class Concepts(QObject):
    """What the library knows of concepts, measured under the current metric; ``changed`` when it is another.

    The last 100 changes can be taken back with :meth:`undo`, the last one first.
    """

    changed = Signal()

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state = context, context.state
        self.facts: tuple[ConceptFacts, ...] = ()
        #: Key of the concept that keys and menus mark.
        self.chosen: int | None = None
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._known: tuple[Path | None, str] = (None, "")
        self._state.on_change(Change.LIBRARY, self, self._forget)
        self._state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, self, self._renew)
        self._renew()

    @property
    def current(self) -> ConceptFacts | None:
        """The one that keys and menus mark: the one chosen, else the first."""
        first = self.facts[0] if self.facts else None
        return next((one for one in self.facts if one.id == self.chosen), first)

    @property
    def undoable(self) -> str:
        """What :meth:`undo` would take back, in words; empty where there is nothing."""
        return self._undo[-1][0] if self._undo else ""

    @property
    def there(self) -> set[str]:
        """What commands can need, as far as it is there; see :attr:`semblance.app.shell.state.State.available`."""
        writable = self._state.library is not None and self._state.library.writable
        return ({"concepts"} if self.facts and writable else set()) | (
            {"concepts changed"} if self._undo else set()
        )

    def choose(self, key: int) -> None:
        """Mark this one by keys and menus."""
        if key != self.chosen:
            self.chosen = key
            self.changed.emit()

    def amount(self, name: str) -> float:
        """How far the present search goes along a concept, -1 to 1."""
        search = self._state.search
        return dict(search.concepts).get(name, 0.0) if search else 0.0

    def set_amount(self, name: str, amount: float) -> None:
        """Go along a concept, and rank at once."""
        search = self._state.search
        if search is None:
            return
        rest = tuple((other, much) for other, much in search.concepts if other != name)
        self._state.change_search(concepts=(*rest, (name, amount)) if amount else rest)
        if self._state.search != search:
            search_operations.rank(self._context)

    # Changes

    def add(self, name: str, marks: Sequence[tuple[str, bool]] = ()) -> None:
        """A new concept, marked with these cases, which keys and menus then mark."""
        before = {one.id for one in self.facts}

        def go_on(facts: tuple[ConceptFacts, ...]) -> None:
            made = next((one for one in facts if one.id not in before), None)
            if made is not None:
                self.chosen = made.id
                self._push(tr("new concept {name}", name=made.name), lambda: self._delete(made.id))
                self.changed.emit()
                if marks:
                    self._run(concepts.mark_cases, made.id, list(marks), author=author(self._context))

        self._run(concepts.add_concept, name, author=author(self._context), then=go_on)

    def mark(self, key: int, cases: Sequence[str], has: bool | None) -> None:
        """These cases have the concept, have it not, or nothing is said of them any more."""
        one = self._found(key)
        if one is None:
            return
        before = [
            (case, True if case in one.with_ else False if case in one.without else None) for case in cases
        ]
        if all(was == has for _, was in before):
            return
        what = tr_n("a mark of {name}", "{n} marks of {name}", len(before), name=one.name)
        self._push(what, lambda: self._mark(key, before))
        self._mark(key, [(case, has) for case in cases])

    def rename(self, key: int, name: str) -> None:
        """Another name; the search follows."""
        one = self._found(key)
        if one is not None and name.strip() and name != one.name:
            old = one.name
            self._rename(key, old, name, push=lambda new: self._rename(key, new, old))

    def delete(self, key: int) -> None:
        """Put a concept away; :meth:`undo` brings it back with its marks."""
        one = self._found(key)
        if one is None:
            return
        amount = self.amount(one.name)

        def restore() -> None:
            self._run(concepts.restore_concept, key, then=lambda _facts: self.set_amount(one.name, amount))

        self._push(tr("deleting {name}", name=one.name), restore)
        self._delete(key)

    def undo(self) -> None:
        """Take back the last change."""
        if self._undo:
            self._undo.pop()[1]()
            self.changed.emit()

    def _found(self, key: int) -> ConceptFacts | None:
        return next((one for one in self.facts if one.id == key), None)

    def _push(self, what: str, back: Callable[[], None]) -> None:
        self._undo.append((what, back))
        del self._undo[:-UNDOABLE]

    def _mark(self, key: int, marks: Sequence[tuple[str, bool | None]]) -> None:
        one = self._found(key)
        in_use = one is not None and bool(self.amount(one.name))
        self._run(
            concepts.mark_cases,
            key,
            list(marks),
            author=author(self._context),
            then=lambda _facts: search_operations.rank(self._context) if in_use else None,
        )

    def _delete(self, key: int) -> None:
        one = self._found(key)
        if one is not None:
            self.set_amount(one.name, 0.0)
        self._run(concepts.delete_concept, key)

    def _rename(self, key: int, old: str, name: str, push: Callable[[str], None] | None = None) -> None:
        amount = self.amount(old)

        def follow(facts: tuple[ConceptFacts, ...]) -> None:
            new = next((one.name for one in facts if one.id == key), name)
            if push is not None:
                self._push(tr("renaming {name}", name=old), lambda: push(new))
                self.changed.emit()
            if amount:
                search = self._state.search
                assert search is not None
                kept = tuple((new if one == old else one, much) for one, much in search.concepts)
                self._state.change_search(concepts=kept)
                search_operations.rank(self._context)

        self._run(concepts.rename_concept, key, name, then=follow)

    # Reading

    def _forget(self) -> None:
        self._undo.clear()
        self.facts, self.chosen, self._known = (), None, (None, "")
        self.changed.emit()

    def _renew(self) -> None:
        """Read and measure anew under another metric, or in another library."""
        path, metric = self._state.path, self._state.metric
        known = (path, metric.name if metric else "")
        if path is None or known == self._known:
            return
        self._known = known
        self._job(concepts.concepts, path, metric.name if metric else None, channel=_CHANNEL)

    def _run(
        self,
        function: Callable[..., tuple[ConceptFacts, ...]],
        *args: Any,
        then: Callable[[tuple[ConceptFacts, ...]], None] | None = None,
        **more: Any,
    ) -> None:
        path, metric = self._state.path, self._state.metric
        if path is None or metric is None:
            self._context.messages.info(tr("Concepts need a metric. Train one first."))
            return
        # What was being read is older than what this call answers with.
        self._context.jobs.cancel_channel(_CHANNEL)
        self._job(function, path, metric.name, *args, then=then, **more)

    def _job(
        self,
        function: Callable[..., tuple[ConceptFacts, ...]],
        path: Path,
        *args: Any,
        then: Callable[[tuple[ConceptFacts, ...]], None] | None = None,
        channel: str | None = None,
        **more: Any,
    ) -> None:
        job = self._context.jobs.run(
            tr("Concepts"), function, path, *args, lane=Lane.SEARCH, quiet=True, channel=channel, **more
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
