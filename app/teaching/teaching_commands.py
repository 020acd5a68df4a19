"""The commands on teaching collections: put cases into them, list them, export them, and the quiz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change
from semblance.app.teaching.collections_panel import CollectionsPanel, change
from semblance.app.widgets.dialog import NameDialog
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import format_number, tr, tr_n, visible
from semblance.core.library.case_columns import Rows
from semblance.core.library.collections import CollectionItem
from semblance.core.workflows.teaching import edit_collections
from semblance.core.workflows.teaching.edit_collections import ListedCollection

if TYPE_CHECKING:
    from semblance.app.teaching.quiz_page import QuizPage


class TeachingCommands(QObject):
    """``selected_cases`` returns the catalogue rows of the selected cases. ``list_requested(name, panel)``: show a list
    beside the images · ``page_requested(name, page)``: show a page on the whole window · ``compare_requested(row)``:
    show a case beside the query."""

    list_requested = Signal(str, object)
    page_requested = Signal(str, object)
    compare_requested = Signal(int)

    def __init__(
        self,
        context: Context,
        parent: QWidget,
        thumbnails: ThumbnailSource,
        selected_cases: Callable[[], Rows],
    ) -> None:
        super().__init__(parent)
        self._context, self._parent, self._thumbnails = context, parent, thumbnails
        self._selected_cases = selected_cases
        self._panel: CollectionsPanel | None = None
        self._quiz: QuizPage | None = None
        self._listed: tuple[ListedCollection, ...] = ()
        self.commands: dict[str, Callable[[], object]] = {
            "collections": self.show_collections,
            "add_to_collection": self.ask_collection,
        }
        context.state.on_change(Change.LIBRARY | Change.CASES, self, self.read)

    def read(self) -> None:
        """Read the collections of the library again."""
        if self._context.state.location is None:
            self._context.jobs.cancel_channel("collections")
            self._show(())
            return
        job = self._context.jobs.run(
            tr("Reading the collections"),
            edit_collections.read_collections,
            self._context.state.location,
            pool=WorkerPool.READ,
            channel="collections",
            quiet=True,
        )
        job.done.connect(self._show)

    def _show(self, listed: tuple[ListedCollection, ...]) -> None:
        self._listed = listed
        if self._panel is not None:
            self._panel.show_collections(listed)

    def show_collections(self) -> None:
        """Show the list of the collections."""
        if self._panel is None:
            self._panel = made = CollectionsPanel(self._context, self._thumbnails)
            made.put_requested.connect(self.put)
            made.export_requested.connect(self.export)
            made.quiz_requested.connect(self.start_quiz)
            made.compare_requested.connect(self.compare_requested)
            made.changed.connect(self.read)
            made.destroyed.connect(self._forget)
        self._panel.show_collections(self._listed)
        self.list_requested.emit("collections", self._panel)
        self.read()

    def _cover(self, covered: bool) -> None:
        if self._panel is not None:
            self._panel.set_covered(covered)

    def _forget(self) -> None:
        self._panel = None

    def fill_menu(self, menu: QMenu, case_row: int) -> None:
        """Add the collections that the case of the menu, and those selected with it, can be put into."""
        if not self._context.state.can_write:
            return
        rows = self._selected_cases().tolist()
        rows = rows if case_row in rows else [case_row]
        text = tr("Add to a collection")
        if len(rows) > 1:
            text = tr("Add {n} cases to a collection", n=format_number(len(rows), ","))
        inner = menu.addMenu(text)
        for one in self._listed:
            if one.may_change:
                name = visible(one.collection.name).replace("&", "&&")
                inner.addAction(name, partial(self.put, rows, one))
        inner.addSeparator()
        inner.addAction(tr("New collection…"), partial(self.put, rows, None))

    def ask_collection(self) -> None:
        """Ask into which collection the selected cases are to be put: one of the list, or a new name."""
        rows = self._selected_cases().tolist()
        if not rows:
            self._context.messages.info(tr("Select the cases first."))
            return
        names = [one.collection.name for one in self._listed if one.may_change]
        name = NameDialog(
            self._parent,
            tr("Add to a collection"),
            tr("Collection, or the name of a new one"),
            tr("Add"),
            names=names,
        ).ask()
        if name:
            known = {one.collection.name: one for one in self._listed}
            self._put(rows, known.get(name), name)

    def put(self, rows: Sequence[int], listed: ListedCollection | None) -> None:
        """Put cases, or the place searched for in one, into a collection; ``None``: ask for the name of a new one."""
        name = "" if listed is None else listed.collection.name
        if listed is None:
            name = NameDialog(self._parent, tr("New collection"), tr("Name"), tr("Add")).ask()
            if not name:
                return
        self._put(rows, listed, name)

    def _put(self, rows: Sequence[int], listed: ListedCollection | None, name: str) -> None:
        items = [item for row in rows if (item := self._item(row)) is not None]
        key = None if listed is None else listed.collection.id

        def tell(added: int) -> None:
            text = (
                tr_n("{n} case was put into “{name}”.", "{n} cases were put into “{name}”.", added, name=name)
                if added
                else tr("“{name}” has them already.", name=name)
            )
            actions = [(tr("Show"), self.show_collections)]
            if added and listed is not None:
                work, before = edit_collections.save_items, listed.collection.items
                undo = partial(change, self._context, lambda _none: self.read(), work, key, before)
                actions.insert(0, (tr("Undo"), undo))
            self._context.messages.info(text, actions=actions, topic="collection")
            self.read()

        change(self._context, tell, edit_collections.put_items, key, name, items)

    def _item(self, row: int) -> CollectionItem | None:
        """The case with the region that is searched with, or the place that was found in it."""
        state = self._context.state
        index = state.columns.index_of_row(row)
        if index < 0:
            return None
        case, region = state.columns.ids[index], None
        if state.query is not None and state.query.case == case:
            region = state.query.region
        elif state.ranking is not None:
            place = next((one.place for one in state.ranking.ranked if one.row == row), None)
            region = None if place is None or place.is_whole else place.region
        return CollectionItem(case, region, None if region is None else region.middle_slice)

    def cases_of_collections(self) -> dict[str, list[str]]:
        """The cases of each collection, each once, by what the collection is called."""
        return {
            tr("collection {name}", name=one.collection.name): one.collection.cases for one in self._listed
        }

    def export(self, listed: ListedCollection) -> None:
        """Ask what of the collection is to be exported and where, and write it."""
        from semblance.app.teaching.export_collection_dialog import ExportCollectionDialog

        ExportCollectionDialog(self._context, listed.collection.name, self._parent).open()

    def start_quiz(self, listed: ListedCollection) -> None:
        """Show the cases of the collection with their findings covered."""
        if self._quiz is None:
            from semblance.app.teaching.quiz_page import QuizPage

            self._quiz = QuizPage(self._context)
            self._quiz.running.connect(self._cover)
        if self._quiz.start(listed):
            self.page_requested.emit("collections", self._quiz)
        else:
            self._context.messages.info(tr("No case of this collection has a finding to ask for."))
