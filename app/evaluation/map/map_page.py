"""The Map tab: the library on a plane under the current metric, and what is chosen there."""

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
from semblance.app.evaluation.map.legend_bar import MapKey
from semblance.app.evaluation.map.map_points import NONE, Rows
from semblance.app.evaluation.map.map_view import MapView
from semblance.app.shell import plot_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.plots.figure_view import ask_where, theme_name
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.case_columns import NO_FINDING
from semblance.core.reports.map_figure import MapDrawing
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.map_library import LANDMARK, NEIGHBOURS, LibraryMap

SIDE_WIDTH = 216


class MapPage(QWidget):
    """Maps once it is first seen, and again when asked to; ``chosen(row)`` is a case clicked on."""

    chosen = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self._map: LibraryMap | None = None
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
        self.facts = ElidedLabel(role="second")
        self.detail, self.picked = WrappedLabel(role="small"), WrappedLabel(role="second")
        self.clear = QPushButton(tr("Show all cases"))
        self.clear.setToolTip(tr("Clear the selection (Esc)"))
        self.again = QPushButton(tr("Redraw map"))
        self.again.setToolTip(tr("Draw the map for the current metric (R)"))
        self.stop = QPushButton(tr("Stop"))
        self.stop.setToolTip(tr("Stop and use the map as it is now"))
        for button in (self.clear, self.again, self.stop):
            set_look(button, link=True)
        self._key = MapKey()
        self._key.show_findings(self._state.columns)
        self._lay_out()
        self._connect()
        self._renew()

    def _lay_out(self) -> None:
        self._side = QWidget()
        side = vbox(self._side, spacing=4, margins=(12, 6, 12, 6))
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.badge)
        side.addLayout(head)
        side.addWidget(self.facts)
        side.addWidget(self.detail)
        side.addWidget(self._key, 1)
        side.addWidget(self.picked)
        buttons = hbox(spacing=8)
        for button in (self.clear, self.again, self.stop):
            buttons.addWidget(button)
        buttons.addStretch(1)
        side.addLayout(buttons)
        row = hbox(self)
        row.addWidget(self._pages, 1)
        row.addWidget(self._side)
        self._fit()

    def _connect(self) -> None:
        state = self._state
        self.view.chosen.connect(self.chosen)
        self.view.activated.connect(self._ask)
        self.view.menu_requested.connect(self.menu_requested)
        self.view.picked.connect(state.set_selected_rows)
        self._key.changed.connect(lambda: self.view.set_only(self._key.shown()))
        self.clear.clicked.connect(lambda: state.set_selected_rows(None))
        self.again.clicked.connect(self.make)
        self.stop.clicked.connect(self._stop)
        state.changed.connect(self._follow_state)
        theme_signals.changed.connect(self._fit)

    def _fit(self) -> None:
        self._side.setFixedWidth(min(theme().px(SIDE_WIDTH), max(1, self.width() * 45 // 100)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # Making

    def make(self) -> None:
        """Map the library under the current metric."""
        job = compute_map.make_map(self._context)
        if job is None:
            return
        self._job, self._problem = job, None
        job.partial.connect(self._show)
        job.done.connect(self._show)
        job.failed.connect(self._failed)
        job.ended.connect(lambda: self._ended(job))
        self._renew()

    def _stop(self) -> None:
        if self._job is not None:
            self._job.stop()

    def _show(self, found: LibraryMap) -> None:
        if self._state.path is None or self._job is None:
            return
        self._map = found
        self.view.set_cases(self._state.columns, found.rows, found.places)
        self._follow()
        self._renew()

    def _failed(self, error: SemblanceError) -> None:
        self._map, self._problem = None, error

    def _ended(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            self._renew()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._map is None and self._job is None:
            self.make()

    @property
    def map(self) -> LibraryMap | None:
        """The map that is shown."""
        return self._map

    @property
    def stale(self) -> bool:
        """Whether the map is of another metric, or of other cases, than there are now."""
        found, metric, library = self._map, self._state.metric, self._state.library
        if found is None or metric is None or library is None:
            return False
        having = next((s.cases for s in library.feature_sets if s.name == metric.features), 0)
        return found.metric != metric.name or having != len(found.rows)

    def _follow_state(self, change: Change) -> None:
        if change & Change.LIBRARY:
            self._forget()
        elif change & Change.CASES and self._map is not None:
            self.view.set_cases(self._state.columns, self._map.rows, self._map.places)
        if change & Change.CASES:
            self._key.show_findings(self._state.columns)
        if change & (Change.LIBRARY | Change.CASES | Change.METRIC):
            self._renew()
        if change & Change.METRIC and self._map is None and self._job is None and self.isVisible():
            self.make()
        if change & (Change.QUERY | Change.RANKING):
            self._follow()
        if change & Change.SELECTION:
            self._tell_picked()

    def _forget(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._map = self._problem = None
        self.view.set_cases(
            self._state.columns, np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.float32)
        )

    # Showing

    def _renew(self) -> None:
        found, metric = self._map, self._state.metric
        self.title.setText(tr("Map of {metric}", metric=found.metric) if found is not None else tr("Map"))
        self.badge.setVisible(self.stale and self._job is None)
        self.view.set_stale(self.stale and self._job is None)
        self.again.setVisible(self._job is None and metric is not None)
        self.stop.setVisible(self._job is not None and found is not None)
        self.facts.setText("" if found is None else _facts(found))
        self.detail.setText("" if found is None else _detail(found))
        self.detail.setVisible(found is not None)
        self._key.setVisible(found is not None)
        self._tell_picked()
        if found is not None:
            self._pages.setCurrentWidget(self.view)
            if self._focus_due and self.isVisible():
                self.take_focus()
        elif self._job is not None:
            self._empty.say(tr("Mapping the library"), tr("It appears in a moment and then improves."))
            self._pages.setCurrentWidget(self._empty)
        elif self._problem is not None:
            self._empty.say(self._problem.message, self._problem.hint or "", tr("Redraw map"), self.make)
            self._pages.setCurrentWidget(self._empty)
        elif metric is None:
            self._empty.say(tr("No metric yet"), tr("Train a metric. The map shows which cases are near."))
            self._pages.setCurrentWidget(self._empty)
        else:
            self._empty.say(tr("No map yet"), "", tr("Draw map"), self.make)
            self._pages.setCurrentWidget(self._empty)

    def take_focus(self) -> None:
        """The keyboard goes to the map, as soon as there is one."""
        self._focus_due = self._map is None
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _follow(self) -> None:
        """The query and its nearest, where they are."""
        query, columns = self._state.query, self._state.columns
        index = columns.index_of_id(query.case) if query is not None and query.case else -1
        ranking = self._state.ranking
        self.view.set_ranking(
            int(columns.case_row[index]) if index >= 0 else NONE,
            [] if ranking is None else [case.row for case in ranking.ranked],
        )

    def _tell_picked(self) -> None:
        picked, columns = self._state.selected_rows, self._state.columns
        self.view.set_marked(picked)
        self.picked.setVisible(picked is not None)
        self.clear.setVisible(picked is not None)
        if picked is None:
            return
        at = columns.indices_of_rows(picked)
        at = at[at >= 0]
        counts = np.bincount(columns.finding[at].astype(np.int64) + 1, minlength=len(columns.findings) + 1)
        parts = [
            f"{format_number(count, ',')} {name}"
            for count, name in zip(counts.tolist(), (tr("not given"), *columns.findings), strict=True)
            if count
        ]
        self.picked.setText(tr("{n:,} selected: {findings}", n=len(at), findings=", ".join(parts)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_R and self._job is None:
            self.make()
        else:
            super().keyPressEvent(event)

    def mark(self, rows: Rows | None) -> None:
        """Let cases chosen elsewhere stand out; nothing chosen gives back what was chosen here."""
        self.view.set_marked(self._state.selected_rows if rows is None or len(rows) < 2 else rows)

    def _ask(self, row: int) -> None:
        index = self._state.columns.index_of_row(row)
        if index >= 0:
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))

    # Saving

    def save(self) -> None:
        """Ask for a file and write the map as an image, or its places as a table."""
        found = self._map
        if found is None:
            self._context.messages.info(tr("There is no map to save yet."), tr("Wait until it appears."))
            return
        path, as_seen = ask_where(self, self._context, tr("map {metric}", metric=found.metric))
        if path is not None:
            self.save_to(path, as_seen=as_seen)

    def save_to(self, path: Path, *, as_seen: bool) -> None:
        """Write the map to ``path``; the suffix says how."""
        found, columns = self._map, self._state.columns
        assert found is not None
        at = columns.indices_of_rows(found.rows)
        codes = np.where(at >= 0, columns.finding[at], NO_FINDING)
        plot_operations.save_map(
            self._context,
            path,
            MapDrawing(
                found.places,
                codes.astype(np.int16),
                columns.findings,
                tr("Map of {metric}", metric=found.metric),
                _facts(found),
            ),
            theme=theme_name() if as_seen else "print",
        )


def _facts(found: LibraryMap) -> str:
    """How far the map is, or how true."""
    if found.growing:
        if found.kind != NEIGHBOURS:
            return tr("preview")
        return tr("round {done:,} of {total:,}", done=found.done, total=found.total)
    if found.kept is not None:
        return tr("{share:.0%} of the 10 nearest kept", share=found.kept).replace("%", " %")
    return tr_n("{n} case", "{n} cases", len(found.rows))


def _detail(found: LibraryMap) -> str:
    n = len(found.rows)
    if found.kind == NEIGHBOURS:
        if found.moved < n:
            return tr(
                "{moved:,} of {n:,} cases drawn by neighbours, the others between their nearest",
                moved=found.moved,
                n=n,
            )
        return tr(
            "{n:,} cases. Cases near under the metric are near on the map. The axes have no meaning.", n=n
        )
    what = tr("placed by landmarks") if found.kind == LANDMARK else tr("two principal axes")
    told = tr("{n:,} cases, {what}", n=n, what=what)
    if found.share is None:
        return told
    return tr("{told}, {share:.0%} of the spread", told=told, share=found.share).replace("%", " %")
