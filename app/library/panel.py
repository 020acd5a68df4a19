"""The Library panel: all cases, as cards, as a list or by patient, filtered by finding, split and text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from semblance.app.library.patient_view import PatientView
from semblance.app.library.prepare_operations import measure_visible
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.buttons import GRID_OR_LIST, ViewSwitch, key_button
from semblance.app.widgets.cards.card_layout import NO_PLACE
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel, hit_texts
from semblance.app.widgets.fields import SearchField
from semblance.app.widgets.finding_chips import chip_pixmap
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import EDGE, PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import format_number, tr, tr_n, visible
from semblance.core.library.case_columns import NO_FINDING, words
from semblance.core.library.location import LibraryLocation
from semblance.core.library.patient_tree import PatientTree
from semblance.core.library.text_query import TextHit
from semblance.core.workflows.library import find_cases

#: Findings shown before the list scrolls.
LISTED = 8
GAP = 4
#: Arrow keys that follow each other faster do not search for every case.
SEARCH_DELAY_MS = 120
#: Delay after scrolling before the visible cases are measured first.
MEASURE_DELAY_MS = 300
_GRID, _LIST, PATIENTS = "grid", "list", "patients"
VIEWS = (*GRID_OR_LIST, (PATIENTS, "users", tr("By patient, study and series")))


class LibraryPanel(Panel):
    """A grid or list of the cases, or their patients, studies and series. A click or an arrow key searches with one.

    The grid's current case is the panel's in every view.
    """

    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Library"))
        self._context, self._state = context, context.state
        self._shown_order: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)

        self.search = SearchField(tr("Search any text"))
        self.search.setAccessibleName(
            tr("Filter cases by finding, notes, report, header text, id or patient")
        )
        #: Word of the filter -> catalogue rows of the cases with it in their header, as far as it was searched.
        self._in_headers: dict[str, npt.NDArray[np.int64]] = {}
        #: Where cases have the words ``_hits_text`` of the filter, by row, of the rows read. The grid shares it.
        self._hits: dict[int, TextHit] = {}
        self._hits_text, self._hits_read = "", set[int]()
        self.search.searched.connect(lambda _text: self._search())

        self._findings = _FilterList(tr("Finding"))
        self._split = _FilterList(tr("Split"))
        for filter_list in (self._findings, self._split):
            filter_list.changed.connect(self._apply_filters)

        self._is_plain = False
        self.grid = CaseGrid()
        self.grid.set_multiple(True)
        #: The library whose cases are listed. With another library the list starts at the top.
        self._listed_library: LibraryLocation | None = None
        self.grid.set_source(thumbnails)
        self.grid.setAccessibleName(tr("Cases of the library"))
        #: The case that a key went to last, and the time until it becomes the query.
        self._next_query = NONE
        self._search_timer = one_shot(self, self._search_next, SEARCH_DELAY_MS)
        self._measure_timer = one_shot(self, self._follow_scrolling, MEASURE_DELAY_MS)
        self.grid.verticalScrollBar().valueChanged.connect(lambda _: self._measure_timer.start())

        self.search.down_pressed.connect(self._focus_cases)
        self.search.returnPressed.connect(self._focus_cases)
        self.patients = PatientView(thumbnails)
        for cases in (self.grid, self.patients):
            cases.picked.connect(self._pick)
            cases.activated.connect(self._search_with)
            cases.menu_requested.connect(self.menu_requested)
        self.patients.current_changed.connect(self.grid.set_current)
        self.grid.current_changed.connect(self._follow_current)
        self._tree: PatientTree | None = None
        self._views = QStackedWidget()
        self._views.addWidget(self.grid)
        self._views.addWidget(self.patients)
        self.view = ViewSwitch(VIEWS)
        self.view.changed.connect(self._set_view)
        #: Visible in a narrow window only, where the panel can be collapsed to the icon bar.
        self.collapse_button = key_button(
            "chevron-left", tr("Collapse the library"), context.actions, "go_library"
        )

        self._count_label = ElidedLabel(role="small")
        self.show_all_button = QPushButton(tr("Show all"))
        self._lay_out()
        self._state.changed.connect(self._follow_state)
        theme_signals.changed.connect(self._refresh)
        self._show_view(context.settings.text("library_view"))
        self.collapse_button.hide()
        self._refresh()

    def _lay_out(self) -> None:
        top = QWidget()
        top_layout = fill(
            vbox(top, spacing=8, margins=(EDGE, 8, EDGE, 4)), self.search, self._findings, self._split
        )
        self._add_counts(top_layout)
        fill(vbox(self), top, (self._views, 1))

    def _add_counts(self, layout: QVBoxLayout) -> None:
        """Add the number of cases, what the filter can be used for, and where the current case has its words."""
        self.show_all_button.setToolTip(tr("Show all cases, not only the selected ones"))
        self.show_all_button.setAccessibleName(tr("Show all cases, not only the selected ones"))
        set_look(self.show_all_button, link=True)
        self.show_all_button.clicked.connect(lambda: self._state.set_selected_rows(None))
        # It keeps its space when hidden, so that the list below does not jump.
        policy = self.show_all_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.show_all_button.setSizePolicy(policy)
        self.order_button = QPushButton(tr("Order similar cases by it"))
        self.order_button.setToolTip(
            tr(
                "Cases with these words come forward among the similar cases of the query (reciprocal rank fusion)"
            )
        )
        set_look(self.order_button, link=True)
        self.order_button.clicked.connect(
            lambda: search_operations.set_text(self._context, self.search.text().strip())
        )
        self.order_button.hide()
        #: Where the current case has the words.
        self.hit = ElidedLabel(role="small")
        self.hit.hide()
        count_row = fill(hbox(spacing=8), (self._count_label, 1), self.show_all_button)
        layout.addLayout(count_row)
        layout.addWidget(self.hit)
        layout.addWidget(self.order_button, 0, Qt.AlignmentFlag.AlignLeft)

    def _follow_scrolling(self) -> None:
        """Read where the cases on screen have the words. While the library is prepared, measure these cases next."""
        self._read_hits()
        if self._state.preparing is not None and self._state.preparing == self._state.location:
            model = self.grid.model()
            measure_visible(self._context, [model.case_row(place) for place in self.grid.visible_places()])

    def focus_filter(self) -> None:
        """Move the keyboard to the filter field."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _focus_cases(self) -> None:
        """From the filter to the cases it leaves, of which one is current."""
        self._apply_filters()
        self.focus_cases()

    def focus_cases(self) -> None:
        """Move the keyboard to the cases, however they are shown."""
        cases = self.patients if self.view.value() == PATIENTS else self.grid
        cases.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _follow_current(self, case_row: int) -> None:
        """The row of the grid's current case is current by patient too, if that is shown."""
        self._read_hits()
        if case_row >= 0 and self.view.value() == PATIENTS:
            self.patients.set_current(case_row)

    def _show_hit(self) -> None:
        """Show where the current case has the words of the filter. The line is there as long as there are words."""
        hit = self._hits.get(self.grid.current())
        self.hit.setText("" if hit is None else hit_texts(hit)[1])
        self.hit.setVisible(bool(self._hits_text))

    def _read_hits(self) -> None:
        """Read where the current case and those on screen have the words of the filter."""
        text, path, model = self.search.text().strip(), self._state.location, self.grid.model()
        if text != self._hits_text:
            self._hits_text = text
            self._hits.clear()
            self._hits_read.clear()
        self._show_hit()
        rows = {self.grid.current(), *map(model.case_row, self.grid.visible_places())} - {NONE}
        missing = sorted(rows - self._hits_read)
        if not text or path is None or not missing:
            return

        def show(hits: Mapping[int, TextHit]) -> None:
            if (text, path) == (self._hits_text, self._state.location):
                self._hits |= hits
                self._hits_read.update(missing)
                self.grid.viewport().update()
                self._show_hit()

        job = self._context.jobs.run(
            tr("Reading texts"),
            find_cases.text_hits,
            path,
            missing,
            text,
            pool=WorkerPool.READ,
            channel="hit",
            quiet=True,
        )
        job.done.connect(show)

    def _follow_state(self, change: Change) -> None:
        if change & Change.LIBRARY:
            self._search_timer.stop()
            self._clear_filters()
        elif change & Change.SELECTION and self._state.selected_rows is not None:
            # All cases selected on a plot are shown, so the text filter is cleared.
            self.search.clear()
        if change & Change.CASES:
            self._in_headers = {}
            self._hits_read.clear()
            self._show_default_view()
            self._refresh()
            if self.search.text():
                self._search()
        elif change & Change.METRIC:
            self._refresh_split()
        elif change & Change.SELECTION:
            self._apply_filters()
        if change & Change.QUERY:
            self._search_timer.stop()
            self._select_query_case()
            self._offer_order()

    def _offer_order(self) -> None:
        """Offer to order by text and image where there are both."""
        self.order_button.setVisible(bool(self.search.text().strip()) and self._state.query is not None)

    def _clear_filters(self) -> None:
        """Another library begins with all its cases."""
        self.search.clear()
        for filter_list in (self._findings, self._split):
            filter_list.set_entries([])
        # Row numbers of another library are not valid here.
        self._tree = None
        self.patients.set_tree(None, np.empty(0, dtype=np.intp))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.search.hasFocus():
            self._focus_cases()
        else:
            super().keyPressEvent(event)

    def current_case(self) -> str | None:
        """The id of the current case."""
        index = self._state.columns.index_of_row(self.grid.current())
        return self._state.columns.ids[index] if index >= 0 else None

    def show_current(self) -> None:
        """Scroll to the current case."""
        if self.grid.current() >= 0:
            self.grid.set_current(self.grid.current())

    def search_current(self) -> None:
        self._search_with(self.grid.current())

    def step(self, steps: int) -> None:
        """Search with the case ``steps`` positions after the query, or after the current case."""
        model = self.grid.model()
        if len(model):
            start = model.position_of(
                self._next_query if self._search_timer.isActive() else self._state.query_row
            )
            start = start if start != NO_PLACE else self.grid.current_place()
            place = min(len(model) - 1, max(0, start + steps))
            self.grid.set_current(model.case_row(place))
            self._pick(model.case_row(place), by_key=True)

    def _set_view(self, name: str) -> None:
        self._context.settings.set_text("library_view", name)
        self._show_view(name)

    def _show_default_view(self) -> None:
        """Until the user chooses a view, show studies where the library has any, as one is used to, or else a list."""
        library = self._state.library
        if library is None or self._context.settings.text("library_view"):
            return
        name = PATIENTS if library.tree.studies.any() else _LIST
        if name != self.view.value():
            self._show_view(name)

    def _show_view(self, name: str) -> None:
        name = name if name in (_GRID, PATIENTS) else _LIST
        self.view.set_value(name)
        self.grid.set_rows(name != _GRID)
        self._views.setCurrentWidget(self.patients if name == PATIENTS else self.grid)
        if self._state.library is not None:
            self._apply_filters()

    def _show_patients(self) -> None:
        """Show the filtered cases by patient, if that is the view."""
        library = self._state.library
        if self.view.value() != PATIENTS:
            return
        tree = library.tree if library is not None else None
        filtered = bool(self.search.text()) or len(self._shown_order) < len(self._state.columns)
        if tree is not self._tree:
            self._tree = tree
            self.patients.set_tree(tree, self._shown_order, filtered=filtered)
        else:
            self.patients.choose(self._shown_order, filtered=filtered)
        self._follow_current(self.grid.current())

    def _refresh(self) -> None:
        columns = self._state.columns
        counts, ratio = columns.finding_counts, self.devicePixelRatioF()
        entries: list[tuple[int, str, int, QIcon | None]] = [
            (code, name, int(counts[code]), QIcon(chip_pixmap(code, columns.letters[name], ratio)))
            for code, name in enumerate(columns.findings)
        ]
        # Without any finding there is nothing to choose between.
        if entries and counts[-1]:
            entries.append(
                (NO_FINDING, tr("not given"), int(counts[-1]), QIcon(chip_pixmap(NO_FINDING, "?", ratio)))
            )
        self._findings.set_entries(entries)
        self._refresh_split()

    def set_plain(self, plain: bool) -> None:
        """Whether the cases can be filtered by findings only, not by whether the metric was trained on them, and the
        findings and views have one button each."""
        self._is_plain = plain
        self._findings.set_compact(plain)
        self.view.set_compact(plain)
        self._refresh_split()

    def _refresh_split(self) -> None:
        metric = self._state.metric
        columns = self._state.columns
        if self._is_plain or metric is None or not len(columns):
            self._split.set_entries([])
        else:
            counts = np.bincount(self._split_codes(columns.case_row), minlength=3).tolist()
            entries = [(1, tr("training"), counts[1], None), (0, tr("held-out"), counts[0], None)]
            self._split.set_entries(entries + ([(2, tr("sealed"), counts[2], None)] if counts[2] else []))
        self._apply_filters()

    def _split_codes(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """(n,) 1 for a training case of the metric, 2 for a case of the sealed test vault, else 0."""
        assert self._state.metric is not None
        codes = np.isin(rows, self._state.metric.training).astype(np.intp)
        if self._state.library is not None:
            codes[np.isin(rows, self._state.library.sealed)] = 2
        return codes

    def _apply_filters(self) -> None:
        columns = self._state.columns
        findings = self._findings.ticked_keys()
        order = columns.filtered(findings, self.search.text(), self._in_headers)
        split = self._split.ticked_keys()
        if split is not None and self._state.metric is not None:
            order = order[np.isin(self._split_codes(columns.case_row[order]), sorted(split))]
        selected_rows = self._state.selected_rows
        if selected_rows is not None:
            order = order[np.isin(columns.case_row[order], selected_rows)]
        if self.view.value() == PATIENTS and self._state.library is not None:
            is_shown = np.zeros(len(columns), dtype=bool)
            is_shown[order] = True
            by_patient = self._state.library.tree.order
            self._shown_order = by_patient[is_shown[by_patient]]
        else:
            self._shown_order = columns.ordered_by_id(order)
        same_library = self._state.location == self._listed_library
        self._listed_library = self._state.location
        if not same_library:
            # Row numbers of another library are not valid here.
            self.grid.set_model(CaseModel(columns, self._shown_order[:0]))
        # A shorter list starts at the top, or at the current case.
        is_shorter = len(self._shown_order) < len(self.grid.model())
        self.grid.set_model(
            CaseModel(columns, self._shown_order, hits=self._hits),
            keep_scroll=same_library and not is_shorter,
        )
        if is_shorter:
            self.show_current()
        self._show_patients()
        self._read_hits()
        self.show_all_button.setVisible(selected_rows is not None)
        self._offer_order()
        total = len(columns)
        shown = len(self._shown_order)
        if shown == total:
            self._count_label.setText(tr_n("{n} case", "{n} cases", total))
        else:
            self._count_label.setText(tr("{k:,} of {n:,} cases", k=shown, n=total))
        if self.grid.current() == NONE:
            self._select_query_case()

    def _search(self) -> None:
        """Apply the filter at once, and again when the headers have been searched for its words."""
        self._apply_filters()
        path = self._state.location
        new = [word for word in words(self.search.text()) if word not in self._in_headers]
        if path is None or not new:
            return
        job = self._context.jobs.run(
            tr("Searching headers"),
            find_cases.header_rows,
            path,
            new,
            pool=WorkerPool.READ,
            channel="filter",
            quiet=True,
        )

        def show(found: dict[str, npt.NDArray[np.int64]]) -> None:
            if self._state.location == path:
                self._in_headers |= found
                self._apply_filters()

        self._context.follow(job, show)

    def _select_query_case(self) -> None:
        row = self._state.query_row
        if row not in (NONE, self.grid.current()):
            self.grid.set_current(row)

    def _pick(self, case_row: int, by_key: bool) -> None:
        """Search with the case that the user went to. While a key is held, only where it starts and stops."""
        is_held = by_key and self._search_timer.isActive()
        if not is_held:
            self._search_with(case_row)
        if by_key:
            search_operations.cancel_file_query(self._context)
            self._next_query = case_row
            self._search_timer.start()

    def _search_next(self) -> None:
        self._search_with(self._next_query)

    def _search_with(self, case_row: int) -> None:
        self._search_timer.stop()
        search_operations.submit_case(self._context, case_row)


class _FilterList(QWidget):
    """A titled list of check boxes with counts. All ticked means no filter."""

    changed = Signal()

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = QLabel(title)
        set_look(self._title, role="second")
        self.setAccessibleName(title)
        self._content = QWidget()
        self._rows_layout = vbox(self._content, spacing=GAP, margins=(0, 0, 4, 0))
        self._scroll = PanelScrollArea(self._content, title)
        self._column = fill(vbox(self, spacing=4), self._title, self._scroll)
        self._button = QPushButton()
        self._button.setIcon(icon("chevron-down"))
        # The arrow stands behind the text.
        self._button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self._button.clicked.connect(self._open)
        self._button.hide()
        self._column.addWidget(self._button)
        #: Holds the check boxes while they have one button.
        self._popup = QFrame(self, Qt.WindowType.Popup)
        set_look(self._popup, role="palette")
        vbox(self._popup, margins=(12, 8, 8, 8))
        self.changed.connect(self.show_ticked)
        self._boxes: dict[int, QCheckBox] = {}
        self._numbers: dict[int, QLabel] = {}
        self._names: dict[int, str] = {}
        self.set_entries([])

    def set_entries(self, entries: list[tuple[int, str, int, QIcon | None]]) -> None:
        """Show (key, text, count, icon) of each choice. A choice keeps its tick, and a new one is ticked."""
        names = {key: text for key, text, _, _ in entries}
        if entries and names == self._names and list(names) == list(self._names):
            self._set_counts(entries)
            return
        ticked = {self._names[key]: box.isChecked() for key, box in self._boxes.items()}
        while (layout_item := self._rows_layout.takeAt(0)) is not None:
            widget = layout_item.widget()
            if widget is not None:
                widget.deleteLater()
        self._boxes, self._numbers, self._names = {}, {}, names
        for key, text, _, _ in entries:
            row_widget = QWidget()
            row = QHBoxLayout(row_widget)
            row.setContentsMargins(0, 0, 0, 0)
            box = QCheckBox(visible(text).replace("&", "&&"))
            box.setChecked(ticked.get(text, True))
            box.setToolTip(
                plain_tip(visible(text) + "\n" + tr("Right-click to show only these cases, or all"))
            )
            box.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            box.customContextMenuRequested.connect(partial(self._show_menu, key))
            box.toggled.connect(lambda _on: self.changed.emit())
            number = QLabel()
            set_look(number, role="second")
            row.addWidget(box, 1)
            row.addWidget(number)
            self._rows_layout.addWidget(row_widget)
            self._boxes[key], self._numbers[key] = box, number
        self._set_counts(entries)
        self.setVisible(bool(entries))

    def set_compact(self, compact: bool) -> None:
        """Whether one button opens the check boxes."""
        self._title.setVisible(not compact)
        self._button.setVisible(compact)
        column = self._popup.layout() if compact else self._column
        assert column is not None
        column.addWidget(self._scroll)
        self._scroll.show()
        self.show_ticked()

    def _open(self) -> None:
        self._popup.setFixedWidth(max(self.width(), self._content.sizeHint().width() + theme().px(40)))
        self._popup.move(self._button.mapToGlobal(QPoint(0, self._button.height() + 2)))
        self._popup.show()
        next(iter(self._boxes.values())).setFocus(Qt.FocusReason.PopupFocusReason)

    def show_ticked(self) -> None:
        """Say on the button which are chosen."""
        ticked = [self._names[key] for key, box in self._boxes.items() if box.isChecked()]
        if len(ticked) == len(self._boxes):
            text = tr("All findings")
        elif len(ticked) == 1:
            text = visible(ticked[0])
        else:
            text = tr("{n} of {total} findings", n=len(ticked), total=len(self._boxes))
        self._button.setText(text.replace("&", "&&"))
        self._button.setAccessibleName(f"{self._title.text()}: {text}")

    def _set_counts(self, entries: list[tuple[int, str, int, QIcon | None]]) -> None:
        """Show the counts and icons of the choices there are: while cases arrive, nothing else changes."""
        self._scroll.setFixedHeight((theme().px(18) + GAP) * min(len(entries), LISTED))
        for key, text, count, chip in entries:
            box, number = self._boxes[key], format_number(count, ",")
            self._numbers[key].setText(number)
            box.setAccessibleName(f"{visible(text)}, {number}")
            if chip is not None:
                box.setIcon(chip)
                box.setIconSize(chip.availableSizes()[0])
        self.show_ticked()

    def _show_menu(self, key: int, at: QPoint) -> None:
        """The menu of one choice: only this one, or all."""
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Only {name}", name=visible(self._names[key])), partial(self.tick_only, {key}))
        menu.addAction(tr("All"), partial(self.tick_only, set(self._boxes)))
        menu.popup(self._boxes[key].mapToGlobal(at))

    def tick_only(self, keys: set[int]) -> None:
        """Tick these choices and no others."""
        for key, box in self._boxes.items():
            with QSignalBlocker(box):
                box.setChecked(key in keys)
        self.changed.emit()

    def ticked_keys(self) -> set[int] | None:
        """Keys of the ticked choices, or ``None`` if all are ticked."""
        ticked = {key for key, box in self._boxes.items() if box.isChecked()}
        return None if len(ticked) == len(self._boxes) else ticked
