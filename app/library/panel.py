"""The Library panel: every case, filtered by finding, by split and by text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QWidget,
)

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import chip_pixmap
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.panel_header import header_button
from semblance.app.widgets.scroll_area import PanelScrollArea
from semblance.app.widgets.search_field import SearchField
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.app.widgets.view_switch import ViewSwitch
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.case_columns import NO_FINDING
from semblance.core.searches.query import Query

#: Findings listed before the list begins to scroll.
LISTED = 8
GAP = 4


class LibraryPanel(Panel):
    """Grid or list of the cases; choosing one with Enter or a double click asks with it."""

    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Library"))
        self._context, self._state = context, context.state
        self._order: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)

        self.search = SearchField()
        self.search.setAccessibleName(tr("Filter cases by id, patient or finding"))
        self.search.searched.connect(lambda _text: self._apply())

        self._findings = _Choices(tr("Finding"))
        self._split = _Choices(tr("Split"))
        for choices in (self._findings, self._split):
            choices.changed.connect(self._apply)

        self.grid = CaseGrid()
        self.grid.set_rows(context.settings.text("library_view", "list") != "grid")
        #: The library whose cases are listed: of another one the list begins at its first.
        self._of: Path | None = None
        self.grid.set_source(thumbnails)
        self.grid.setAccessibleName(tr("Cases of the library"))
        self.grid.activated.connect(self._ask)
        self.grid.menu_requested.connect(self.menu_requested)

        self.search.down_pressed.connect(self._into_cases)
        self.search.returnPressed.connect(self._into_cases)
        self.view = ViewSwitch()
        self.view.changed.connect(self._set_view)
        #: In a narrow window, where only a rail is seen else.
        self.fold_button = header_button("chevron-left", tr("Collapse the library (Ctrl+1 from its cases)"))

        top = QWidget()
        inner = vbox(top, spacing=8, margins=(8, 8, 8, 4))
        inner.addWidget(self.search)
        inner.addWidget(self._findings)
        inner.addWidget(self._split)
        self._shown = ElidedLabel(role="small")
        self.unpick = QPushButton(tr("Show all"))
        self.unpick.setToolTip(tr("Show all cases, not only the selected ones"))
        self.unpick.setAccessibleName(tr("Show all cases, not only the selected ones"))
        set_look(self.unpick, link=True)
        self.unpick.clicked.connect(lambda: self._state.set_selected_rows(None))
        # Its room is kept: the panels below would jump with the first choice.
        policy = self.unpick.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.unpick.setSizePolicy(policy)
        counted = hbox(spacing=8)
        counted.addWidget(self._shown, 1)
        counted.addWidget(self.unpick)
        inner.addLayout(counted)
        column = vbox(self)
        column.addWidget(top)
        column.addWidget(self.grid, 1)

        self._state.changed.connect(self._follow_state)
        theme_signals.changed.connect(self._renew)
        self._set_view(context.settings.text("library_view", "list"))
        self.fold_button.hide()
        self._renew()

    def focus_filter(self) -> None:
        """Type to find a case."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _into_cases(self) -> None:
        """From the filter to the cases it leaves, of which one is current."""
        self._apply()
        self.grid.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _follow_state(self, change: Change) -> None:
        if change & Change.SELECTION and self._state.selected_rows is not None:
            # Cases selected on a plot are all shown, whatever was typed here before.
            self.search.clear()
        if change & Change.CASES:
            self._renew()
        elif change & Change.METRIC:
            self._renew_split()
        elif change & Change.SELECTION:
            self._apply()
        if change & Change.QUERY:
            self._follow_query()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.search.hasFocus():
            self._into_cases()
        else:
            super().keyPressEvent(event)

    def current_case(self) -> str | None:
        """The id of the case that is current here."""
        index = self._state.columns.index_of_row(self.grid.current())
        return self._state.columns.ids[index] if index >= 0 else None

    def show_current(self) -> None:
        """Scroll to the case that is current."""
        if self.grid.current() >= 0:
            self.grid.set_current(self.grid.current())

    def search_current(self) -> None:
        self._ask(self.grid.current())

    def step(self, by: int) -> None:
        """Make the case ``by`` places further current and ask with it."""
        model = self.grid.model()
        if len(model):
            place = min(len(model) - 1, max(0, self.grid.current_place() + by))
            self.grid.set_current(model.case_row(place))
            self.search_current()

    def _set_view(self, name: str) -> None:
        self._context.settings.set_text("library_view", name)
        self.view.set_value("grid" if name == "grid" else "list")
        self.grid.set_rows(name != "grid")

    def _renew(self) -> None:
        columns = self._state.columns
        counts, ratio = columns.finding_counts, self.devicePixelRatioF()
        entries: list[tuple[int, str, int, QIcon | None]] = [
            (code, name, int(counts[code]), QIcon(chip_pixmap(code, columns.letters[name], ratio)))
            for code, name in enumerate(columns.findings)
        ]
        if counts[-1]:
            entries.append(
                (NO_FINDING, tr("not given"), int(counts[-1]), QIcon(chip_pixmap(NO_FINDING, "?", ratio)))
            )
        self._findings.set_entries(entries)
        self._renew_split()

    def _renew_split(self) -> None:
        metric = self._state.metric
        columns = self._state.columns
        if metric is None or not len(columns):
            self._split.set_entries([])
        else:
            trained = int(np.isin(columns.case_row, metric.training).sum())
            self._split.set_entries(
                [(1, tr("training"), trained, None), (0, tr("held-out"), len(columns) - trained, None)]
            )
        self._apply()

    def _apply(self) -> None:
        columns = self._state.columns
        findings = self._findings.chosen()
        order = columns.filtered(findings, self.search.text())
        split = self._split.chosen()
        if split is not None and self._state.metric is not None:
            trained = np.isin(columns.case_row[order], self._state.metric.training)
            order = order[[bool(int(t) in split) for t in trained]] if len(split) < 2 else order
        picked = self._state.selected_rows
        if picked is not None:
            order = order[np.isin(columns.case_row[order], picked)]
        self._order = columns.sorted_by("id", order)
        same, self._of = self._state.path == self._of, self._state.path
        if not same:
            # Row numbers of another library say nothing here.
            self.grid.set_model(CaseModel(columns, self._order[:0]))
        # What a filter leaves is read from its beginning; where one is current, from there.
        fewer = len(self._order) < len(self.grid.model())
        self.grid.set_model(CaseModel(columns, self._order), keep_place=same and not fewer)
        if fewer:
            self.show_current()
        self.unpick.setVisible(picked is not None)
        total = len(columns)
        shown = len(self._order)
        if shown == total:
            self._shown.setText(tr_n("{n} case", "{n} cases", total))
        else:
            self._shown.setText(tr("{k:,} of {n:,} cases", k=shown, n=total))
        self._follow_query()

    def _follow_query(self) -> None:
        query = self._state.query
        if query is not None and query.case is not None:
            index = self._state.columns.index_of_id(query.case)
            if index >= 0:
                row = int(self._state.columns.case_row[index])
                if row != self.grid.current():
                    self.grid.set_current(row)

    def _ask(self, case_row: int) -> None:
        index = self._state.columns.index_of_row(case_row)
        if index >= 0:
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))


