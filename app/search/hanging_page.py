"""The images of a patient side by side: the views of a mammogram, prior beside current.

Zoom, window and inversion belong to the hanging: they are linked within each group of views, and kept for the next
patient.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QActionGroup, QHideEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QGridLayout, QMenu, QPushButton, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.last_views import LastViews
from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.settings import Settings
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.key_images import KeyImages
from semblance.app.viewer.linked_panes import LinkedPanes
from semblance.app.viewer.window_level import window_on_values
from semblance.app.widgets.dialog import NameDialog
from semblance.app.widgets.layouts import fill, vbox
from semblance.app.widgets.menus import Menu, attach_menu
from semblance.app.widgets.panel import FullPage, ImageHeader
from semblance.core.errors import SemblanceError
from semblance.core.imaging.display import DisplayImage
from semblance.core.language import tr
from semblance.core.library.hanging import MAMMOGRAM, ORDERS, Rows, ViewOrder, hanging, is_mammogram
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage

#: Images on the page at most: the four views of two studies.
MOST = 8
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}

#: A user keeps at most so many layouts.
MAX_LAYOUTS = 20
_SAVED, _ORDER, _PRIORS = "hanging_layouts", "hanging_order", "hanging_priors"
_VIEWS, _TRUE_SIZE = "hanging_views", "hanging_true_size"
#: How a group is shown is stored so long after the last change of it: a drag changes it at every step.
_STORE_MS = 300
_TEXTS = {
    "cc_first": tr("CC, then MLO"),
    "mlo_first": tr("MLO, then CC"),
    "by_side": tr("Right side, then left side"),
}


class HangingPage(FullPage):
    """The layout is kept for the next patient and start: whether priors are shown, and the order of the views of a
    mammogram. Dragging the header of a view onto another one exchanges the two. Ctrl+Left and Ctrl+Right exchange the
    view that has the keyboard with the one before and behind it."""

    header_requested = Signal(object)

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Images of the patient"), back=(tr("Back"), tr("Back to where you were (Esc)")))
        self._context, self._state = context, context.state
        self._case_row = -1
        #: The case whose patient is shown, while the page is shown.
        self._source: QuerySource | None = None
        self._jobs: list[Job] = []
        self.priors = QPushButton(tr("Prior studies"))
        self.priors.setIcon(icon("layers"))
        self.priors.setCheckable(True)
        self.priors.setChecked(self.layout_in_use.priors)
        self.priors.setToolTip(tr("Show earlier studies beside the newest one (O)"))
        self.order = QPushButton(tr("Layout"))
        self.order.setIcon(icon("grid"))
        self.order.setToolTip(tr("Order, size and windows of the images, kept for the next patient"))
        menu = Menu(self)
        menu.aboutToShow.connect(partial(self._fill_menu, menu))
        self.order.setMenu(menu)
        self.linked = QPushButton(tr("Linked"))
        self.linked.setIcon(icon("compare"))
        self.linked.setCheckable(True)
        self.linked.setChecked(True)
        self.linked.setToolTip(tr("Link zoom, position, window and slices of all images (K)"))
        for button in (self.order, self.priors, self.linked):
            self.header.add_action(button)
        #: Windows here are not those of the images elsewhere.
        self._views = LastViews()
        self.panes = [
            ImagePane(
                context.jobs,
                settings=context.settings,
                share=1 / MOST,
                last_views=self._views,
                figures=context.figures,
            )
            for _ in range(MOST)
        ]
        self._links = LinkedPanes(self.panes, self.linked)
        self.headers = [ImageHeader("") for _ in range(MOST)]
        self._cells: list[QWidget] = []
        self._body = QWidget()
        self._grid = QGridLayout(self._body)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(1)
        fill(vbox(self), self.header, (self._body, 1))
        for place, pane in enumerate(self.panes):
            pane.view.editable = False
            KeyImages(context, pane)
            attach_menu(pane.view, partial(self._make_menu, pane))
            cell = QWidget(self._body)
            cell.hide()
            fill(vbox(cell), self.headers[place], (pane, 1))
            self._cells.append(cell)
            self.headers[place].installEventFilter(self)
        self._group_names, self._mirrored = [""] * MOST, [False] * MOST
        #: Of each view, in which its image was shown last.
        self._sizes = [(0, 0)] * MOST
        #: How each group is shown, as far as it was changed ever.
        self._group_views: dict[str, GroupView] = {}
        self._store_timer = one_shot(self, self._store_views, _STORE_MS)
        self._connect_views()
        self.priors.toggled.connect(self._set_priors)
        self._state.on_other_source(self, lambda: self._source, self._follow_source)

    def _follow_source(self, source: QuerySource | None) -> None:
        """Show the patient of another query in place of that of the one before."""
        row = -1 if source is None else self._state.columns.row_of_id(source.case)
        if row >= 0:
            self.show_patient(row)
        else:
            self.closed.emit()

    def show_patient(self, case_row: int) -> None:
        """Show the images that hang with the case of a catalogue row."""
        columns = self._state.columns
        index = columns.index_of_row(case_row)
        if index < 0 or self._state.location is None:
            return
        self._finish_storing()
        self._group_views = group_views(self._context.settings)
        self._source = QuerySource(self._state.location, columns.ids[index], None)
        self._case_row = case_row
        self.header.set_subtitle(columns.patient_name(index) or "")
        cursor = Qt.CursorShape.OpenHandCursor if self._is_mammogram else Qt.CursorShape.ArrowCursor
        for header in self.headers:
            header.setCursor(cursor)
        self._clear()
        places = iter(range(MOST))
        rows = self._rows(index)
        hung = [case for cases in rows for case in cases]
        hung += [None] * (MOST - len(hung))
        self._group_names = [self._group_of(case) for case in hung]
        texts = [None if case is None else columns.headers.text("laterality", case) for case in hung]
        self._mirrored = [self._is_mammogram and text == "L" for text in texts]
        self._links.set_groups(self._group_names, self._mirrored)
        for row, cases in enumerate(rows):
            for column, case in enumerate(cases):
                place = next(places)
                self._grid.addWidget(self._cells[place], row, column)
                self._grid.setRowStretch(row, 1)
                self._grid.setColumnStretch(column, 1)
                self._cells[place].show()
                self._open(place, case)
        self.panes[0].view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _group_of(self, case: int | None) -> str:
        """The views of a mammogram that are seen together, as CC; "" for all other images."""
        return (
            self._state.columns.headers.text("view", case) if case is not None and self._is_mammogram else ""
        )

    def _rows(self, index: int) -> Rows:
        layout = self.layout_in_use
        return hanging(self._state.columns, index, priors=layout.priors, order=layout.order)

    # Layouts

    @property
    def layout_in_use(self) -> HangingLayout:
        return last_layout(self._context.settings)

    def use_layout(self, layout: HangingLayout) -> None:
        """Hang the images of this and the next patients so."""
        set_last_layout(self._context.settings, layout)
        self.priors.blockSignals(True)
        self.priors.setChecked(layout.priors)
        self.priors.blockSignals(False)
        self.show_patient(self._case_row)

    def exchange(self, one: int, other: int) -> None:
        """Exchange the views at two places of a mammogram, from left to right and row by row. Studies that hang below
        each other hang in the same way."""
        if not self._is_mammogram:
            return
        order = list(self.layout_in_use.order)
        one, other = one % len(order), other % len(order)
        if one != other:
            order[one], order[other] = order[other], order[one]
            self.use_layout(replace(self.layout_in_use, order=tuple(order)))
            self.panes[other].view.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def _is_mammogram(self) -> bool:
        columns = self._state.columns
        return is_mammogram(columns, columns.index_of_row(self._case_row))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A header that is dragged to another image exchanges the two."""
        if (
            isinstance(event, QMouseEvent)
            and event.type() == QEvent.Type.MouseButtonRelease
            and event.button() == Qt.MouseButton.LeftButton
            and watched in self.headers
        ):
            at = self._body.mapFromGlobal(event.globalPosition().toPoint())
            target = next(
                (
                    n
                    for n, cell in enumerate(self._cells)
                    if cell.isVisible() and cell.geometry().contains(at)
                ),
                -1,
            )
            if target >= 0:
                self.exchange(self.headers.index(watched), target)
        return super().eventFilter(watched, event)

    def save_layout(self) -> None:
        """Ask for a name and save the layout in use."""
        name = NameDialog(self, tr("Save layout"), tr("Name of the layout"), tr("Save")).ask()
        if name:
            save_layout(self._context.settings, replace(self.layout_in_use, name=name))

    def _fill_menu(self, menu: Menu) -> None:
        """The usual layouts, the user's own, and what can be done with them."""
        menu.clear()
        settings, in_use = self._context.settings, self.layout_in_use
        group = QActionGroup(menu)
        true_size = menu.addAction(tr("True size, in mm of the screen"))
        true_size.setCheckable(True)
        true_size.setChecked(settings.flag(_TRUE_SIZE, default=False))
        true_size.toggled.connect(self._set_true_size)
        menu.addAction(tr("Fit, with the windows of the files"), self._forget_views)
        # Only the views of a mammogram have an order.
        if not self._is_mammogram:
            return
        menu.addSeparator()
        usual = [HangingLayout(text, order, in_use.priors) for text, order in usual_layouts()]
        saved = saved_layouts(settings)
        for layout in (*usual, *saved):
            if saved and layout is saved[0]:
                menu.addSeparator()
            action = menu.addAction(layout.name.replace("&", "&&"), partial(self.use_layout, layout))
            action.setCheckable(True)
            action.setChecked((layout.order, layout.priors) == (in_use.order, in_use.priors))
            group.addAction(action)
        menu.addSeparator()
        menu.addAction(tr("Save layout…"), self.save_layout)
        if saved:
            delete = menu.addMenu(tr("Delete layout"))
            for layout in saved:
                delete.addAction(
                    layout.name.replace("&", "&&"), partial(delete_layout, settings, layout.name)
                )

    def _clear(self) -> None:
        for job in self._jobs:
            job.cancel()
        self._jobs = []
        self._links.forget_slices()
        for line in range(MOST):
            self._grid.setRowStretch(line, 0)
            self._grid.setColumnStretch(line, 0)
        for cell, pane in zip(self._cells, self.panes, strict=True):
            self._grid.removeWidget(cell)
            cell.hide()
            pane.show_nothing()

    def leave(self) -> None:
        """Free the memory of the images."""
        self._finish_storing()
        self._source = None
        self._clear()

    def _open(self, place: int, index: int | None) -> None:
        header = self.headers[place]
        if index is None:
            header.set_title(tr("No such image"))
            header.set_subtitle("")
            return
        columns = self._state.columns
        header.set_title(columns.name(index))
        header.set_subtitle(columns.finding_name(index) or "")
        pane = self.panes[place]
        pane.view.setAccessibleName(columns.name(index))
        row = int(columns.case_row[index])
        try:
            job = self._context.jobs.run(
                tr("Opening the image"),
                view_images.view_case,
                self._state.location,
                row,
                pool=WorkerPool.READ,
                quiet=True,
            )
        except SemblanceError as error:
            header.set_subtitle(error.message)
            return
        self._jobs.append(job)

        def show(viewed: ViewedImage) -> None:
            with self._links.paused():
                pane.show_viewed(viewed, self._state.location, row, None)
                pane.histogram.hide()
                pane.view.editable = False
                self._restore_view(place)
            self._links.show_cut_lines()

        job.done.connect(show)
        job.failed.connect(lambda error: header.set_subtitle(error.message))

    # Zoom, window and inversion of a group

    def _connect_views(self) -> None:
        for place, pane in enumerate(self.panes):
            for changed in (pane.view.view_changed, pane.view.window_changed, pane.view.inverted_changed):
                changed.connect(lambda *_, place=place: self._keep_view(place))

    def _keep_view(self, place: int) -> None:
        """Keep how a view is shown for its group, here and of the next patient."""
        view = self.panes[place].view
        if self._source is None or view.image is None:
            return
        size = view.viewport.across, view.viewport.down
        if size != self._sizes[place]:
            # The window has another size: the image is shown as before, in that.
            self._sizes[place] = size
            with self._links.paused():
                for number in self._links.group(place):
                    if self.panes[number].view.image is not None:
                        self._restore_view(number)
        elif not self._links.is_paused:
            shown = GroupView.of(view, is_mirrored=self._mirrored[place])
            self._group_views[self._group_names[place]] = shown
            self._store_timer.start()

    def _store_views(self) -> None:
        stored = {name: list(astuple(one)) for name, one in self._group_views.items()}
        self._context.settings.set_text(_VIEWS, json.dumps(stored))

    def _finish_storing(self) -> None:
        """Store at once what waits to be stored."""
        if self._store_timer.isActive():
            self._store_timer.stop()
            self._store_views()

    def hideEvent(self, event: QHideEvent) -> None:
        self._finish_storing()
        super().hideEvent(event)

    def _restore_view(self, place: int) -> None:
        """Show an image as its group was shown last."""
        view = self.panes[place].view
        kept = self._group_views.get(self._group_names[place])
        if kept is not None:
            kept.apply(view, is_mirrored=self._mirrored[place])
        if self._context.settings.flag(_TRUE_SIZE, default=False):
            view.true_size()

    def _set_true_size(self, on: bool) -> None:
        self._context.settings.set_flag(_TRUE_SIZE, on)
        with self._links.paused():
            places = [n for n, pane in enumerate(self.panes) if pane.view.image is not None]
            known = [self.panes[n].view.true_size() for n in places] if on else []
            for place in [] if on else places:
                self.panes[place].view.fit()
                self._restore_view(place)
        if on and not all(known):
            self._context.messages.info(
                tr("An image or the screen does not say how large it is. It is shown as before.")
            )

    def _forget_views(self) -> None:
        """Show all images whole, with the windows of their files."""
        self._group_views.clear()
        self._store_views()
        self._store_timer.stop()
        self._context.settings.set_flag(_TRUE_SIZE, False)
        self._views.clear()
        self.show_patient(self._case_row)

    def _make_menu(self, pane: ImagePane, _at: QPoint) -> QMenu:
        """The menu of an image; it deletes itself when it closes."""
        return image_menu(pane.view, self._context, self, pane, partial(self.header_requested.emit, pane))

    def _set_priors(self, on: bool) -> None:
        self.use_layout(replace(self.layout_in_use, priors=on))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_K:
            self.linked.toggle()
        elif event.key() == Qt.Key.Key_L:
            self._links.is_by_hand = True
        elif event.key() == Qt.Key.Key_O:
            self.priors.toggle()
        elif event.key() in _STEPS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            place = next((n for n, pane in enumerate(self.panes) if pane.view.hasFocus()), 0)
            self.exchange(place, place + _STEPS[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)


@dataclass(frozen=True)
class GroupView:
    """How the images of a group are shown. ``zoom``: times the whole image, ``None`` for the whole; ``right``,
    ``down``: the point in the middle, in halves of the image from its middle, of an image that is not mirrored.
    ``low``, ``high``: the window in values of ``unit``, of files whose own window is from ``own_low`` to ``own_high``;
    other files keep their own. ``is_inverted``: as seen from the file."""

    zoom: float | None
    right: float
    down: float
    is_inverted: bool
    low: float
    high: float
    unit: str
    own_low: float
    own_high: float

    @classmethod
    def of(cls, view: ImageView, *, is_mirrored: bool) -> GroupView:
        """How ``view`` shows its image."""
        image, shown = view.image, view.viewport
        assert image is not None
        whole, way = shown.fit(), -1 if is_mirrored else 1
        low, high = view.window_values or (0.0, 0.0)
        return cls(
            None if shown.fitted else shown.zoom / whole.zoom,
            way * (shown.x / whole.x - 1),
            shown.y / whole.y - 1,
            view.inverted != image.inverse,
            low,
            high,
            image.unit,
            *_values_of_file(image),
        )

    def apply(self, view: ImageView, *, is_mirrored: bool) -> None:
        """Show the image of ``view`` so."""
        image, whole = view.image, view.viewport.fit()
        assert image is not None
        if self.zoom is not None:
            way = -1 if is_mirrored else 1
            x, y = whole.x * (1 + way * self.right), whole.y * (1 + self.down)
            view.set_view(replace(whole, zoom=self.zoom * whole.zoom, x=x, y=y, fitted=False))
        if (view.inverted != image.inverse) != self.is_inverted:
            view.invert()
        own = image.unit, *_values_of_file(image)
        if view.window_level is not None and own == (self.unit, self.own_low, self.own_high):
            view.set_window(window_on_values(image, self.low, self.high))


def _values_of_file(image: DisplayImage) -> tuple[float, float]:
    """The values from which to which the window of the file goes."""
    low, high = (image.value(end) for end in image.auto)
    return low, high


def group_views(settings: Settings) -> dict[str, GroupView]:
    """By group how it was shown last, without damaged entries."""
    try:
        stored = json.loads(settings.text(_VIEWS, "{}"))
        return {str(name): GroupView(*values) for name, values in stored.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


@dataclass(frozen=True)
class HangingLayout:
    """``name`` is empty for one that is not saved. ``order``: the four views from left to right, row by row."""

    name: str
    order: ViewOrder
    priors: bool = True


def usual_layouts() -> list[tuple[str, ViewOrder]]:
    """Text and order of the views of the layouts that every user has."""
    return [(_TEXTS[name], order) for name, order in ORDERS.items()]


def saved_layouts(settings: Settings) -> list[HangingLayout]:
    """The user's layouts in the order they were saved, without damaged ones."""
    try:
        entries = [
            (str(name), _order(text), bool(priors))
            for name, text, priors in json.loads(settings.text(_SAVED, "[]"))
        ]
    except (ValueError, TypeError):
        return []
    return [
        HangingLayout(name, order, priors) for name, order, priors in entries[:MAX_LAYOUTS] if name and order
    ]


def save_layout(settings: Settings, layout: HangingLayout) -> None:
    """Keep ``layout`` and replace one of its name."""
    others = [one for one in saved_layouts(settings) if one.name != layout.name]
    _write(settings, [*others[-(MAX_LAYOUTS - 1) :], layout])


def delete_layout(settings: Settings, name: str) -> None:
    _write(settings, [one for one in saved_layouts(settings) if one.name != name])


def last_layout(settings: Settings) -> HangingLayout:
    """The layout in use, also of the next patient and start."""
    text = settings.text(_ORDER)
    order = ORDERS.get(text) or _order(text) or MAMMOGRAM
    return HangingLayout("", order, settings.text(_PRIORS, "yes") == "yes")


def set_last_layout(settings: Settings, layout: HangingLayout) -> None:
    settings.set_text(_ORDER, _text(layout.order))
    settings.set_text(_PRIORS, "yes" if layout.priors else "no")


def _write(settings: Settings, layouts: list[HangingLayout]) -> None:
    settings.set_text(_SAVED, json.dumps([(one.name, _text(one.order), one.priors) for one in layouts]))


def _text(order: ViewOrder) -> str:
    return " ".join(side + view for side, view in order)


def _order(text: str) -> ViewOrder:
    """The order in ``R CC``-like ``text``; empty if it has not each of the four views once."""
    order = tuple((word[:1], word[1:]) for word in str(text).split())
    return order if sorted(order) == sorted(MAMMOGRAM) else ()
