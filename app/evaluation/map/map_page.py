"""The Map tab: a map of the library under the current metric, with a legend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from semblance.app.evaluation.map import compute_map
from semblance.app.evaluation.map.map_legend import MapLegend
from semblance.app.evaluation.map.map_points import NONE, Rows
from semblance.app.evaluation.map.map_view import MapView
from semblance.app.shell import plot_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.plots.figure_view import ask_plot_file, theme_name
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.case_columns import NO_FINDING
from semblance.core.reports.figures import MapDrawing
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.map_library import LANDMARK, NEIGHBOURS, LibraryMap

SIDE_WIDTH = 216


class MapPage(QWidget):
    """Computes the map when it is first shown and on request. ``chosen(row)``: a case was clicked."""

    chosen = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self._library_map: LibraryMap | None = None
        self._job: Job | None = None
        self._problem: SemblanceError | None = None
        self._focus_due = False
        self.setAccessibleName(tr("Map"))
        set_look(self, role="panel")
        self.view = MapView(thumbnails)
        self._empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.view)

        self.title = ElidedLabel(tr("Map"), role="title")
        self.badge = Badge("stale")
        self.facts, self.selection_label = WrappedLabel(role="second"), WrappedLabel(role="second")
        self.detail = WrappedLabel(role="small")
        self.clear_button = QPushButton(tr("Show all cases"))
        self.clear_button.setToolTip(tr("Clear the selection (Esc)"))
        self.redraw_button = QPushButton(tr("Redraw map"))
        self.redraw_button.setToolTip(tr("Draw the map for the current metric (R)"))
        self.stop_button = QPushButton(tr("Stop"))
        self.stop_button.setToolTip(tr("Stop and use the map as it is now"))
        for button in (self.clear_button, self.redraw_button, self.stop_button):
            set_look(button, link=True)
        self._legend = MapLegend()
        self._legend.show_findings(self._state.columns)
        self._make_layout()
        self._connect()
        self._refresh()

    def _make_layout(self) -> None:
        self._sidebar = QWidget()
        sidebar_layout = vbox(self._sidebar, spacing=4, margins=(12, 6, 12, 6))
        header = QHBoxLayout()
        header.addWidget(self.title, 1)
        header.addWidget(self.badge)
        sidebar_layout.addLayout(header)
        sidebar_layout.addWidget(self.facts)
        sidebar_layout.addWidget(self.detail)
        sidebar_layout.addWidget(self._legend, 1)
        sidebar_layout.addWidget(self.selection_label)
        buttons = hbox(spacing=8)
        for button in (self.clear_button, self.redraw_button, self.stop_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        sidebar_layout.addLayout(buttons)
        row = hbox(self)
        row.addWidget(self._pages, 1)
        row.addWidget(self._sidebar)
        self._fit()

    def _connect(self) -> None:
        state = self._state
        self.view.chosen.connect(self.chosen)
        self.view.activated.connect(self._search_with)
        self.view.menu_requested.connect(self.menu_requested)
        self.view.selected.connect(state.set_selected_rows)
        self._legend.changed.connect(lambda: self.view.show_findings_only(self._legend.ticked_codes()))
        self.clear_button.clicked.connect(lambda: state.set_selected_rows(None))
        self.redraw_button.clicked.connect(self.make)
        self.stop_button.clicked.connect(self._stop_job)
        state.changed.connect(self._follow_state)
        theme_signals.changed.connect(self._fit)

    def _fit(self) -> None:
        self._sidebar.setFixedWidth(min(theme().px(SIDE_WIDTH), max(1, self.width() * 45 // 100)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # Computing

    def make(self) -> None:
        """Compute the map under the current metric."""
        job = compute_map.make_map(self._context)
        if job is None:
            return
        self._job, self._problem = job, None
        job.partial.connect(self._show)
        job.done.connect(self._show)
        job.failed.connect(self._show_problem)
        job.ended.connect(lambda: self._remove_job(job))
        self._refresh()

    def _stop_job(self) -> None:
        if self._job is not None:
            self._job.stop()

    def _show(self, library_map: LibraryMap) -> None:
        if self._state.path is None or self._job is None:
            return
        self._library_map = library_map
        self.view.set_cases(self._state.columns, library_map.rows, library_map.places)
        self._show_ranking()
        self._refresh()

    def _show_problem(self, error: SemblanceError) -> None:
        self._library_map, self._problem = None, error

    def _remove_job(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._library_map is None and self._job is None:
            self.make()

    @property
    def map(self) -> LibraryMap | None:
        """The map that is shown."""
        return self._library_map

    @property
    def is_stale(self) -> bool:
        """Whether the map was computed with another metric or for other cases."""
        library_map, metric, library = self._library_map, self._state.metric, self._state.library
        if library_map is None or metric is None or library is None:
            return False
        case_count = next((s.cases for s in library.feature_sets if s.name == metric.features), 0)
        return library_map.metric != metric.name or case_count != len(library_map.rows)

    def _follow_state(self, change: Change) -> None:
        if change & Change.LIBRARY:
            self._clear_map()
        elif change & Change.CASES and self._library_map is not None:
            self.view.set_cases(self._state.columns, self._library_map.rows, self._library_map.places)
        if change & Change.CASES:
            self._legend.show_findings(self._state.columns)
        if change & (Change.LIBRARY | Change.CASES | Change.METRIC):
            self._refresh()
        if change & Change.METRIC and self._library_map is None and self._job is None and self.isVisible():
            self.make()
        if change & (Change.QUERY | Change.RANKING):
            self._show_ranking()
        if change & Change.SELECTION:
            self._show_selection()

    def _clear_map(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._library_map = self._problem = None
        self.view.set_cases(
            self._state.columns, np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.float32)
        )

    # Showing

    def _refresh(self) -> None:
        library_map, metric = self._library_map, self._state.metric
        self.title.setText(
            tr("Map of {metric}", metric=library_map.metric) if library_map is not None else tr("Map")
        )
        self.badge.setVisible(self.is_stale and self._job is None)
        self.view.set_stale(self.is_stale and self._job is None)
        self.redraw_button.setVisible(self._job is None and metric is not None)
        self.stop_button.setVisible(self._job is not None and library_map is not None)
        self.facts.setText("" if library_map is None else _facts(library_map))
        self.detail.setText("" if library_map is None else _detail(library_map))
        self.detail.setVisible(library_map is not None)
        self._legend.setVisible(library_map is not None)
        self._show_selection()
        if library_map is not None:
            self._pages.setCurrentWidget(self.view)
            if self._focus_due and self.isVisible():
                self.take_focus()
        elif self._job is not None:
            self._empty.show_message(
                tr("Mapping the library"), tr("It appears in a moment and then improves.")
            )
            self._pages.setCurrentWidget(self._empty)
        elif self._problem is not None:
            self._empty.show_error(self._problem, "", tr("Redraw map"), self.make)
            self._pages.setCurrentWidget(self._empty)
        elif metric is None:
            self._empty.show_message(
                tr("No metric yet"), tr("Train a metric. The map shows which cases are near.")
            )
            self._pages.setCurrentWidget(self._empty)
        else:
            self._empty.show_message(tr("No map yet"), "", tr("Draw map"), self.make)
            self._pages.setCurrentWidget(self._empty)

    def take_focus(self) -> None:
        """Move the keyboard to the map, as soon as there is one."""
        self._focus_due = self._library_map is None
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_ranking(self) -> None:
        """Mark the query and its similar cases on the map."""
        query, columns = self._state.query, self._state.columns
        index = columns.index_of_id(query.case) if query is not None and query.case else -1
        ranking = self._state.ranking
        self.view.set_ranking(
            int(columns.case_row[index]) if index >= 0 else NONE,
            [] if ranking is None else [case.row for case in ranking.ranked],
        )

    def _show_selection(self) -> None:
        rows, columns = self._state.selected_rows, self._state.columns
        self.view.highlight(rows)
        self.selection_label.setVisible(rows is not None)
        self.clear_button.setVisible(rows is not None)
        if rows is None:
            return
        indices = columns.indices_of_rows(rows)
        indices = indices[indices >= 0]
        counts = np.bincount(
            columns.finding[indices].astype(np.int64) + 1, minlength=len(columns.findings) + 1
        )
        parts = [
            f"{format_number(count, ',')} {name}"
            for count, name in zip(counts.tolist(), (tr("not given"), *columns.findings), strict=True)
            if count
        ]
        self.selection_label.setText(
            tr("{n:,} selected: {findings}", n=len(indices), findings=", ".join(parts))
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_R and self._job is None:
            self.make()
        else:
            super().keyPressEvent(event)

    def highlight_rows(self, rows: Rows | None) -> None:
        """Highlight cases selected in another panel. Fewer than two highlight the selection of the map again."""
        self.view.highlight(self._state.selected_rows if rows is None or len(rows) < 2 else rows)

    def _search_with(self, row: int) -> None:
        index = self._state.columns.index_of_row(row)
        if index >= 0:
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))

    # Saving

    def save(self) -> None:
        """Choose a file and save the map as an image, or its positions as a table."""
        library_map = self._library_map
        if library_map is None:
            self._context.messages.info(tr("There is no map to save yet."), tr("Wait until it appears."))
            return
        path, screen_theme = ask_plot_file(self, tr("map {metric}", metric=library_map.metric))
        if path is not None:
            self.save_to(path, screen_theme=screen_theme)

    def save_to(self, path: Path, *, screen_theme: bool) -> None:
        """Save the map in ``path``. The suffix sets the format."""
        library_map, columns = self._library_map, self._state.columns
        assert library_map is not None
        indices = columns.indices_of_rows(library_map.rows)
        codes = np.where(indices >= 0, columns.finding[indices], NO_FINDING)
        plot_operations.save_map(
            self._context,
            path,
            MapDrawing(
                library_map.places,
                codes.astype(np.int16),
                columns.findings,
                tr("Map of {metric}", metric=library_map.metric),
                _facts(library_map),
                self._state.library.finding_colours if self._state.library is not None else (),
            ),
            theme=theme_name() if screen_theme else "print",
        )


def _facts(library_map: LibraryMap) -> str:
    """The progress of the map, or the share of neighbours it preserves."""
    if library_map.growing:
        if library_map.kind != NEIGHBOURS:
            return tr("preview")
        return tr("round {done:,} of {total:,}", done=library_map.done, total=library_map.total)
    if library_map.preserved is not None:
        return tr("{share:.0%} of the 10 nearest preserved", share=library_map.preserved)
    return tr_n("{n} case", "{n} cases", len(library_map.rows))


def _detail(library_map: LibraryMap) -> str:
    n = len(library_map.rows)
    if library_map.kind == NEIGHBOURS:
        if library_map.moved < n:
            return tr(
                "{moved:,} of {n:,} cases drawn by neighbours, the others between their nearest",
                moved=library_map.moved,
                n=n,
            )
        return tr(
            "{n:,} cases. Cases near under the metric are near on the map. The axes have no meaning.", n=n
        )
    what = tr("placed by landmarks") if library_map.kind == LANDMARK else tr("two principal axes")
    text = tr("{n:,} cases, {what}", n=n, what=what)
    if library_map.share is None:
        return text
    return tr("{text}, {share:.0%} of the spread", text=text, share=library_map.share)
