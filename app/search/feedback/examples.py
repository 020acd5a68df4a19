"""Examples of the search as tiles, what adds and removes them, and the commands for them and for marks of a concept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QMenu, QWidget

from semblance.app.search.feedback.concepts_section import Concepts
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.jobs import Lane
from semblance.app.shell.state import Change, State
from semblance.app.shell.theme import BASE, colour, theme, theme_signals
from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.app.widgets.drop_target import dropped_file
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.text_cache import CENTRE, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource, as_image
from semblance.core.language import tr, translate
from semblance.core.library.case_columns import Rows
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage

#: Examples that one search has at most. Each counts as a mark.
MAX_EXAMPLES = 40

TILE, GAP, COLUMNS = 44, 8, 6
_BADGE, _CROSS = 14, 16
_HINT = tr("Drop cases here, or press E")


def examples_of(state: State) -> tuple[tuple[Query, bool], ...]:
    """The examples of the current search, each with whether it is positive; positive ones first."""
    search = state.search
    if search is None:
        return ()
    return (*((one, True) for one in search.like), *((one, False) for one in search.unlike))


def add_examples(context: Context, queries: Sequence[Query], *, like: bool) -> None:
    """Add ``queries`` as positive or negative examples. Existing examples change to that side."""
    state = context.state
    if state.search is None or state.query is None:
        context.messages.info(tr("Search with a case or an image first. Examples are added to the query."))
        return
    new = [one for one in dict.fromkeys(queries) if one != state.query]
    if not new:
        if queries:
            context.messages.info(tr("This is the query itself. Choose another case as an example."))
        return
    remaining = [(one, side) for one, side in examples_of(state) if one not in new]
    if len(remaining) + len(new) > MAX_EXAMPLES:
        context.messages.info(
            tr("A search has at most {most} examples. Remove some first.", most=MAX_EXAMPLES)
        )
        return
    _set_examples(context, [*remaining, *((one, like) for one in new)])


def add_case_examples(context: Context, case_rows: npt.ArrayLike, *, like: bool) -> None:
    """Add cases of the library by their catalogue rows."""
    # One more than can be added, beside the query itself, is enough to refuse them.
    rows = np.asarray(case_rows, dtype=np.int64)[: MAX_EXAMPLES + 2]
    add_examples(context, [Query(case=case) for case in context.state.columns.ids_of_rows(rows)], like=like)


def add_file_example(context: Context, path: Path, *, like: bool) -> None:
    """Add an image that is not in the library."""
    add_examples(context, [Query(image=path)], like=like)


def switch_side(context: Context, example: Query) -> None:
    """Make a positive example negative, or a negative one positive."""
    _set_examples(context, [(one, side != (one == example)) for one, side in examples_of(context.state)])


def remove_example(context: Context, example: Query) -> None:
    """Remove an example and rank again."""
    _set_examples(context, [(one, side) for one, side in examples_of(context.state) if one != example])


def remove_all_examples(context: Context) -> None:
    """Remove all examples and rank again."""
    _set_examples(context, [])


def _set_examples(context: Context, queries: Sequence[tuple[Query, bool]]) -> None:
    sides = [tuple(one for one, side in queries if side == like) for like in (True, False)]
    before = context.state.search
    context.state.change_search(like=sides[0], unlike=sides[1])
    if context.state.search != before:
        search_operations.rank(context)


class ExamplesSection(QWidget):
    """Shows the examples. A drop on the left half adds a positive example, on the right half a negative one."""

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None) -> None:
        super().__init__()
        self._context, self._state, self._thumbnails = context, context.state, thumbnails
        self._file_images: dict[Query, QImage | None] = {}
        self._requested: set[Query] = set()
        self.tiles: list[_ExampleTile] = []
        self._hides_if_empty = False
        self.setAccessibleName(tr("Examples"))
        self.setAcceptDrops(True)
        self.header = SectionHeader(tr("Examples"))
        self.header.action_requested.connect(lambda: remove_all_examples(context))
        self.note = WrappedLabel(role="small")
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GAP)
        self._grid.setColumnStretch(COLUMNS, 1)
        column = vbox(self, spacing=4, margins=(0, 4, 0, 0))
        column.addWidget(self.header)
        column.addLayout(self._grid)
        column.addWidget(self.note)
        self._sides = _DropSides(self)
        if thumbnails is not None:
            thumbnails.ready.connect(lambda _rows: self._refresh_images())
        self._state.on_change(Change.SEARCH, self, self._refresh)
        self._state.on_change(Change.RANKING, self, self._update_header)
        self._state.on_change(Change.LIBRARY, self, self._file_images.clear)
        theme_signals.changed.connect(self._refresh)
        self._refresh()

    def hide_if_empty(self, on: bool) -> None:
        """Whether it is hidden while there are no examples, instead of saying how to add one."""
        self._hides_if_empty = on
        self._update_header()

    def _refresh(self) -> None:
        current = examples_of(self._state)
        if [(tile.example, tile.like) for tile in self.tiles] != list(current):
            focused_place = next((place for place, tile in enumerate(self.tiles) if tile.hasFocus()), None)
            for tile in self.tiles:
                self._grid.removeWidget(tile)
                tile.hide()
                tile.deleteLater()
            self.tiles = [self._tile(example, like) for example, like in current]
            for place, tile in enumerate(self.tiles):
                self._grid.addWidget(tile, place // COLUMNS, place % COLUMNS)
            if focused_place is not None and self.tiles:
                self.tiles[min(focused_place, len(self.tiles) - 1)].setFocus()
        self._refresh_images()
        self._update_header()

    def _tile(self, example: Query, like: bool) -> _ExampleTile:
        tile = _ExampleTile(example, self._name(example), like)
        tile.removed.connect(lambda: remove_example(self._context, example))
        tile.side_switched.connect(lambda: switch_side(self._context, example))
        tile.menu_requested.connect(lambda at: self._menu(tile).popup(at))
        tile.clicked.connect(lambda: self._menu(tile).popup(tile.mapToGlobal(QPoint(0, tile.height()))))
        return tile

    def _menu(self, tile: _ExampleTile) -> QMenu:
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        example = tile.example
        menu.addAction(
            tr("Make it a negative example\t−") if tile.like else tr("Make it a positive example\t+"),
            tile.side_switched.emit,
        )
        menu.addAction(tr("Remove\tDel"), tile.removed.emit)
        menu.addSeparator()
        menu.addAction(tr("Search with it"), lambda: search_operations.submit_query(self._context, example))
        return menu

    def _name(self, example: Query) -> str:
        if example.image is not None:
            name = example.image.name
        else:
            index = self._state.columns.index_of_id(example.case or "")
            exists = index >= 0
            name = self._state.columns.name(index) if exists else tr("{case}, deleted", case=example.case)
        return name if example.region is None else tr("{name} (a region of it)", name=name)

    def _update_header(self) -> None:
        search, ranked_search = self._state.search, self._state.ranked_search
        count = len(self.tiles)
        self.setVisible(search is not None and bool(count or not self._hides_if_empty))
        self.header.set_note("" if count else _HINT)
        self.header.set_action(tr("Remove all") if count else "")
        problems = []
        if ranked_search is not None and ranked_search.search == search:
            if ranked_search.refused is not None and search.is_shifted:
                problems.append(
                    tr("The search continues without concepts. {why}", why=str(ranked_search.refused))
                )
            problems += map(translate, ranked_search.left_out)
        self.note.setText(" ".join(problems))
        self.note.setVisible(bool(problems))

    # Images

    def _refresh_images(self) -> None:
        for tile in self.tiles:
            tile.show_image(*self._image(tile.example))

    def _image(self, example: Query) -> tuple[QImage | None, bool]:
        """The image, and whether there is none at all."""
        if example.image is not None:
            if example not in self._requested:
                self._fetch(example)
            return self._file_images.get(example), example in self._file_images and self._file_images[
                example
            ] is None
        index = self._state.columns.index_of_id(example.case or "")
        if index < 0:
            return None, True
        if self._thumbnails is None:
            return None, False
        row = int(self._state.columns.case_row[index])
        return self._thumbnails.get(row), bool(self._thumbnails.problem(row))

    def _fetch(self, example: Query) -> None:
        self._requested.add(example)
        job = self._context.jobs.run(
            tr("Thumbnail"), card_images.file_image, example.image, 2 * TILE, lane=Lane.READ, quiet=True
        )

        def show(found: CardImage | None) -> None:
            pixels = None if found is None else found.pixels
            self._file_images[example] = None if pixels is None else as_image(pixels)
            self._refresh_images()

        job.done.connect(show)
        job.failed.connect(lambda _error: show(None))

    # Dropping

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._state.search is not None and _has_example(event):
            event.acceptProposedAction()
            self._sides.show_side(event.position().x())

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.acceptProposedAction()
        self._sides.show_side(event.position().x())

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._sides.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._sides.hide()
        like = event.position().x() < self.width() / 2
        row, path = dragged_case(event.mimeData()), dropped_file(event.mimeData())
        event.acceptProposedAction()
        if row is not None:
            add_case_examples(self._context, [row], like=like)
        elif path is not None:
            add_file_example(self._context, path, like=like)


def _has_example(event: QDropEvent) -> bool:
    return dragged_case(event.mimeData()) is not None or dropped_file(event.mimeData()) is not None


class _DropSides(QWidget):
    """Shown during a drag: the left half adds a positive example, the right half a negative one."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._section, self._like = parent, True
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_side(self, x: float) -> None:
        self._like = x < self._section.width() / 2
        self.setGeometry(self._section.rect())
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.fillRect(self.rect(), colour(tokens.panel))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        half = self.width() // 2
        for like, left, text in ((True, 0, tr("+ More like this")), (False, half, tr("− Less like this"))):
            box = QRect(left, 0, half, self.height()).adjusted(1, 1, -2, -2)
            on = like == self._like
            painter.setPen(QPen(colour(tokens.accent if on else tokens.strong_line), 2 if on else 1))
            painter.drawRoundedRect(QRectF(box), 4, 4)
            text_cache(BASE, 600 if on else 400).draw(painter, box, text, tokens.text, CENTRE)
        painter.end()


