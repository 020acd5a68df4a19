"""The main window: puts the panels into docks, the commands to work, and everything back as it was."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QStackedWidget, QStyle, QWidget

from app.actions import Actions
from app.context import Context
from app.jobs import Jobs, Lane
from app.messages import Message, Messages
from app.models.thumbnails import Done, Thumbnails
from app.operations import library as libraries
from app.operations import refining, searching
from app.operations.concepts import Concepts
from app.panels.asking.ask_next import AskNextPanel
from app.panels.asking.ask_section import AskSection
from app.panels.comparing.compare import ComparePanel
from app.panels.comparing.two_metrics import TwoMetricsPanel
from app.panels.evaluation.panel import EvaluationPanel
from app.panels.large import LargePanel
from app.panels.library import LibraryPanel
from app.panels.query.panel import QueryPanel
from app.panels.ranking.judgement_strip import JudgementStrip
from app.panels.ranking.panel import RankingPanel
from app.panels.side.panel import SidePanel
from app.settings import Settings
from app.state import State
from app.theme import news
from app.widgets.boxes import vbox
from app.widgets.message_bar import MessageBar
from app.widgets.reading_order import move_on
from app.widgets.start_page import StartPage
from app.windows import library_files
from app.windows.arrangement import Arrangement
from app.windows.commands import Commands
from app.windows.docks import Dock
from app.windows.full_pages import FullPages
from app.windows.library_lock import LibraryLock
from app.windows.likeness import LikenessSlider
from app.windows.map_links import MapLinks
from app.windows.pickers import make_pickers
from app.windows.search_view import SearchView
from app.windows.status import StatusLine
from app.windows.top_bar import TopBar
from app.windows.warming import warm_asking, warm_looking
from core.language import tr
from core.searches.query import Query
from core.workflows.imaging import looking
from core.workflows.imaging.looking import CardImage

MINIMUM = (1024, 640)
USUAL = (1440, 900)
#: Thumbnails are fetched this large, whatever the size of the cards: cards scale them down.
THUMBNAIL = 160


class MainWindow(QMainWindow):
    """One window on one library."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Semblance")
        self.setMinimumSize(*MINIMUM)
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self.context = Context(State(self), Jobs(self), Messages(self), settings or Settings())
        self.state, self.jobs = self.context.state, self.context.jobs
        self.actions_ = Actions(self)
        self.thumbnails = Thumbnails(self._fetch, self)
        self._lock = LibraryLock(self.context)
        self.arrangement = Arrangement(self)
        self.full = FullPages(self)
        self._make_centre()
        self._make_docks()
        self.commands = Commands(self)
        self.top = TopBar(self.actions_, make_pickers(self.context), LikenessSlider(self.context))
        self.setMenuWidget(self.top)
        self._connect()
        self.resize(*USUAL)
        self._restore()
        self._show_library()

    # Making

    def _make_centre(self) -> None:
        self.ranking = RankingPanel(self.context, self.thumbnails)
        self.compare = ComparePanel(self.context, self.thumbnails)
        self.large = LargePanel(self.context)
        self.two_metrics = TwoMetricsPanel(self.context, self.thumbnails)
        self.ask_next = AskNextPanel(self.context)
        self.start_page = StartPage()
        self.pages = QStackedWidget()
        for page in (
            self.start_page,
            self.ranking,
            self.compare,
            self.large,
            self.two_metrics,
            self.ask_next,
        ):
            self.pages.addWidget(page)
        self.message_bar = MessageBar()
        centre = QWidget()
        column = vbox(centre)
        column.addWidget(self.message_bar)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(centre)
        self.status = StatusLine(self.context)
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        bar.addWidget(self.status, 1)

    def _make_docks(self) -> None:
        self.concepts = Concepts(self.context, self)
        self.library = LibraryPanel(self.context, self.thumbnails)
        self.query = QueryPanel(self.context, thumbnails=self.thumbnails)
        self.judgements = JudgementStrip(self.context, self.thumbnails)
        self.judgements.wanted.connect(lambda: self.show_side("refine"))
        self.query.add_foot(self.judgements)
        self.side = SidePanel(self.context, self.thumbnails, self.concepts)
        self.train = self.side.train
        self.question = AskSection(self.context, self.thumbnails)
        self.side.refine.set_questions(self.question)
        self.evaluation = EvaluationPanel(self.context, self.thumbnails)
        self.docks = {
            "library": Dock(tr("Library"), "library", self.library, [self.library.view]),
            "query": Dock(tr("Query"), "query", self.query, header=self.query.header),
            "side": Dock(tr("Why, Train, Refine"), "side", self.side, header=self.side.header),
            "evaluation": Dock(
                tr("Evaluation"), "evaluation", self.evaluation, header=self.evaluation.header
            ),
        }
        self.arrangement.place()
        for dock in self.docks.values():
            dock.help_wanted.connect(self._help)
        self.ranking.header.help_wanted.connect(lambda: self._help("ranking"))
        self.query.help_wanted.connect(lambda: self._help("query"))
        self.side.help_wanted.connect(self._help)
        self.ranking.grid.current_changed.connect(self.side.why.follow)
        self.evaluation.header.help_wanted.connect(lambda: self._help("evaluation"))

    def focusNextPrevChild(self, forward: bool) -> bool:
        return move_on(self, forward)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrangement.follow_width()

    def _connect(self) -> None:
        self.state.library_changed.connect(self._show_library)
        self.state.cases_changed.connect(self._enable)
        self.state.metric_changed.connect(self._enable)
        self.state.query_changed.connect(self._enable)
        self.state.ranking_changed.connect(self._enable)
        self.state.training_changed.connect(self._enable)
        self.state.search_changed.connect(self._enable)
        self.concepts.changed.connect(self._enable)
        self.state.refusal_changed.connect(self._enable)
        news.changed.connect(self.arrangement.follow_width)
        self.context.messages.shown.connect(self._show_message)
        self.status.not_read_wanted.connect(self.actions_["not_read"].trigger)
        self.status.jobs_wanted.connect(self.commands.show_jobs)
        self.library.menu_wanted.connect(self._case_menu)
        self.ranking.menu_wanted.connect(self._case_menu)
        self.ranking.compare_wanted.connect(self.show_compare)
        self.compare.closed.connect(self.leave_compare)
        self.compare.menu_wanted.connect(self._case_menu)
        self.compare.header.help_wanted.connect(lambda: self._help("compare"))
        self.large.closed.connect(self.leave_large)
        self.two_metrics.closed.connect(self.leave_two_metrics)
        self.question.large_wanted.connect(self.full.ask_next)
        self.ask_next.closed.connect(lambda: self.full.leave() if self.full.asking else None)
        self.ask_next.header.help_wanted.connect(lambda: self._help("ask_next"))
        self.two_metrics.compare_wanted.connect(self.show_compare)
        self.two_metrics.menu_wanted.connect(self._case_menu)
        self.two_metrics.header.help_wanted.connect(lambda: self._help("two_metrics"))
        self.large.header.help_wanted.connect(lambda: self._help("large"))
        self.query.large_wanted.connect(self.full.look_at_query)
        self.query.header_wanted.connect(lambda: self.commands.show_header(self.query.pane))
        self.large.header_wanted.connect(lambda: self.commands.show_header(self.large.pane))
        self.side.refine.save_wanted.connect(self.actions_["save_refined"].trigger)
        self.side.refine.case_wanted.connect(self.ranking.grid.set_current)
        self.ranking.extract_wanted.connect(self.actions_["extract"].trigger)
        self.ranking.train_wanted.connect(self.commands.train)
        self.train.slider_wanted.connect(self.actions_["prepare_slider"].trigger)
        self.evaluation.extract_wanted.connect(self.actions_["extract"].trigger)
        self.evaluation.train_wanted.connect(self.commands.train)
        self.map_links = MapLinks(self)
        self.search_view = SearchView(self)
        self.state.named.connect(self._tell_name)
        self.start_page.demo_wanted.connect(self.actions_["demo"].trigger)
        self.start_page.new_wanted.connect(self.actions_["new_library_folder"].trigger)
        self.start_page.open_wanted.connect(self.actions_["open_library"].trigger)
        self.start_page.recent_wanted.connect(lambda path: self.open_library(Path(path)))
        self.start_page.dropped.connect(lambda path: library_files.bring_in(self, Path(path)))
        self.start_page.words_wanted.connect(self.actions_["words"].trigger)

    # Opening and closing

    def start(self, library: Path | None = None) -> None:
        """After the first paint: open ``library`` or the last one, and warm up what will be asked for."""
        self.context.messages.install_hooks()
        QTimer.singleShot(0, self, lambda: self._start(library))

    def _start(self, library: Path | None) -> None:
        chosen = library or self.context.settings.last_library
        if chosen is not None and (library is not None or chosen.exists()):
            self.open_library(chosen)
        self.jobs.warm(Lane.LOOK, warm_looking)
        self.jobs.warm(Lane.ASK, warm_asking)

    def open_library(self, path: Path) -> None:
        """Open the library at ``path``; for looking only where another window has it."""
        path = path.absolute()
        libraries.open_library(self.context, path)

    def _show_library(self) -> None:
        library = self.state.library
        self.thumbnails.clear()
        self._tell_name()
        there = library is not None
        self.pages.setCurrentWidget(self.ranking if there else self.start_page)
        if not there:
            self.arrangement.keep()
            self.start_page.set_recent(self.context.settings.recent)
        for dock in self.docks.values():
            dock.setVisible(there and dock.wanted)
        if there:
            self.library.grid.setFocus(Qt.FocusReason.OtherFocusReason)
        if there:
            self.arrangement.lay_out_once()
        self._enable()
        self._lock.follow()

    def _tell_name(self) -> None:
        """The library, and the kept search that is open, in the window's title."""
        library, search = self.state.library, self.state.search_name
        parts = [search, library.name if library else "", "Semblance"]
        self.setWindowTitle(" – ".join(part for part in parts if part))

    def closeEvent(self, event: QCloseEvent) -> None:
        settings = self.context.settings
        if self.state.library is not None:
            self.arrangement.keep()
        settings.set_bytes("geometry", self.saveGeometry())
        settings.last_library = self.state.path
        settings.save()
        self.search_view.keeper.look()
        self.hide()
        refining.finish(self.context)
        libraries.remember_before_end(self.context)
        self.jobs.shutdown()
        self.context.messages.remove_hooks()
        self._lock.release()
        super().closeEvent(event)

    def _restore(self) -> None:
        geometry = self.context.settings.bytes("geometry")
        if geometry is not None:
            self.restoreGeometry(geometry)

    def fit(self, available: QSize) -> None:
        """Fill a screen of which less than the window's size is free."""
        # A frame with its title comes on top of the window's own size.
        frame = QSize(0, self.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight))
        size = self.size().boundedTo(available - frame)
        if size != self.size():
            self.resize(size)
            self.setWindowState(self.windowState() | Qt.WindowState.WindowMaximized)

    def show_side(self, name: str) -> None:
        """Bring one of the panels at the right to the front."""
        self.docks["side"].show()
        self.side.show_tab(name)

    # Pages on the whole window

    @property
    def comparing(self) -> bool:
        return self.pages.currentWidget() is self.compare

    def show_compare(self, case_row: int) -> None:
        """The query beside a ranked case, on the whole window."""
        self.full.compare(case_row)

    def leave_compare(self) -> None:
        """Back to the ranking, with everything where it was."""
        if self.comparing:
            self.full.leave()

    def leave_large(self) -> None:
        """Back to the ranking from the large picture."""
        if self.pages.currentWidget() is self.large:
            self.full.leave()

    def leave_two_metrics(self) -> None:
        """Back to the ranking from two metrics."""
        if self.pages.currentWidget() is self.two_metrics:
            self.full.leave()

    # Showing

    def _enable(self) -> None:
        self.actions_.enable(self.state.there | self.concepts.there)

    def _help(self, page: str) -> None:
        self.commands.show_help(page)

    def _show_message(self, message: Message) -> None:
        """News without anything to do go to the status line: nothing a person is aiming at may move."""
        if message.level == "info" and not message.hint:
            self.status.tell(message.what)
            return
        self.message_bar.add(message.level, message.what, message.hint, message.details)

    def focused_panel(self) -> str:
        """Which panel the keyboard is in: its help page's name."""
        widget = QApplication.focusWidget()
        while widget is not None:
            for name, dock in self.docks.items():
                if widget is dock:
                    return self.side.current if name == "side" else name
            if widget is self.ranking:
                return "ranking"
            if widget is self.compare:
                return "compare"
            if widget is self.large:
                return "large"
            if widget is self.two_metrics:
                return "two_metrics"
            if widget in (self.ask_next, self.question):
                return "ask_next"
            widget = widget.parentWidget()
        return "start" if self.state.library is None else "ranking"

    def _case_menu(self, case_row: int, where: QPoint) -> None:
        index = self.state.columns.index_of_row(case_row)
        if index < 0:
            return
        case_id = self.state.columns.ids[index]
        menu = QMenu(self)
        ranked = self.state.ranking.ranked if self.state.ranking is not None else ()
        if not self.comparing and any(case.row == case_row for case in ranked):
            menu.addAction(tr("Compare with the query"), lambda: self.show_compare(case_row))
        menu.addAction(tr("Look at it large"), lambda: self.full.look_at_case(case_row))
        menu.addAction(tr("Ask with this case"), lambda: searching.ask(self.context, Query(case=case_id)))
        menu.addAction(tr("Copy the case's id"), lambda: QGuiApplication.clipboard().setText(case_id))
        if not self.comparing and self.ranking.isAncestorOf(QApplication.focusWidget() or self):
            self.ranking.judging.fill_menu(menu)
        self.commands.examples.fill_menu(menu, case_row)
        menu.exec(where)
        menu.deleteLater()

    # Dropping

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self.start_page.set_dropping(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.start_page.set_dropping(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.start_page.set_dropping(False)
        for url in event.mimeData().urls():
            if url.isLocalFile():
                library_files.bring_in(self, Path(url.toLocalFile()))
                event.acceptProposedAction()
                return

    # Thumbnails

    def _fetch(self, rows: list[int], done: Done) -> None:
        path = self.state.path
        if path is None:
            done([])
            return
        job = self.jobs.run(
            tr("Thumbnails"), looking.card_images, path, rows, THUMBNAIL, lane=Lane.LOOK, quiet=True
        )

        def show(images: list[CardImage]) -> None:
            done(images)

        job.done.connect(show)
        job.failed.connect(lambda _error: done([]))
        job.cancelled.connect(lambda: done([]))
