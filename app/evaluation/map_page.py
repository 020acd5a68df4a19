"""The Map tab: a map of the library under the current metric, with a legend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QImage, QKeyEvent, QPainter, QPixmap, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from semblance.app.evaluation.map_points import Rows, shape_mask, shape_of
from semblance.app.evaluation.map_view import MapView
from semblance.app.shell import plot_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.shell.theme import finding_colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.plots.figure_view import ask_plot_file, theme_name
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns
from semblance.core.library.location import library_name
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation import map_library
from semblance.core.workflows.evaluation.map_library import (
    LANDMARK,
    NEIGHBOURS,
    LibraryMap,
    map_drawing,
    map_facts,
)

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
        self.empty = EmptyState()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.view)

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
        self.legend = MapLegend()
        self.legend.show_findings(self._state.columns)
        self._make_layout()
        self._connect()
        self._refresh()

    def _make_layout(self) -> None:
        self._sidebar = QWidget()
        sidebar_layout = vbox(self._sidebar, spacing=4, margins=(12, 6, 12, 6))
        header = QHBoxLayout()
        header.addWidget(self.title, 1)
        header.addWidget(self.badge)
        fill(sidebar_layout, header, self.facts, self.detail, (self.legend, 1), self.selection_label)
        buttons = hbox(spacing=8)
        for button in (self.clear_button, self.redraw_button, self.stop_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        sidebar_layout.addLayout(buttons)
        fill(hbox(self), (self.pages, 1), self._sidebar)
        self._fit()

    def _connect(self) -> None:
        state = self._state
        self.view.chosen.connect(self.chosen)
        self.view.activated.connect(self._search_with)
        self.view.menu_requested.connect(self.menu_requested)
        self.view.selected.connect(state.set_selected_rows)
        self.legend.changed.connect(lambda: self.view.show_findings_only(self.legend.ticked_codes()))
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
        state = self._state
        if state.location is None or state.metric is None:
            return
        job = self._context.jobs.run(
            tr(
                "Mapping {library} under {metric}",
                library=library_name(state.location),
                metric=state.metric.name,
            ),
            map_library.map_library,
            state.location,
            state.metric.name,
            channel="map",
            can_stop=True,
        )
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
        if self._state.location is None or self._job is None:
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
            self.legend.show_findings(self._state.columns)
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
        self.facts.setText("" if library_map is None else map_facts(library_map))
        self.detail.setText("" if library_map is None else _detail(library_map))
        self.detail.setVisible(library_map is not None)
        self.legend.setVisible(library_map is not None)
        self._show_selection()
        if library_map is not None:
            self.pages.setCurrentWidget(self.view)
            if self._focus_due and self.isVisible():
                self.take_focus()
        elif self._job is not None:
            self.empty.show_message(
                tr("Mapping the library"), tr("It appears in a moment and then improves.")
            )
            self.pages.setCurrentWidget(self.empty)
        elif self._problem is not None:
            self.empty.show_error(self._problem, "", tr("Redraw map"), self.make)
            self.pages.setCurrentWidget(self.empty)
        elif metric is None:
            self.empty.show_message(
                tr("No metric yet"), tr("Train a metric. The map shows which cases are near.")
            )
            self.pages.setCurrentWidget(self.empty)
        else:
            self.empty.show_message(tr("No map yet"), "", tr("Draw map"), self.make)
            self.pages.setCurrentWidget(self.empty)

    def take_focus(self) -> None:
        """Move the keyboard to the map, as soon as there is one."""
        self._focus_due = self._library_map is None
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_ranking(self) -> None:
        """Mark the query and its similar cases on the map."""
        ranking = self._state.ranking
        self.view.set_ranking(
            self._state.query_row,
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
        colours = self._state.library.finding_colours if self._state.library is not None else ()
        plot_operations.save_map(
            self._context,
            path,
            map_drawing(library_map, columns, colours),
            theme=theme_name() if screen_theme else "print",
        )


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


class MapLegend(QScrollArea):
    """Check boxes of the findings with marker, letter and count. Ticked findings are shown on the map."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._boxes: dict[int, QCheckBox] = {}
        self._entries: tuple[tuple[int, str, int], ...] = ()
        self._letters: dict[str, str] = {}
        self._content = QWidget()
        self._boxes_layout = vbox(self._content, spacing=2, margins=(0, 2, 0, 2))
        self.setWidget(self._content)
        theme_signals.changed.connect(self._rebuild)

    def show_findings(self, columns: CaseColumns) -> None:
        """List the findings of the library. The ticks stay if the findings are the same."""
        counts = columns.finding_counts.tolist()
        entries = [(code, name, counts[code]) for code, name in enumerate(columns.findings)]
        if counts[-1]:
            entries.append((NO_FINDING, tr("not given"), counts[-1]))
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self._letters = columns.letters
            self._rebuild()

    def ticked_codes(self) -> list[int] | None:
        """Codes of the ticked findings, or ``None`` if all are ticked."""
        ticked = [code for code, box in self._boxes.items() if box.isChecked()]
        return None if len(ticked) == len(self._boxes) else ticked

    def _rebuild(self) -> None:
        ticked = {code: box.isChecked() for code, box in self._boxes.items()}
        while (layout_item := self._boxes_layout.takeAt(0)) is not None:
            widget = layout_item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._boxes = {}
        for code, name, count in self._entries:
            box = QCheckBox(f"{name}  {format_number(count, ',')}".replace("&", "&&"))
            box.setChecked(ticked.get(code, True))
            letter = "?" if code == NO_FINDING else self._letters[name]
            box.setIcon(legend_icon(code, letter, self.devicePixelRatioF()))
            box.setIconSize(legend_icon_size())
            box.setToolTip(
                plain_tip(tr("{finding}: {n:,} cases. Untick to hide them.", finding=name, n=count))
            )
            box.toggled.connect(lambda _on: self.changed.emit())
            self._boxes_layout.addWidget(box)
            self._boxes[code] = box
        self._boxes_layout.addStretch(1)


_GAP = 6


def legend_icon_size() -> QSize:
    """Size of a marker with a letter."""
    side = theme().px(SIDE)
    return QSize(2 * side + _GAP, side)


def legend_icon(code: int, letter: str, ratio: float) -> QIcon:
    """The marker of the finding ``code`` on the map (negative: not given) beside its letter."""
    size, side = legend_icon_size(), theme().px(SIDE)
    pixmap = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.drawImage(0, 0, _marker_image(code, side, ratio))
    painter.drawPixmap(side + _GAP, 0, chip_pixmap(code, letter, ratio))
    painter.end()
    return QIcon(pixmap)


def _marker_image(code: int, side: int, ratio: float) -> QImage:
    width = round(side * ratio) | 1
    rgb = QColor(finding_colour(code))
    mask = shape_mask(shape_of(code), width)
    pixels = np.empty((width, width, 4), dtype=np.uint8)
    for channel, value in enumerate((rgb.blue(), rgb.green(), rgb.red(), 255)):
        pixels[..., channel] = np.rint(mask * value)
    image = QImage(pixels.data, width, width, width * 4, QImage.Format.Format_ARGB32_Premultiplied).copy()
    image.setDevicePixelRatio(ratio)
    return image
