"""The images of a patient side by side: the views of a mammogram, prior beside current."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QActionGroup, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QPushButton, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import Change
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.linking import linked_slice, linked_view, linked_window
from semblance.app.widgets.full_page import FullPage
from semblance.app.widgets.image_header import ImageHeader
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.menus import Menu
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.library.hanging import ORDERS, Rows, hanging
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage

#: Images on the page at most: the four views of two studies.
MOST = 8
_PRIORS, _ORDER = "hanging_priors", "hanging_order"
#: Texts of the orders in which the views of a mammogram hang.
_ORDER_TEXTS = {
    "cc_first": tr("CC, then MLO"),
    "mlo_first": tr("MLO, then CC"),
    "by_side": tr("Right side, then left side"),
}


class HangingPage(FullPage):
    """Whether priors are shown and the order of the views are kept for the next patient and start."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Images of the patient"), back=(tr("Back"), tr("Back to where you were (Esc)")))
        self._context, self._state = context, context.state
        self._case_row = -1
        self._synchronising = False
        self._jobs: list[Job] = []
        #: The slice at which each image follows the one that was scrolled.
        self._followed: dict[int, int] = {}
        self.priors = QPushButton(tr("Prior studies"))
        self.priors.setIcon(icon("layers"))
        self.priors.setCheckable(True)
        self.priors.setChecked(context.settings.text(_PRIORS, "yes") == "yes")
        self.priors.setToolTip(tr("Show earlier studies beside the newest one (O)"))
        self.order = QPushButton(tr("Layout"))
        self.order.setIcon(icon("grid"))
        self.order.setToolTip(tr("Order of the views of a mammogram, kept for the next patient"))
        self.order.setMenu(self._order_menu())
        self.linked = QPushButton(tr("Linked"))
        self.linked.setIcon(icon("compare"))
        self.linked.setCheckable(True)
        self.linked.setChecked(True)
        self.linked.setToolTip(tr("Link zoom, position, window and slices of all images (K)"))
        for button in (self.order, self.priors, self.linked):
            self.header.add_action(button)
        self.panes = [
            ImagePane(context.jobs, share=1 / MOST, kept_views=context.state.kept_views) for _ in range(MOST)
        ]
        self.headers = [ImageHeader("") for _ in range(MOST)]
        self._cells: list[QWidget] = []
        self._body = QWidget()
        self._grid = QGridLayout(self._body)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(1)
        page = vbox(self)
        page.addWidget(self.header)
        page.addWidget(self._body, 1)
        for place, pane in enumerate(self.panes):
            pane.view.editable = False
            cell = QWidget(self._body)
            cell.hide()
            column = vbox(cell)
            column.addWidget(self.headers[place])
            column.addWidget(pane, 1)
            self._cells.append(cell)
            pane.view.view_changed.connect(partial(self._synchronise, place))
            pane.view.window_changed.connect(lambda _, place=place: self._synchronise(place))
            pane.slice_changed.connect(lambda _, place=place: self._synchronise_slices(place))
        self.priors.toggled.connect(self._set_priors)
        self._state.on_change(Change.LIBRARY, self, self.closed.emit)

    def show_patient(self, case_row: int) -> None:
        """Show the images that hang with the case of a catalogue row."""
        columns = self._state.columns
        index = columns.index_of_row(case_row)
        if index < 0 or self._state.path is None:
            return
        self._case_row = case_row
        self.header.set_subtitle(columns.patient_name(index) or "")
        self._clear()
        places = iter(range(MOST))
        for row, cases in enumerate(self._rows(index)):
            for column, case in enumerate(cases):
                place = next(places)
                self._grid.addWidget(self._cells[place], row, column)
                self._grid.setRowStretch(row, 1)
                self._grid.setColumnStretch(column, 1)
                self._cells[place].show()
                self._open(place, case)
        self.panes[0].view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _rows(self, index: int) -> Rows:
        return hanging(self._state.columns, index, priors=self.priors.isChecked(), order=self._order)

    @property
    def _order(self) -> str:
        name = self._context.settings.text(_ORDER)
        return name if name in ORDERS else next(iter(ORDERS))

    def _order_menu(self) -> Menu:
        menu = Menu(self)
        group = QActionGroup(menu)
        for name in ORDERS:
            action = menu.addAction(_ORDER_TEXTS[name], partial(self._set_order, name))
            action.setCheckable(True)
            action.setChecked(name == self._order)
            group.addAction(action)
        return menu

    def _set_order(self, name: str) -> None:
        self._context.settings.set_text(_ORDER, name)
        self.show_patient(self._case_row)

    def _clear(self) -> None:
        for job in self._jobs:
            job.cancel()
        self._jobs, self._followed = [], {}
        for line in range(MOST):
            self._grid.setRowStretch(line, 0)
            self._grid.setColumnStretch(line, 0)
        for cell, pane in zip(self._cells, self.panes, strict=True):
            self._grid.removeWidget(cell)
            cell.hide()
            pane.show_nothing()

    def leave(self) -> None:
        """Free the memory of the images."""
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
                self._state.path,
                row,
                lane=Lane.READ,
                quiet=True,
            )
        except SemblanceError as error:
            header.set_subtitle(error.message)
            return
        self._jobs.append(job)

        def show(viewed: ViewedImage) -> None:
            self._synchronising = True
            pane.show_viewed(viewed, self._state.path, row, None)
            pane.histogram.hide()
            pane.view.editable = False
            self._synchronising = False

        job.done.connect(show)
        job.failed.connect(lambda error: header.set_subtitle(error.message))

    def _set_priors(self, on: bool) -> None:
        self._context.settings.set_text(_PRIORS, "yes" if on else "no")
        self.show_patient(self._case_row)

    # Linked views

    def _synchronise(self, place: int) -> None:
        """Apply the view of one image to the others."""
        one = self.panes[place].view
        if self._synchronising or not self.linked.isChecked() or one.image is None:
            return
        self._synchronising = True
        for pane in self.panes:
            other = pane.view
            if other is one or other.image is None:
                continue
            other.set_view(linked_view(one.viewport, other.viewport))
            has_same_unit = one.image.unit == other.image.unit
            if has_same_unit and one.window_level is not None and other.window_level is not None:
                other.set_window(linked_window(one.window_level, one.image, other.image))
        self._synchronising = False

    def _synchronise_slices(self, place: int) -> None:
        one = self.panes[place].slices
        if self._synchronising or not self.linked.isChecked() or one.facts is None:
            return
        if one.place == self._followed.get(place):
            # It arrived where another one sent it, as at the end of a shorter volume.
            return
        self._synchronising = True
        self._followed = {}
        for follower, pane in enumerate(self.panes):
            other = pane.slices
            if other is not one and other.facts is not None:
                together = (one.facts.place, other.facts.place)
                self._followed[follower] = linked_slice(one.place, one.facts, other.facts, together)
                other.go_to_slice(self._followed[follower])
        self._synchronising = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_K:
            self.linked.toggle()
        elif event.key() == Qt.Key.Key_O:
            self.priors.toggle()
        else:
            super().keyPressEvent(event)