class _ExampleTile(QAbstractButton):
    """One example: its image, + or −, and a cross while it has the mouse or the focus."""

    removed = Signal()
    side_switched = Signal()
    menu_requested = Signal(QPoint)

    def __init__(self, example: Query, name: str, like: bool) -> None:
        super().__init__()
        self.example, self.like = example, like
        self._image: QImage | None = None
        self._missing = False
        if like:
            self.setAccessibleName(tr("Positive example {name}", name=name))
            tip = tr("Positive example: {name}", name=name)
        else:
            self.setAccessibleName(tr("Negative example {name}", name=name))
            tip = tr("Negative example: {name}", name=name)
        self.setToolTip(f"{tip}\n{tr('+ or − changes the side, Del removes the example')}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(lambda at: self.menu_requested.emit(self.mapToGlobal(at)))
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return QSize(theme().px(TILE), theme().px(TILE))

    def show_image(self, image: QImage | None, missing: bool) -> None:
        self._image, self._missing = image, missing
        self.update()

    @property
    def cross(self) -> QRect:
        """The rectangle of the cross, where a click removes the example."""
        side = theme().px(_CROSS)
        return QRect(self.width() - side, 0, side, side)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.cross.contains(event.position().toPoint()):
            self.removed.emit()
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        elif event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Minus):
            if (event.key() == Qt.Key.Key_Plus) != self.like:
                self.side_switched.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), QColor(tokens.image_well))
        ratio = self.devicePixelRatioF()
        if self._image is not None:
            size = self._image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            place = QRect(QPoint(0, 0), size)
            place.moveCenter(self.rect().center())
            painter.drawImage(place, self._image)
        elif self._missing:
            side = theme().px(16)
            painter.drawPixmap(
                (self.width() - side) // 2,
                (self.height() - side) // 2,
                icon_pixmap("warning", side, tokens.image_text, ratio),
            )
        self._mark(
            painter, QRect(0, 0, theme().px(_BADGE), theme().px(_BADGE)), "plus" if self.like else "minus"
        )
        if self.underMouse() or self.hasFocus():
            self._mark(painter, self.cross, "close")
        painter.end()

    def _mark(self, painter: QPainter, box: QRect, name: str) -> None:
        painter.fillRect(box, QColor(0, 0, 0, 168))
        side = box.width() - 2
        painter.drawPixmap(
            box.left() + 1, box.top() + 1, icon_pixmap(name, side, "#FFFFFF", self.devicePixelRatioF())
        )


