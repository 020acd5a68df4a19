"""The page that compares two metrics: two rankings side by side with lines between the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QStackedWidget,
    QWidget,
)

from semblance.app.research.disagreement_table import DisagreementTable
from semblance.app.research.rank_columns import DEFAULT_DEPTH, LARGE_MOVE, RankColumns
from semblance.app.research.two_metrics_facts import TwoMetricsFacts
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.query_source import QuerySource, inside
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.buttons import Segmented
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.finding_chips import NEAREST, NearestChips
from semblance.app.widgets.layouts import HLine, PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.panel import FullPage, PanelHeader
from semblance.app.widgets.tab_order import set_accessible_name
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.evaluation import compare_metrics, scored_metrics
from semblance.core.workflows.evaluation.compare_metrics import (
    DEPTH,
    ComparedCase,
    Disagreements,
    MetricComparison,
)
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage

ONE_QUERY, ALL_QUERIES = "one", "all"
#: The choice for the refined search in the lists of metrics.
REFINED = tr("This search, refined")
SIDEBAR_WIDTH = 336
#: Below this width the check box is hidden, and only the key 3 toggles it.
FAR_ONLY_MIN_WIDTH = 900


class TwoMetricsPage(FullPage):
    """Compares two metrics on the query. ``compare_requested(row)``: compare a case with the query."""

    compare_requested = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Compare two metrics"))
        self._context, self._state = context, context.state
        self._comparison: MetricComparison | None = None
        self._problem = ""
        #: Whether one query is shown, not the table of all.
        self._is_one_query = True
        self._is_outdated, self._is_table_outdated = True, True
        #: The refinement of the search that the table was computed with.
        self._table_refinement = self._shared_refinement
        self._scored: dict[str, scored_metrics.ScoredMetric] = {}
        self.large_moves_only = QCheckBox(tr("Only moves of {n} ranks or more", n=LARGE_MOVE))
        self.large_moves_only.setToolTip(tr("Hide lines of cases that hardly moved (3)"))
        self.ranks = Segmented(
            ((str(DEFAULT_DEPTH), tr("first {n}", n=DEFAULT_DEPTH)), (str(DEPTH), tr("first {n}", n=DEPTH)))
        )
        self.ranks.setAccessibleName(tr("Ranks shown"))
        self.scope = Segmented(((ONE_QUERY, tr("this query")), (ALL_QUERIES, tr("all queries"))))
        self.scope.setAccessibleName(tr("Which queries"))
        for widget in (self.large_moves_only, self.ranks, self.scope):
            self.header.add_action(widget)

        self.name = PanelHeader(tr("Query"), help_button=False)
        self.image = ImageView()
        self.image.setAccessibleName(tr("Query"))
        self.image.editable = False
        self._image = QueryImage(context, self.image, self.name)
        self.facts = TwoMetricsFacts()
        self.headers = MetricHeaders()
        self.columns = RankColumns()
        self.columns.set_source(thumbnails)
        self.disagreements = DisagreementTable()
        self.empty = EmptyState()
        self._make_layout()
        self._connect()
        self._update_metrics()

    def _make_layout(self) -> None:
        self._sidebar = QWidget()
        sidebar_layout = vbox(self._sidebar)
        sidebar_layout.addWidget(self.name)
        image_layout = vbox(margins=(8, 8, 8, 0))
        image_layout.addWidget(self.image)
        sidebar_layout.addLayout(image_layout)
        scroll_area = PanelScrollArea(self.facts, tr("Compare two metrics"))
        scroll_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        sidebar_layout.addWidget(scroll_area, 1)

        self.pages = QStackedWidget()
        for widget in (self.columns, self.disagreements, self.empty):
            self.pages.addWidget(widget)
        right_layout = fill(vbox(), self.headers, HLine(), (self.pages, 1))
        body = fill(hbox(), self._sidebar, HLine(vertical=True), (right_layout, 1))
        fill(vbox(self), self.header, (body, 1))
        self._fit()

    def _connect(self) -> None:
        self.large_moves_only.toggled.connect(lambda on: self.columns.set_min_move(LARGE_MOVE if on else 0))
        self.ranks.changed.connect(lambda _key: self._set_depth())
        self.scope.changed.connect(lambda _key: self._refresh())
        self.columns.activated.connect(self.compare_requested)
        self.columns.menu_requested.connect(self.menu_requested)
        self.disagreements.chosen.connect(self._open_query)
        self.headers.chosen.connect(self._request_comparison)
        state = self._state
        state.on_change(Change.LIBRARY, self, self.closed.emit)
        state.on_change(Change.CASES, self, self._update_metrics)
        state.on_change(Change.METRIC, self, self._follow_metric)
        state.on_change(Change.QUERY | Change.OPTIONS, self, self._request_refresh)
        state.on_change(Change.RANKING, self, self._follow_ranking)
        theme_signals.changed.connect(self._fit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _fit(self) -> None:
        self.large_moves_only.setVisible(
            self._is_one_query and self.width() >= theme().px(FAR_ONLY_MIN_WIDTH)
        )
        width = min(theme().px(SIDEBAR_WIDTH), self.width() * 36 // 100)
        self._sidebar.setFixedWidth(max(160, width))
        self.image.setFixedHeight(min(max(160, width) - 16, max(120, self.height() * 2 // 5)))
        # The right list of metrics is above its column.
        available = self.width() - self._sidebar.width() - 1
        self.headers.set_right_width(available - self.columns.right_edge(available))

    # The metrics

    @property
    def metrics(self) -> tuple[str, str]:
        """Names of the left and the right metric; empty without any."""
        return self.headers.metrics

    def set_metrics(self, left: str, right: str) -> None:
        """Compare these two metrics."""
        self.headers.set_metrics(left, right)
        self._request_comparison()

    def _update_metrics(self) -> None:
        """List the metrics of the library. The selection stays if the metrics still exist."""
        library = self._state.library
        facts = library.metrics if library else ()
        self._scored = (
            {metric.name: metric for metric in scored_metrics.scored_metrics(library)} if library else {}
        )
        self._set_names([metric.name for metric in facts])
        self._request_comparison()

    def _set_names(self, metrics: list[str]) -> None:
        library = self._state.library
        names = [*metrics, REFINED] if metrics and self._refined else metrics
        previous = self.metrics
        self.headers.set_names(names)
        current = self._state.metric.name if self._state.metric else ""
        right = previous[1] if previous[1] in names else current or (names[-1] if names else "")
        facts = library.metrics if library else ()
        plain = next((metric.name for metric in facts if metric.learner == "euclidean"), "")
        others = [name for name in (previous[0], plain, *names) if name in names and name != right]
        self.headers.set_metrics(others[0] if others else right, right)

    @property
    def _refined(self) -> bool:
        """Whether the present ranking is refined."""
        search, ranked_search = self._state.search, self._state.ranked_search
        if search is None or ranked_search is None:
            return False
        return bool(search.is_shifted or search.without or search.diverse or any(ranked_search.shifts))

    def _follow_ranking(self) -> None:
        names = self.headers.names()
        if self._refined != (REFINED in names):
            self._set_names([name for name in names if name != REFINED])
            self._request_refresh()
        elif REFINED in self.metrics:
            self._request_refresh()

    def _follow_metric(self) -> None:
        """Select the current metric on the right. Both metrics always differ."""
        current = self._state.metric.name if self._state.metric else ""
        left, right = self.metrics
        if current and right not in (current, REFINED):
            self.headers.set_metrics(right if left == current else left, current)
            self._request_comparison()

    def _request_comparison(self) -> None:
        self._is_table_outdated = True
        self._request_refresh()

    def _request_refresh(self) -> None:
        """Update the comparison now, or when the page is shown."""
        self._is_outdated = True
        if self.isVisible():
            self._refresh()

    # Comparing

    def _refresh(self) -> None:
        left, right = self.metrics
        query, is_one_query = self._state.query, self.scope.value() == ONE_QUERY
        self._is_one_query = is_one_query
        self._fit()
        self.ranks.setVisible(is_one_query)
        self.headers.set_chips_visible(is_one_query)
        if not left or len(set(self.headers.names())) < 2:
            self._show_message(tr("Nothing to compare yet"), tr("Two metrics are needed. Train another one."))
        elif not is_one_query:
            self._show_all(left, right)
        elif query is None:
            self._show_message(tr("No query yet"), tr("Choose a case of the library, or drop an image."))
        else:
            self._start_comparison(left, right)
        self._image.follow()

    def _show_message(self, title: str, text: str) -> None:
        self._comparison = None
        self.empty.show_message(title, text)
        self.pages.setCurrentWidget(self.empty)
        self._show()

    def _start_comparison(self, left: str, right: str) -> None:
        if not self._is_outdated:
            self.pages.setCurrentWidget(self.columns if self._comparison is not None else self.empty)
            return
        self._is_outdated = False
        state = self._state
        if state.location is None or state.query is None:
            return
        job = self._context.jobs.run(
            tr("Comparing two metrics"),
            compare_metrics.compare_metrics,
            state.location,
            self._metric_or_search(left),
            self._metric_or_search(right),
            state.query,
            hide_same_patient=state.hide_same_patient,
            group_duplicates=state.group_duplicates,
            pool=WorkerPool.SEARCH,
            channel="two metrics",
            quiet=True,
        )
        job.done.connect(self._show_comparison)
        job.failed.connect(self._show_error)

    def _metric_or_search(self, name: str) -> str | Search:
        search = self._state.search
        return search if name == REFINED and search is not None else name

    def _show_comparison(self, compared: MetricComparison) -> None:
        self._comparison = compared
        self._show()
        if self.scope.value() == ONE_QUERY:
            self.pages.setCurrentWidget(self.columns)

    def _show_error(self, error: SemblanceError) -> None:
        self._show_message(error.message, error.hint)
        self.empty.copy_details.set_error(error)

    def _show_all(self, left: str, right: str) -> None:
        self.pages.setCurrentWidget(self.disagreements)
        refined = REFINED in (left, right)
        if refined and self._shared_refinement == ((), 0.0, ()):
            self._is_table_outdated = True
            self.disagreements.show_message(
                tr("There is nothing to show for other queries"),
                tr("Examples and concepts apply to this query only. Mark cases, or select two metrics."),
            )
        elif self._is_table_outdated or (refined and self._table_refinement != self._shared_refinement):
            self.find_disagreements()

    @property
    def _shared_refinement(self) -> tuple[tuple[int, ...], float, tuple[str, ...]]:
        """The refinement that applies to every query: judgements in force, their strength, and disabled feature
        groups."""
        search, ranked_search = self._state.search, self._state.ranked_search
        if search is None:
            return (), 0.0, ()
        judgement_ids = (
            tuple(entry.id for entry in ranked_search.entries if entry.undone is None)
            if ranked_search
            else ()
        )
        judgement_ids = judgement_ids if search.strength > 0 else ()
        return judgement_ids, search.strength if judgement_ids else 0.0, search.without

    def find_disagreements(self) -> None:
        """Search with every case under both metrics in a job."""
        state, (left, right) = self._state, self.metrics
        if state.location is None:
            return
        job = self._context.jobs.run(
            tr("Searching with every case under {left} and {right}", left=left, right=right),
            compare_metrics.disagreements,
            state.location,
            self._metric_or_search(left),
            self._metric_or_search(right),
            hide_same_patient=state.hide_same_patient,
            group_duplicates=state.group_duplicates,
            channel="disagreements",
        )
        self._is_table_outdated, self._table_refinement = False, self._shared_refinement
        self.disagreements.show_message(
            tr("Searching with every case under both metrics"),
            tr("This continues in the background."),
            tr("Cancel"),
            job.cancel,
        )
        job.done.connect(self._show_disagreements)
        job.failed.connect(
            lambda error: self.disagreements.show_error(error, tr("Search again"), self.find_disagreements)
        )
        job.cancelled.connect(lambda: self._show_cancelled(job))

    def _show_cancelled(self, job: Job) -> None:
        self.disagreements.show_message(
            tr("Cancelled"), tr("Not all queries were used."), tr("Search again"), self.find_disagreements
        )

    def _show_disagreements(self, found: Disagreements) -> None:
        self.disagreements.show_disagreements(self._state.columns, self.metrics, found)

    def _open_query(self, row: int) -> None:
        """Search with a case of the table and show its rankings."""
        index = self._state.columns.index_of_row(row)
        if index >= 0:
            self.scope.set_value(ONE_QUERY)
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))
            self._refresh()
            self.columns.setFocus(Qt.FocusReason.OtherFocusReason)

    # Showing

    def _set_depth(self) -> None:
        self.columns.set_depth(int(self.ranks.value()))
        self._show_facts()

    def _show(self) -> None:
        comparison, columns = self._comparison, self._state.columns
        rankings: tuple[tuple[ComparedCase, ...], tuple[ComparedCase, ...]] = (
            ((), ()) if comparison is None else (comparison.left, comparison.right)
        )
        self.columns.set_rankings(columns, *rankings, names=self.metrics)
        for chips, cases in zip(self.headers.chips, rankings, strict=True):
            indices = [columns.index_of_row(case.row) for case in cases[:NEAREST]]
            chips.show_findings(
                columns, [columns.finding_name(index) if index >= 0 else None for index in indices]
            )
        self._show_facts()

    def _show_facts(self) -> None:
        left, right = self.metrics
        self.facts.show_facts(
            self._state.columns,
            (left, right),
            self._comparison,
            (self._scored.get(left), self._scored.get(right)),
            self._counted_finding(),
            self.columns.ranks,
        )

    def _counted_finding(self) -> str | None:
        """The finding that is counted among the nearest cases: that of the query, else the first of the library."""
        columns, query = self._state.columns, self._state.query
        index = columns.index_of_id(query.case) if query is not None else -1
        own = columns.finding_name(index) if index >= 0 else None
        return own or (columns.findings[0] if columns.findings else None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_3 and self._is_one_query:
            self.large_moves_only.toggle()
        else:
            super().keyPressEvent(event)


class MetricHeaders(QWidget):
    """Both lists have the same names. ``chosen`` is emitted when the user selects a metric."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._headers = (MetricHeader(tr("Left metric")), MetricHeader(tr("Right metric")))
        self.pickers = tuple(header.picker for header in self._headers)
        self.chips = tuple(header.chips for header in self._headers)
        fill(hbox(self, spacing=12, margins=(12, 6, 0, 6)), (self._headers[0], 1), self._headers[1])
        for box in self.pickers:
            box.activated.connect(lambda _at: self.chosen.emit())
        theme_signals.changed.connect(self._fit)
        self._fit()

    @property
    def metrics(self) -> tuple[str, str]:
        """Names of the left and the right metric; empty without any."""
        left, right = self.pickers
        return left.currentText(), right.currentText()

    def set_metrics(self, left: str, right: str) -> None:
        for box, name in zip(self.pickers, (left, right), strict=True):
            box.setCurrentText(name)

    def names(self) -> list[str]:
        """The names in both lists."""
        box = self.pickers[0]
        return [box.itemText(place) for place in range(box.count())]

    def set_names(self, names: Sequence[str]) -> None:
        """Set the names in both lists. The first one is selected."""
        for box in self.pickers:
            box.clear()
            box.addItems(names)

    def set_chips_visible(self, visible: bool) -> None:
        for chips in self.chips:
            chips.setVisible(visible)

    def set_right_width(self, width: int) -> None:
        self._headers[1].setFixedWidth(width)

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(40))
        for box in self.pickers:
            box.setMaximumWidth(theme().px(200))


