"""The panels and pages of the window, each built and connected on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QApplication, QStackedWidget

from semblance.app.evaluation.panel import EvaluationPanel
from semblance.app.library.panel import LibraryPanel
from semblance.app.search.feedback.concepts_section import Concepts
from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.widgets.cards.card_layout import LARGE_CARDS
from semblance.app.widgets.cards.case_drag import DragImages
from semblance.app.widgets.panel import FullPage, PanelHeader, TabHeader
from semblance.app.widgets.thumbnail_loader import Done, ThumbnailLoader
from semblance.app.window.lists_panel import ListsPanel
from semblance.app.window.side_panel import SidePanel
from semblance.app.window.workspaces import WorkspaceChoice
from semblance.core.imaging.thumbnail import LONGEST
from semblance.core.language import tr
from semblance.core.workflows.imaging import card_images

if TYPE_CHECKING:
    from semblance.app.research.data_check_page import DataCheckPage
    from semblance.app.research.two_metrics_page import TwoMetricsPage
    from semblance.app.search.compare.compare_page import ComparePage
    from semblance.app.search.feedback.questions_page import QuestionsPage
    from semblance.app.search.hanging_page import HangingPage
    from semblance.app.search.query.full_size_page import FullSizePage
    from semblance.app.viewer.header_view import HeaderPanel
    from semblance.app.viewer.image_pane import ImagePane

#: Limit of larger thumbnails that wait to be made, about those of one screen.
_MOST_LARGER = 48


class Panels(QObject):
    """The panels of one window. Their requests to the window are this object's signals.

    ``help_requested(page)`` · ``case_menu_requested(case_row, where)`` · ``compare_requested(case_row)`` ·
    ``page_detached(name, on)``: a page goes to a window of its own, or back ·
    ``page_closed(name)``: a page on the whole window · ``full_size_requested``: the query's image ·
    ``header_requested(pane)``: the header of the file shown in a pane · ``side_requested(tab)`` ·
    ``questions_requested``: ask in full size · ``collapse_requested``: fold the Library panel.
    """

    help_requested = Signal(str)
    case_menu_requested = Signal(int, QPoint)
    compare_requested = Signal(int)
    page_detached = Signal(str, bool)
    page_closed = Signal(str)
    full_size_requested = Signal()
    header_requested = Signal(object)
    side_requested = Signal(str)
    questions_requested = Signal()
    collapse_requested = Signal()
    concepts_changed = Signal()

    def __init__(
        self, context: Context, stack: QStackedWidget, workspaces: WorkspaceChoice, parent: QObject
    ) -> None:
        """``stack``: the pages in the middle of the window."""
        super().__init__(parent)
        self._context, self._stack, self._workspaces = context, stack, workspaces
        #: The ranking in which the current case was followed last.
        self._followed: object = None
        workspaces.changed.connect(self._show_workspace)

    def _show_workspace(self) -> None:
        """Let the panels that are built show what the workspace shows of them."""
        workspace = self._workspaces.current
        ranking, side = Panels.ranking.built(self), Panels.side.built(self)
        library, query = Panels.library.built(self), Panels.query.built(self)
        if ranking is not None:
            ranking.grid.set_style(workspace.cards)
            ranking.set_plain(workspace.plain)
        if library is not None:
            library.set_plain(workspace.plain)
        if query is not None:
            query.set_plain(workspace.plain)
        if side is not None:
            side.set_tabs(workspace.tabs)
            side.set_plain(workspace.plain)

    def forget_thumbnails(self) -> None:
        """Drop the thumbnails of the library that was open."""
        thumbnails = Panels.thumbnails.built(self)
        if thumbnails is not None:
            thumbnails.clear()

    @property
    def concept_conditions(self) -> set[str]:
        """The met conditions of commands on concepts."""
        concepts = Panels.concepts.built(self)
        return concepts.available if concepts is not None else set()

    # What several panels share

    @lazy_part
    def thumbnails(self) -> ThumbnailLoader:
        # Larger ones are made from the images, so they come a few at a time and not for cards scrolled past.
        larger = ThumbnailLoader(
            self._fetch_larger_thumbnails, self, batch=4, max_fetches=1, max_queued=_MOST_LARGER
        )
        fetch = partial(self._fetch_thumbnails, LONGEST)
        loader = ThumbnailLoader(fetch, self, larger=larger, enough=LONGEST)
        loader.drag_images = DragImages(self._context, loader)
        return loader

    @lazy_part
    def concepts(self) -> Concepts:
        made = Concepts(self._context, self)
        made.changed.connect(self.concepts_changed)
        return made

    # Pages in the middle

    @lazy_part
    def ranking(self) -> RankingPanel:
        made = RankingPanel(self._context, self.thumbnails)
        made.grid.set_style(self._workspaces.current.cards)
        made.set_plain(self._workspaces.current.plain)
        self._stack.addWidget(made)
        self._connect_help(made.header, "ranking")
        made.menu_requested.connect(self.case_menu_requested)
        made.compare_requested.connect(self.compare_requested)
        made.prepare_requested.connect(self._context.actions["prepare"].trigger)
        made.grid.current_changed.connect(self._explain)
        actions = self._context.actions
        for command, box in (
            ("same_patient", made.same_patient),
            ("alike", made.near_duplicates),
            ("diverse", made.options.diverse),
        ):
            actions[command].setChecked(box.isChecked())
            actions[command].toggled.connect(box.setChecked)
            box.toggled.connect(actions[command].setChecked)
        for command in ("judge_alike", "judge_not_alike", "judge_closer"):
            actions.limit_shortcut_to(command, made)
        return made

    @lazy_part
    def compare(self) -> ComparePage:
        from semblance.app.search.compare.compare_page import ComparePage

        made = ComparePage(self._context, self.thumbnails)
        self.add_page(made, "compare", made.panes)
        made.judged.connect(self._mark_case)
        made.header_requested.connect(self.header_requested)
        made.case_changed.connect(lambda: self._follow_header(made.current_row()))
        made.menu_requested.connect(self.case_menu_requested)
        return made

    @lazy_part
    def large(self) -> FullSizePage:
        from semblance.app.search.query.full_size_page import FullSizePage

        made = FullSizePage(self._context)
        made.judged.connect(self._mark_case)
        self.add_page(made, "large")
        made.header_requested.connect(lambda: self.header_requested.emit(made.pane))
        return made

    @lazy_part
    def hanging(self) -> HangingPage:
        from semblance.app.search.hanging_page import HangingPage

        made = HangingPage(self._context)
        self.add_page(made, "hanging", made.panes)
        made.header_requested.connect(self.header_requested)
        return made

    @lazy_part
    def two_metrics(self) -> TwoMetricsPage:
        from semblance.app.research.two_metrics_page import TwoMetricsPage

        made = TwoMetricsPage(self._context, self.thumbnails)
        self.add_page(made, "two_metrics")
        made.compare_requested.connect(self.compare_requested)
        made.menu_requested.connect(self.case_menu_requested)
        return made

    @lazy_part
    def data_check(self) -> DataCheckPage:
        from semblance.app.research.data_check_page import DataCheckPage

        made = DataCheckPage(self._context, self.thumbnails)
        self.add_page(made, "data_check")
        made.menu_requested.connect(self.case_menu_requested)
        return made

    @lazy_part
    def ask_next(self) -> QuestionsPage:
        from semblance.app.search.feedback.questions_page import QuestionsPage

        made = QuestionsPage(self._context)
        self.add_page(made, "ask_next", made.panes)
        return made

    # Panels in docks

    @lazy_part
    def library(self) -> LibraryPanel:
        made = LibraryPanel(self._context, self.thumbnails)
        made.set_plain(self._workspaces.current.plain)
        for command in ("judge_alike", "judge_not_alike"):
            self._context.actions.limit_shortcut_to(command, made)
        made.menu_requested.connect(self.case_menu_requested)
        made.collapse_button.clicked.connect(self.collapse_requested)
        return made

    @lazy_part
    def query(self) -> QueryPanel:
        made = QueryPanel(self._context, self.thumbnails)
        made.set_plain(self._workspaces.current.plain)
        made.help_requested.connect(lambda: self.help_requested.emit("query"))
        made.full_size_requested.connect(self.full_size_requested)
        made.header_requested.connect(lambda: self.header_requested.emit(made.pane))
        return made

    @lazy_part
    def side(self) -> SidePanel:
        made = SidePanel(self._context, self.thumbnails, self.concepts)
        made.set_tabs(self._workspaces.current.tabs)
        made.set_plain(self._workspaces.current.plain)
        made.help_requested.connect(self.help_requested)
        made.save_requested.connect(self._context.actions["save_refined"].trigger)
        made.case_requested.connect(self._go_to)
        made.slider_requested.connect(self._context.actions["prepare_slider"].trigger)
        made.questions_requested.connect(self.questions_requested)
        made.query_marked.connect(self.query.show_place_marks)
        self.query.image_shown.connect(made.mark_query)
        self.query.view.pointed_at.connect(made.point_at_query)
        made.set_query_shown(self.query.view.isVisible())
        self.query.view.installEventFilter(self)
        return made

    @lazy_part
    def evaluation(self) -> EvaluationPanel:
        made = EvaluationPanel(self._context, self.thumbnails)
        self._connect_help(made.header, "evaluation")
        made.extract_requested.connect(self._context.actions["extract"].trigger)
        made.train_requested.connect(self.show_training)
        return made

    @lazy_part
    def lists(self) -> ListsPanel:
        made = ListsPanel(self._context)
        made.help_requested.connect(self.help_requested)
        return made

    @lazy_part
    def file_header(self) -> HeaderPanel:
        from semblance.app.viewer.header_view import HeaderPanel

        return HeaderPanel(self._context)

    # Requests

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Where another panel lies over the query, Why has the image of the query too."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self.side.set_query_shown(event.type() == QEvent.Type.Show)
        return False

    def show_training(self) -> None:
        """Show the Train panel and focus its button."""
        self.side_requested.emit("train")
        self.side.train.train_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def is_in_ranking(self) -> bool:
        """Whether the focus is in the similar cases."""
        focus = QApplication.focusWidget()
        return focus is not None and self.ranking.isAncestorOf(focus)

    def cases_in_use(self) -> RankingPanel | LibraryPanel:
        """The list of cases with the focus, else the library."""
        return self.ranking if self.is_in_ranking() else self.library

    def cases_shown(self) -> list[str]:
        """The ids of the cases that the Library panel lists, in its order."""
        ids, shown = self._context.state.columns.ids, self.library.grid.model()
        return [ids[shown.index(place)] for place in range(len(shown))]

    def _explain(self, case_row: int) -> None:
        self.side.follow(case_row)
        # The first case of another ranking is made current by no person.
        ranking, before = self._context.state.ranking, self._followed
        self._followed = ranking
        if ranking is before and self.is_in_ranking():
            self._follow_header(case_row)

    def _follow_header(self, case_row: int) -> None:
        """The file header, if it is open, shows the case that was selected."""
        if (header := Panels.file_header.built(self)) is not None:
            header.follow(case_row)

    def _go_to(self, case_row: int) -> None:
        self.ranking.grid.set_current(case_row)

    def _mark_case(self, case_row: int, mark: int) -> None:
        self.ranking.card_feedback.mark_rows(mark, [case_row])

    def _connect_help(self, header: PanelHeader | TabHeader, page: str) -> None:
        header.help_requested.connect(lambda: self.help_requested.emit(page))

    def add_page(self, page: FullPage, name: str, panes: Sequence[ImagePane] = ()) -> None:
        """Add a page on the whole window. ``panes`` load no slices until it is shown."""
        self._stack.addWidget(page)
        for pane in panes:
            pane.slices.release_memory()
        page.closed.connect(lambda: self.page_closed.emit(name))
        page.detached.connect(partial(self.page_detached.emit, name))
        self._connect_help(page.header, name)

    def _fetch_larger_thumbnails(self, rows: list[int], done: Done) -> None:
        """Thumbnails for the largest cards on this screen."""
        self._fetch_thumbnails(round(LARGE_CARDS.largest * self._stack.devicePixelRatioF()), rows, done)

    def _fetch_thumbnails(self, longest: int, rows: list[int], done: Done) -> None:
        path = self._context.state.location
        if path is None:
            done([])
            return
        job = self._context.jobs.run(
            tr("Thumbnails"), card_images.card_images, path, rows, longest, pool=WorkerPool.READ, quiet=True
        )
        job.done.connect(done)
        job.failed.connect(lambda _error: done([]))
        job.cancelled.connect(lambda: done([]))