class ExampleCommands(QObject):
    """``selected_cases`` returns the catalogue rows of the selected cases in the focused panel.

    ``name_requested``: ask for the name of a new concept.
    """

    name_requested = Signal()

    def __init__(
        self, context: Context, parent: QWidget, concepts: Concepts, selected_cases: Callable[[], Rows]
    ) -> None:
        super().__init__(parent)
        self._context, self._parent, self._concepts = context, parent, concepts
        self._selected_cases = selected_cases
        self.commands: dict[str, Callable[[], object]] = {
            "example_like": partial(self.add_examples, like=True),
            "example_unlike": partial(self.add_examples, like=False),
            "example_file": self.add_file,
            "no_examples": partial(remove_all_examples, context),
            "new_concept": self.name_requested.emit,
            "concept_with": partial(self.mark, has=True),
            "concept_without": partial(self.mark, has=False),
            "concept_unmark": partial(self.mark, has=None),
            "undo_concept": concepts.undo,
        }

    def add_examples(self, *, like: bool) -> None:
        """Add the selected cases as positive or negative examples."""
        add_case_examples(self._context, self._selected_cases(), like=like)

    def add_file(self) -> None:
        """Add an image that is not in the library as a positive example."""
        title = tr("Add an image as example")
        if chosen := choose_file(self._parent, title, search_operations.FILE_FILTER):
            add_file_example(self._context, chosen, like=True)

    def mark(self, *, has: bool | None) -> None:
        """Mark the selected cases for the selected concept."""
        current = self._concepts.current
        cases = self._context.state.columns.ids_of_rows(self._selected_cases())
        if current is not None and cases:
            self._concepts.mark(current.id, cases, has)
            self._context.messages.info(_mark_message(cases, current.name, has))

    def fill_menu(self, menu: QMenu, case_row: int) -> None:
        """Add the entries for the case of the menu and the cases selected with it."""
        rows = self._selected_cases()
        rows = rows if case_row in rows else np.array([case_row], dtype=np.int64)
        if self._context.state.search is not None:
            menu.addSeparator()
            add = partial(add_case_examples, self._context, rows)
            menu.addAction(tr("Add as positive example\tE"), partial(add, like=True))
            menu.addAction(tr("Add as negative example\tShift+E"), partial(add, like=False))
        if not self._context.state.can_write or self._context.state.metric is None:
            return
        current = self._concepts.current
        case = self._context.state.columns.ids_of_rows(rows[:1])[0]
        concepts = menu.addMenu(tr("Concepts"))
        for one in self._concepts.facts:
            keys = ("\tY", "\tN") if one is current else ("", "")
            has = one.own.get(case)
            sub = concepts.addMenu(one.name.replace("&", "&&"))
            for text, value in (
                (tr("With it") + keys[0], True),
                (tr("Without it") + keys[1], False),
                (tr("Remove mark"), None),
            ):
                action = sub.addAction(text, partial(self._mark, one.id, rows, value))
                action.setCheckable(True)
                action.setChecked(has is value)
        concepts.addSeparator()
        concepts.addAction(tr("New concept…"), self.name_requested.emit)

    def _mark(self, concept: int, rows: Rows, has: bool | None) -> None:
        self._concepts.mark(concept, self._context.state.columns.ids_of_rows(rows), has)


def _mark_message(cases: Sequence[str], concept: str, has: bool | None) -> str:
    """The message after marking ``cases``."""
    values = {"cases": cases[0] if len(cases) == 1 else tr("{n} cases", n=len(cases)), "concept": concept}
    if has is None:
        return tr("{cases}: neither with nor without {concept}.", **values)
    return tr("{cases}: with {concept}.", **values) if has else tr("{cases}: without {concept}.", **values)