class MetricHeader(QWidget):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.picker, self.chips = QComboBox(), NearestChips()
        self.picker.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        row = hbox(self, spacing=12)
        row.addWidget(self.picker)
        set_accessible_name(self.picker, name)
        row.addWidget(self.chips)
        row.addStretch(1)


class QueryImage:
    """Shows the query of the state in ``view`` and its name in ``header``."""

    def __init__(self, context: Context, view: ImageView, header: PanelHeader) -> None:
        self._context, self._state = context, context.state
        self._view, self._header = view, header
        self._source: QuerySource | None = None
        self._viewed: ViewedImage | None = None

    def follow(self) -> None:
        """Show the present query; its image is read once."""
        source = self._state.source
        self._header.set_subtitle("" if source is None else source.label(self._state.columns))
        if source != self._source:
            self._source, self._viewed = source, None
            self._read()
        self._show()

    def _read(self) -> None:
        query, row = self._state.query, self._state.query_row
        if query is None or self._state.location is None:
            return
        try:
            if query.image is not None:
                job = self._start_view_job(view_images.view_file, query.image)
            elif row >= 0:
                job = self._start_view_job(view_images.view_case, self._state.location, row)
            else:
                return
        except SemblanceError:
            return
        source = self._source
        job.done.connect(lambda viewed: self._show_image(source, viewed))
        # The rankings are valid without the image. The Query panel shows the error.
        job.failed.connect(lambda _error: None)

    def _start_view_job(self, function: Any, *args: object) -> Job:
        return self._context.jobs.run(
            tr("Opening the image"),
            function,
            *args,
            pool=WorkerPool.READ,
            channel="two metrics image",
            quiet=True,
        )

    def _show_image(self, source: QuerySource | None, viewed: ViewedImage) -> None:
        if source == self._source:
            self._viewed = viewed
            self._show()

    def _show(self) -> None:
        query, viewed = self._state.query, self._viewed
        if viewed is None or query is None:
            self._view.show_image(None)
            return
        self._view.show_image(viewed.image, inside(query.region, viewed.image))
        self._view.case_region = viewed.region
