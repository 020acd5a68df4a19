"""The parts of the window that a library needs: each is built and wired when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.evaluation.panel import EvaluationPanel
from semblance.app.library.panel import LibraryPanel
from semblance.app.search.feedback import refine_metric
from semblance.app.search.feedback.concepts import Concepts
from semblance.app.search.feedback.judgement_strip import JudgementStrip
from semblance.app.search.query.panel import QueryPanel
from semblance.app.search.similar.panel import RankingPanel
from semblance.app.shell import library_operations as libraries
from semblance.app.shell import search_operations
from semblance.app.shell.jobs import Lane
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.thumbnail_loader import Done, Thumbnails
from semblance.app.window.docks import Dock
from semblance.app.window.side_panel import SidePanel
from semblance.core.language import tr
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import card_images

if TYPE_CHECKING:
    from semblance.app.research.two_metrics.page import TwoMetricsPanel
    from semblance.app.search.compare.compare_page import ComparePanel
    from semblance.app.search.feedback.questions_page import AskNextPanel
    from semblance.app.search.query.full_size_page import LargePanel
    from semblance.app.viewer.image_pane import ImagePane
    from semblance.app.window.main_window import MainWindow

#: Thumbnails are fetched this large, whatever the size of the cards: cards scale them down.
THUMBNAIL = 160


class Parts:
    """Makes those of one window; each at most once."""

    def __init__(self, window: MainWindow) -> None:
        self._window, self._context = window, window.context

    def thumbnails(self) -> Thumbnails:
        return Thumbnails(self._fetch, self._window)

    def concepts(self) -> Concepts:
        window = self._window
        made = Concepts(self._context, window)
        made.changed.connect(window.enable)
        return made

    # Pages in the middle

    def ranking(self) -> RankingPanel:
        window = self._window
        made = RankingPanel(self._context, window.thumbnails)
        window.pages.addWidget(made)
        made.header.help_wanted.connect(lambda: window.show_help("ranking"))
        made.menu_wanted.connect(self.case_menu)
        made.compare_wanted.connect(window.full.compare)
        made.extract_wanted.connect(window.actions_["extract"].trigger)
        made.train_wanted.connect(self._show_training)
        made.grid.current_changed.connect(self._explain)
        actions = window.actions_
        for command, box in (
            ("same_patient", made.same_patient),
            ("alike", made.alike),
            ("diverse", made.options.diverse),
        ):
            actions[command].setChecked(box.isChecked())
            actions[command].toggled.connect(box.setChecked)
            box.toggled.connect(actions[command].setChecked)
        for command in ("judge_alike", "judge_not_alike", "judge_closer"):
            actions.keep_within(command, made)
        return made

    def compare(self) -> ComparePanel:
        from semblance.app.search.compare.compare_page import ComparePanel

        window = self._window
        made = ComparePanel(self._context, window.thumbnails)
        self._add_resting(made, made.panes)
        made.closed.connect(lambda: window.full.leave_page("compare"))
        made.menu_wanted.connect(self.case_menu)
        made.header.help_wanted.connect(lambda: window.show_help("compare"))
        return made

    def large(self) -> LargePanel:
        from semblance.app.search.query.full_size_page import LargePanel

        window = self._window
        made = LargePanel(self._context)
        window.pages.addWidget(made)
        made.closed.connect(lambda: window.full.leave_page("large"))
        made.header.help_wanted.connect(lambda: window.show_help("large"))
        made.header_wanted.connect(lambda: window.commands.show_header(made.pane))
        return made

    def two_metrics(self) -> TwoMetricsPanel:
        from semblance.app.research.two_metrics.page import TwoMetricsPanel

        window = self._window
        made = TwoMetricsPanel(self._context, window.thumbnails)
        window.pages.addWidget(made)
        made.closed.connect(lambda: window.full.leave_page("two_metrics"))
        made.compare_wanted.connect(window.full.compare)
        made.menu_wanted.connect(self.case_menu)
        made.header.help_wanted.connect(lambda: window.show_help("two_metrics"))
        return made

    def ask_next(self) -> AskNextPanel:
        from semblance.app.search.feedback.questions_page import AskNextPanel

        window = self._window
        made = AskNextPanel(self._context)
        self._add_resting(made, made.panes)
        made.closed.connect(lambda: window.full.leave_page("ask_next"))
        made.header.help_wanted.connect(lambda: window.show_help("ask_next"))
        return made

    # Docks

    def library(self) -> LibraryPanel:
        made = LibraryPanel(self._context, self._window.thumbnails)
        made.menu_wanted.connect(self.case_menu)
        made.fold_button.clicked.connect(self._window.arrangement.fold_again)
        return made

    def query(self) -> QueryPanel:
        window = self._window
        made = QueryPanel(self._context, thumbnails=window.thumbnails)
        made.add_foot(window.judgements)
        made.help_wanted.connect(lambda: window.show_help("query"))
        made.large_wanted.connect(window.full.look_at_query)
        made.header_wanted.connect(lambda: window.commands.show_header(made.pane))
        return made

    def judgements(self) -> JudgementStrip:
        made = JudgementStrip(self._context, self._window.thumbnails)
        made.wanted.connect(lambda: self._window.show_side("refine"))
        return made

    def side(self) -> SidePanel:
        window = self._window
        made = SidePanel(self._context, window.thumbnails, window.concepts)
        made.help_wanted.connect(window.show_help)
        made.save_wanted.connect(window.actions_["save_refined"].trigger)
        made.case_wanted.connect(self._go_to)
        made.slider_wanted.connect(window.actions_["prepare_slider"].trigger)
        made.questions_wanted.connect(window.full.ask_next)
        return made

    def evaluation(self) -> EvaluationPanel:
        window = self._window
        made = EvaluationPanel(self._context, window.thumbnails)
        made.header.help_wanted.connect(lambda: window.show_help("evaluation"))
        made.extract_wanted.connect(window.actions_["extract"].trigger)
        made.train_wanted.connect(self._show_training)
        return made

    def docks(self) -> dict[str, Dock]:
        window = self._window
        library, query, side, evaluation = window.library, window.query, window.side, window.evaluation
        made = {
            "library": Dock(window, tr("Library"), "library", library, [library.view, library.fold_button]),
            "query": Dock(window, tr("Query"), "query", query, header=query.header),
            "side": Dock(window, tr("Why, Train, Refine"), "side", side, header=side.header),
            "evaluation": Dock(window, tr("Evaluation"), "evaluation", evaluation, header=evaluation.header),
        }
        for dock in made.values():
            dock.help_wanted.connect(window.show_help)
        window.arrangement.place(made)
        if window.state.library is None:
            # Built while nobody waits: the start page stands alone.
            for dock in made.values():
                dock.hide()
        return made

    # What several of them share

    def finish(self) -> None:
        """Keep what is to outlast the window."""
        refine_metric.finish(self._context)
        libraries.remember_before_end(self._context)

    def case_menu(self, case_row: int, where: QPoint) -> None:
        """What can be done with a case, wherever it is shown."""
        window, state = self._window, self._context.state
        index = state.columns.index_of_row(case_row)
        if index < 0:
            return
        case_id = state.columns.ids[index]
        menu = Menu(window)
        ranked = state.ranking.ranked if state.ranking is not None else ()
        if not window.full.comparing and any(case.row == case_row for case in ranked):
            menu.addAction(tr("Compare with the query"), lambda: window.full.compare(case_row))
        menu.addAction(tr("Look at it large"), lambda: window.full.look_at_case(case_row))
        menu.addAction(
            tr("Ask with this case"), lambda: search_operations.ask(self._context, Query(case=case_id))
        )
        menu.addAction(tr("Copy the case's id"), lambda: QGuiApplication.clipboard().setText(case_id))
        if not window.full.comparing and window.ranking.isAncestorOf(QApplication.focusWidget() or window):
            window.ranking.judging.fill_menu(menu)
        window.commands.examples.fill_menu(menu, case_row)
        menu.exec(where)
        menu.deleteLater()

    def _add_resting(self, page: QWidget, panes: Sequence[ImagePane]) -> None:
        """A page that keeps no slices until it is shown."""
        self._window.pages.addWidget(page)
        for pane in panes:
            pane.slices.rest()

    def _show_training(self) -> None:
        self._window.commands.train()

    def _explain(self, case_row: int) -> None:
        self._window.side.follow(case_row)

    def _go_to(self, case_row: int) -> None:
        self._window.ranking.grid.set_current(case_row)

    def _fetch(self, rows: list[int], done: Done) -> None:
        path = self._context.state.path
        if path is None:
            done([])
            return
        job = self._context.jobs.run(
            tr("Thumbnails"), card_images.card_images, path, rows, THUMBNAIL, lane=Lane.LOOK, quiet=True
        )
        job.done.connect(done)
        job.failed.connect(lambda _error: done([]))
        job.cancelled.connect(lambda: done([]))
