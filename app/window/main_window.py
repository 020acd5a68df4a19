"""The main window: puts the panels into docks, the commands to work, and everything back as it was."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QMainWindow,
    QPushButton,
    QStackedWidget,
    QStyle,
    QToolButton,
    QWidget,
)

from semblance.app.library.library_lock import LibraryLock
from semblance.app.metrics.emphasis_slider import LikenessSlider
from semblance.app.shell.actions import COMMANDS, Actions
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Jobs
from semblance.app.shell.lazy import Idle, later
from semblance.app.shell.messages import Message, Messages
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import State
from semblance.app.shell.theme import news
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.tab_order import move_on
from semblance.app.window.dock_layout import Arrangement
from semblance.app.window.full_pages import FullPages
from semblance.app.window.message_bar import MessageBar
from semblance.app.window.pickers import make_pickers
from semblance.app.window.start_page import StartPage
from semblance.app.window.startup import PARTS, steps
from semblance.app.window.status_line import StatusLine
from semblance.app.window.top_bar import TopBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from semblance.app.evaluation.panel import EvaluationPanel
    from semblance.app.library.panel import LibraryPanel
    from semblance.app.metrics.train_panel import TrainPanel
    from semblance.app.research.two_metrics.page import TwoMetricsPanel
    from semblance.app.search.compare.compare_page import ComparePanel
    from semblance.app.search.feedback.concepts import Concepts
    from semblance.app.search.feedback.judgement_strip import JudgementStrip
    from semblance.app.search.feedback.question_section import AskSection
    from semblance.app.search.feedback.questions_page import AskNextPanel
    from semblance.app.search.query.full_size_page import LargePanel
    from semblance.app.search.query.panel import QueryPanel
    from semblance.app.search.saved.search_view import SearchView
    from semblance.app.search.similar.panel import RankingPanel
    from semblance.app.widgets.thumbnail_loader import Thumbnails
    from semblance.app.window.commands import Commands
    from semblance.app.window.docks import Dock
    from semblance.app.window.map_links import MapLinks
    from semblance.app.window.panels import Parts
    from semblance.app.window.side_panel import SidePanel

MINIMUM = (1024, 640)
USUAL = (1440, 900)


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
        self._lock = LibraryLock(self.context)
        self._idle = Idle(self)
        #: Whether a library to open was chosen, by a person or at the start.
        self._chosen = False
        self.arrangement = Arrangement(self)
        self.full = FullPages(self)
        self._make_centre()
        self.top = TopBar(self.actions_, make_pickers(self.context), LikenessSlider(self.context))
        self.setMenuWidget(self.top)
        self._connect()
        self.resize(*USUAL)
        self._restore()
        self._show_library()

    # Making

    def _make_centre(self) -> None:
        self.start_page = StartPage()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.start_page)
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

    def _connect(self) -> None:
        for command in COMMANDS:
            self.actions_.connect_to(command.id, partial(self._run, command.id))
        state, page = self.state, self.start_page
        state.library_changed.connect(self._show_library)
        for signal in (
            state.cases_changed,
            state.metric_changed,
            state.query_changed,
            state.ranking_changed,
            state.training_changed,
            state.search_changed,
            state.refusal_changed,
        ):
            signal.connect(self.enable)
        state.named.connect(self._tell_name)
        news.changed.connect(self.arrangement.follow_width)
        self.context.messages.shown.connect(self._show_message)
        self.status.not_read_wanted.connect(self.actions_["not_read"].trigger)
        self.status.jobs_wanted.connect(self._show_jobs)
        page.demo_wanted.connect(self.actions_["demo"].trigger)
        page.new_wanted.connect(self.actions_["new_library_folder"].trigger)
        page.open_wanted.connect(self.actions_["open_library"].trigger)
        page.recent_wanted.connect(lambda path: self.open_library(Path(path)))
        page.dropped.connect(lambda path: self._bring_in(Path(path)))
        page.words_wanted.connect(self.actions_["words"].trigger)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return move_on(self, forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # From the bar on top, where Tab leads from a page on the whole window.
        if event.key() == Qt.Key.Key_Escape and self.full.open:
            self.full.leave()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            # Qt presses buttons by Enter in dialogs only.
            button = self.focusWidget()
            if isinstance(button, QPushButton | QToolButton):
                button.click()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrangement.follow_width()

    # What a library needs: built when first asked for, or while nobody waits

    @later
    def _parts(self) -> Parts:
        from semblance.app.window.panels import Parts

        return Parts(self)

    @later
    def commands(self) -> Commands:
        from semblance.app.window.commands import Commands

        return Commands(self)

    @later
    def thumbnails(self) -> Thumbnails:
        return self._parts.thumbnails()

    @later
    def concepts(self) -> Concepts:
        return self._parts.concepts()

    @later
    def ranking(self) -> RankingPanel:
        return self._parts.ranking()

    @later
    def compare(self) -> ComparePanel:
        return self._parts.compare()

    @later
    def large(self) -> LargePanel:
        return self._parts.large()

    @later
    def two_metrics(self) -> TwoMetricsPanel:
        return self._parts.two_metrics()

    @later
    def ask_next(self) -> AskNextPanel:
        return self._parts.ask_next()

    @later
    def library(self) -> LibraryPanel:
        return self._parts.library()

    @later
    def query(self) -> QueryPanel:
        return self._parts.query()

    @later
    def judgements(self) -> JudgementStrip:
        return self._parts.judgements()

    @later
    def side(self) -> SidePanel:
        return self._parts.side()

    @later
    def evaluation(self) -> EvaluationPanel:
        return self._parts.evaluation()

    @later
    def docks(self) -> dict[str, Dock]:
        return self._parts.docks()

    @later
    def map_links(self) -> MapLinks:
        from semblance.app.window.map_links import MapLinks

        return MapLinks(self)

    @later
    def search_view(self) -> SearchView:
        from semblance.app.search.saved.search_view import SearchView

        return SearchView(self)

    @property
    def train(self) -> TrainPanel:
        return self.side.train

    @property
    def question(self) -> AskSection:
        return self.side.question

    def case_menu(self, case_row: int, where: QPoint) -> None:
        """What can be done with a case of the library, wherever it is shown."""
        self._parts.case_menu(case_row, where)

    @property
    def built(self) -> bool:
        """Whether nothing is left to build while nobody waits."""
        return self._idle.done

    def _build(self) -> None:
        """All that is seen once a library is open."""
        for part in PARTS:
            getattr(self, part)
        self.arrangement.follow_width()

    # Opening and closing

    def start(self, library: Path | None = None, built: Callable[[], object] = lambda: None) -> None:
        """After the first paint: open ``library`` or the last one and build the rest, then call ``built``."""
        self.context.messages.install_hooks()
        self._idle.add(steps(self, library))
        self._idle.add([built])

    def open_first(self, library: Path | None) -> None:
        """Open ``library`` or the last one, unless a person was faster."""
        chosen = library or self.context.settings.last_library
        if not self._chosen and chosen is not None and (library is not None or chosen.exists()):
            self.open_library(chosen)

    def open_library(self, path: Path) -> None:
        """Open the library at ``path``; for looking only where another window has it."""
        from semblance.app.shell.library_operations import open_library

        self._chosen = True
        open_library(self.context, path.absolute())

    def _bring_in(self, source: Path) -> None:
        from semblance.app.library.library_commands import bring_in

        bring_in(self, source)

    def _show_library(self) -> None:
        there = self.state.library is not None
        thumbnails = MainWindow.thumbnails.built(self)
        if thumbnails is not None:
            thumbnails.clear()
        self._tell_name()
        while self.full.open:
            self.full.leave()
        if there:
            self._build()
        else:
            self.arrangement.keep()
            self.start_page.set_recent(self.context.settings.recent)
        self.pages.setCurrentWidget(self.ranking if there else self.start_page)
        for dock in (MainWindow.docks.built(self) or {}).values():
            dock.setVisible(there and dock.wanted)
        if there:
            self.arrangement.take_keyboard()
            self.arrangement.lay_out_once()
        self.enable()
        self._lock.follow()

    def _tell_name(self) -> None:
        """The library, and the kept search that is open, in the window's title."""
        library, search = self.state.library, self.state.search_name
        parts = [search, library.name if library else "", "Semblance"]
        self.setWindowTitle(" – ".join(part for part in parts if part))

    def closeEvent(self, event: QCloseEvent) -> None:
        settings = self.context.settings
        if self.state.library is not None:
            # The next start begins with another tab than the map.
            self.map_links.give_back()
            self.arrangement.keep()
        settings.set_bytes("geometry", self.saveGeometry())
        settings.last_library = self.state.path
        settings.save()
        self._idle.stop()
        seen, parts = MainWindow.search_view.built(self), MainWindow._parts.built(self)
        if seen is not None:
            seen.keeper.look()
        self.hide()
        if parts is not None:
            parts.finish()
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
        self.docks["side"].bring()
        self.side.show_tab(name)

    # Showing

    def enable(self) -> None:
        """Offer the commands that have now what they need."""
        concepts = MainWindow.concepts.built(self)
        self.actions_.enable(self.state.there | (concepts.there if concepts is not None else set()))

    def show_help(self, page: str) -> None:
        """A help page by its name."""
        self.commands.show_help(page)

    def _show_jobs(self) -> None:
        self.commands.show_jobs()

    def _run(self, command: str) -> None:
        self.commands.run(command)

    def _show_message(self, message: Message) -> None:
        """News without anything to do go to the status line: nothing a person is aiming at may move."""
        if message.level == "info" and not message.hint:
            self.status.tell(message.what)
            return
        self.message_bar.add(message.level, message.what, message.hint, message.details)

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
                self._bring_in(Path(url.toLocalFile()))
                event.acceptProposedAction()
                return
