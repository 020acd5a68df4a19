"""The page "Two metrics, one query": two rankings side by side, lines joining the same cases."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QStackedWidget,
    QWidget,
)

from semblance.app.research.two_metrics import compare_metrics
from semblance.app.research.two_metrics.disagreements import DisagreementTable
from semblance.app.research.two_metrics.facts import TwoMetricsFacts
from semblance.app.research.two_metrics.headers import MetricHeaders
from semblance.app.research.two_metrics.query_view import QueryImage
from semblance.app.research.two_metrics.rank_columns import USUAL, RankColumns
from semblance.app.research.two_metrics.rank_columns_painter import FAR
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.full_page import FullPage
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.line import HLine
from semblance.app.widgets.nearest_chips import NEAREST
from semblance.app.widgets.panel_header import PanelHeader
from semblance.app.widgets.scroll_area import PanelScrollArea
from semblance.app.widgets.segmented import Segmented
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.evaluation.compare_metrics import (
    DEPTH,
    ComparedCase,
    Disagreements,
    MetricComparison,
)

ONE, ALL = "one", "all"
#: Stands among the metrics for the search as judgements, examples and options have refined it.
REFINED = tr("This search, refined")
LEFT_WIDTH = 336
#: Below this width only the key 3 leaves out what hardly moved.
ROOMY = 900


class TwoMetricsPage(FullPage):
    """Follows the query; ``closed`` goes back to the ranking, ``compare_requested(row)``: a case beside it."""

    compare_requested = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Compare two metrics"))
        self._context, self._state = context, context.state
        self._compared: MetricComparison | None = None
        self._problem = ""
        #: Whether one query is looked at, not all.
        self._one = True
        self._due, self._all_due = True, True
        #: What refined the search when every case was asked.
        self._asked_with = self._of_others
        self._scored: dict[str, scored_metrics.ScoredMetric] = {}
        self.far_only = QCheckBox(tr("Only moves of {n} ranks or more", n=FAR))
        self.far_only.setToolTip(tr("Hide lines of cases that hardly moved (3)"))
        self.ranks = Segmented(
            ((str(USUAL), tr("first {n}", n=USUAL)), (str(DEPTH), tr("first {n}", n=DEPTH)))
        )
        self.ranks.setAccessibleName(tr("Ranks shown"))
        self.which = Segmented(((ONE, tr("this query")), (ALL, tr("all queries"))))
        self.which.setAccessibleName(tr("Which queries"))
        for widget in (self.far_only, self.ranks, self.which):
            self.header.add_action(widget)

        self.name = PanelHeader(tr("Query"), help_button=False)
        self.image = ImageView()
        self.image.setAccessibleName(tr("Query"))
        self.image.editable = False
        self._image = QueryImage(context, self.image, self.name)
        self.facts = TwoMetricsFacts()
        self.heads = MetricHeaders()
        self.columns = RankColumns()
        self.columns.set_source(thumbnails)
        self.every = DisagreementTable()
        self._empty = EmptyState()
        self._lay_out()
        self._connect()
        self._renew_metrics()

    def _lay_out(self) -> None:
        self._left = QWidget()
        left = vbox(self._left)
        left.addWidget(self.name)
        around = vbox(margins=(8, 8, 8, 0))
        around.addWidget(self.image)
        left.addLayout(around)
        scroll = PanelScrollArea(self.facts)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        left.addWidget(scroll, 1)

        self._pages = QStackedWidget()
        for one in (self.columns, self.every, self._empty):
            self._pages.addWidget(one)
        right = vbox()
        right.addWidget(self.heads)
        right.addWidget(HLine())
        right.addWidget(self._pages, 1)
        body = hbox()
        body.addWidget(self._left)
        body.addWidget(HLine(vertical=True))
        body.addLayout(right, 1)
        page = vbox(self)
        page.addWidget(self.header)
        page.addLayout(body, 1)
        self._fit()

    def _connect(self) -> None:
        self.far_only.toggled.connect(lambda on: self.columns.set_least_move(FAR if on else 0))
        self.ranks.changed.connect(lambda _key: self._set_depth())
        self.which.changed.connect(lambda _key: self._renew())
        self.columns.activated.connect(self.compare_requested)
        self.columns.menu_requested.connect(self.menu_requested)
        self.every.chosen.connect(self._open_query)
        self.heads.chosen.connect(self._chosen)
        state = self._state
        state.on_change(Change.LIBRARY, self, self.closed.emit)
        state.on_change(Change.CASES, self, self._renew_metrics)
        state.on_change(Change.METRIC, self, self._follow_metric)
        state.on_change(Change.QUERY | Change.OPTIONS, self, self._later)
        state.on_change(Change.RANKING, self, self._follow_ranking)
        theme_signals.changed.connect(self._fit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._renew()

    def _fit(self) -> None:
        self.far_only.setVisible(self._one and self.width() >= theme().px(ROOMY))
        wide = min(theme().px(LEFT_WIDTH), self.width() * 36 // 100)
        self._left.setFixedWidth(max(160, wide))
        self.image.setFixedHeight(min(max(160, wide) - 16, max(120, self.height() * 2 // 5)))
        # The right picker stands above its column.
        room = self.width() - self._left.width() - 1
        self.heads.set_right_width(room - self.columns.right_edge(room))

    # The metrics

    @property
    def metrics(self) -> tuple[str, str]:
        """Names of the left and the right metric; empty without any."""
        return self.heads.metrics

    def set_metrics(self, left: str, right: str) -> None:
        """Compare these two."""
        self.heads.set_metrics(left, right)
        self._chosen()

    def _renew_metrics(self) -> None:
        """The metrics the library now has; the choice stays where it still can."""
        library = self._state.library
        facts = library.metrics if library else ()
        self._scored = {one.name: one for one in scored_metrics.scored_metrics(library)} if library else {}
        self._fill([metric.name for metric in facts])
        self._chosen()

    def _fill(self, metrics: list[str]) -> None:
        library = self._state.library
        names = [*metrics, REFINED] if metrics and self._refined else metrics
        before = self.metrics
        self.heads.set_names(names)
        current = self._state.metric.name if self._state.metric else ""
        right = before[1] if before[1] in names else current or (names[-1] if names else "")
        facts = library.metrics if library else ()
        plain = next((metric.name for metric in facts if metric.learner == "euclidean"), "")
        others = [name for name in (before[0], plain, *names) if name in names and name != right]
        self.heads.set_metrics(others[0] if others else right, right)

    @property
    def _refined(self) -> bool:
        """Whether the present ranking is other than its metric's alone."""
        search, asked = self._state.search, self._state.ranked_search
        if search is None or asked is None:
            return False
        return bool(search.moved or search.without or search.diverse or any(asked.shifts))

    def _follow_ranking(self) -> None:
        names = self.heads.names()
        if self._refined != (REFINED in names):
            self._fill([name for name in names if name != REFINED])
            self._later()
        elif REFINED in self.metrics:
            self._later()

    def _follow_metric(self) -> None:
        """The metric in use is the right one; both are never the same."""
        current = self._state.metric.name if self._state.metric else ""
        left, right = self.metrics
        if current and right not in (current, REFINED):
            self.heads.set_metrics(right if left == current else left, current)
            self._chosen()

    def _chosen(self) -> None:
        self._all_due = True
        self._later()

    def _later(self) -> None:
        """Something changed; it is asked anew once it is looked at."""
        self._due = True
        if self.isVisible():
            self._renew()

    # Asking

    def _renew(self) -> None:
        left, right = self.metrics
        query, one = self._state.query, self.which.value() == ONE
        self._one = one
        self._fit()
        self.ranks.setVisible(one)
        self.heads.set_chips_visible(one)
        if not left or len(set(self.heads.names())) < 2:
            self._say(tr("Nothing to compare yet"), tr("Two metrics are needed. Train another one."))
        elif not one:
            self._show_all(left, right)
        elif query is None:
            self._say(tr("No query yet"), tr("Choose a case of the library, or drop an image."))
        else:
            self._ask(left, right)
        self._image.follow()

    def _say(self, title: str, text: str) -> None:
        self._compared = None
        self._empty.show_message(title, text)
        self._pages.setCurrentWidget(self._empty)
        self._show()

    def _ask(self, left: str, right: str) -> None:
        if not self._due:
            self._pages.setCurrentWidget(self.columns if self._compared is not None else self._empty)
            return
        self._due = False
        job = compare_metrics.compare(self._context, self._side(left), self._side(right))
        if job is not None:
            job.done.connect(self._answered)
            job.failed.connect(self._failed)

    def _side(self, name: str) -> str | Search:
        search = self._state.search
        return search if name == REFINED and search is not None else name

    def _answered(self, compared: MetricComparison) -> None:
        self._compared = compared
        self._show()
        if self.which.value() == ONE:
            self._pages.setCurrentWidget(self.columns)

    def _failed(self, error: SemblanceError) -> None:
        self._say(error.message, error.hint or "")

    def _show_all(self, left: str, right: str) -> None:
        self._pages.setCurrentWidget(self.every)
        refined = REFINED in (left, right)
        if refined and self._of_others == ((), 0.0, ()):
            self._all_due = True
            self.every.show_message(
                tr("There is nothing to show for other queries"),
                tr("Examples and concepts apply to this query only. Judge cases, or select two metrics."),
            )
        elif self._all_due or (refined and self._asked_with != self._of_others):
            self.ask_all()

    @property
    def _of_others(self) -> tuple[tuple[int, ...], float, tuple[str, ...]]:
        """What refines every query and not the present one alone: judgements in force, how strongly they are
        followed, and groups left out."""
        search, asked = self._state.search, self._state.ranked_search
        if search is None:
            return (), 0.0, ()
        told = tuple(entry.id for entry in asked.entries if entry.undone is None) if asked else ()
        told = told if search.strength > 0 else ()
        return told, search.strength if told else 0.0, search.without

    def ask_all(self) -> None:
        """Ask every case under both metrics, in the background."""
        left, right = self.metrics
        job = compare_metrics.find_disagreements(
            self._context, self._side(left), self._side(right), (left, right)
        )
        if job is None:
            return
        self._all_due, self._asked_with = False, self._of_others
        self.every.show_message(
            tr("Searching with every case under both metrics"),
            tr("This continues in the background."),
            tr("Cancel"),
            job.cancel,
        )
        job.done.connect(self._found)
        job.failed.connect(
            lambda error: self.every.show_message(
                error.message, error.hint or "", tr("Search again"), self.ask_all
            )
        )
        job.cancelled.connect(lambda: self._cancelled(job))

    def _cancelled(self, job: Job) -> None:
        self.every.show_message(
            tr("Cancelled"), tr("Not all queries were used."), tr("Search again"), self.ask_all
        )

    def _found(self, found: Disagreements) -> None:
        self.every.show_found(self._state.columns, self.metrics, found)

    def _open_query(self, row: int) -> None:
        """Ask with a case of the table, and show it here."""
        index = self._state.columns.index_of_row(row)
        if index >= 0:
            self.which.set_value(ONE)
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))
            self._renew()
            self.columns.setFocus(Qt.FocusReason.OtherFocusReason)

    # Showing

    def _set_depth(self) -> None:
        self.columns.set_depth(int(self.ranks.value()))
        self._show_facts()

    def _show(self) -> None:
        found, columns = self._compared, self._state.columns
        lines: tuple[tuple[ComparedCase, ...], tuple[ComparedCase, ...]] = (
            ((), ()) if found is None else (found.left, found.right)
        )
        self.columns.set_lines(columns, *lines, names=self.metrics)
        for chips, side in zip(self.heads.chips, lines, strict=True):
            places = [columns.index_of_row(line.row) for line in side[:NEAREST]]
            chips.show_findings(columns, [columns.finding_name(at) if at >= 0 else None for at in places])
        self._show_facts()

    def _show_facts(self) -> None:
        left, right = self.metrics
        self.facts.show_facts(
            self._state.columns,
            (left, right),
            self._compared,
            (self._scored.get(left), self._scored.get(right)),
            self._counted(),
            self.columns.ranks,
        )

    def _counted(self) -> str | None:
        """The finding that is counted among the nearest: the query's own, else the library's first."""
        columns, query = self._state.columns, self._state.query
        index = columns.index_of_id(query.case) if query is not None and query.case else -1
        own = columns.finding_name(index) if index >= 0 else None
        return own or (columns.findings[0] if columns.findings else None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_3 and self._one:
            self.far_only.toggle()
        else:
            super().keyPressEvent(event)