class _Choices(QWidget):
    """A titled list of check boxes with counts; all ticked means no filter."""

    changed = Signal()

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = QLabel(title)
        set_look(self._title, role="second")
        self.setAccessibleName(title)
        self._inner = QWidget()
        self._rows = vbox(self._inner, spacing=GAP, margins=(0, 0, 4, 0))
        self._scroll = PanelScrollArea(self._inner)
        column = vbox(self, spacing=4)
        column.addWidget(self._title)
        column.addWidget(self._scroll)
        self._boxes: dict[int, QCheckBox] = {}
        self._named: list[tuple[int, str]] = []
        self.set_entries([])

    def set_entries(self, entries: list[tuple[int, str, int, QIcon | None]]) -> None:
        """(key, text, count, icon) of each choice; ticks stay where the choices are the same."""
        named = [(key, text) for key, text, _, _ in entries]
        ticked = {key: box.isChecked() for key, box in self._boxes.items()} if named == self._named else {}
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        self._boxes, self._named = {}, named
        for key, text, count, image in entries:
            line = QWidget()
            row = QHBoxLayout(line)
            row.setContentsMargins(0, 0, 0, 0)
            box = QCheckBox(text.replace("&", "&&"))
            box.setChecked(ticked.get(key, True))
            box.setAccessibleName(f"{text}, {format_number(count, ',')}")
            box.setToolTip(plain_tip(text))
            if image is not None:
                box.setIcon(image)
            box.toggled.connect(lambda _on: self.changed.emit())
            number = QLabel(format_number(count, ","))
            set_look(number, role="second")
            row.addWidget(box, 1)
            row.addWidget(number)
            self._rows.addWidget(line)
            self._boxes[key] = box
        self._scroll.setFixedHeight((theme().px(18) + GAP) * min(len(entries), LISTED))
        self.setVisible(bool(entries))

    def chosen(self) -> set[int] | None:
        """Keys of the ticked choices; ``None`` when all are."""
        ticked = {key for key, box in self._boxes.items() if box.isChecked()}
        return None if len(ticked) == len(self._boxes) else ticked
