"""The main window: it connects panels, docks and commands, and restores the last session.

After the first paint it builds its parts step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QChildEvent, QEvent, QObject, QSize, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QPushButton, QStackedWidget, QStyle, QTabBar, QToolButton

from semblance.app.library.library_lock import LibraryLock
from semblance.app.metrics.emphasis_slider import EmphasisSlider
from semblance.app.shell.actions import COMMANDS, Actions, available, refused
from semblance.app.shell.context import Context
from semblance.app.shell.drag_signals import drag_signals
from semblance.app.shell.event_loop import IdleQueue
from semblance.app.shell.jobs import Jobs, WorkerPool
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.shell.library_follower import LibraryFollower
from semblance.app.shell.messages import FAILED_SEARCH, Message, Messages
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import Change, WindowState
from semblance.app.shell.theme import theme_signals
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.tab_order import focus_next
from semblance.app.window.message_corner import MessageCorner
from semblance.app.window.preload import (
    LATER_MODULES,
    OPEN_MODULES,
    SHOW_MODULES,
    make_types,
    preload_reading,
    preload_searching,
)
from semblance.app.window.start_page import MAX_RECENT, PREVIEW_PX, PREVIEWS, StartPage
from semblance.app.window.status_line import StatusLine
from semblance.app.window.top_bar import TopBar, make_choice_buttons
from semblance.app.window.window_places import restore_place, save_place
from semblance.app.window.workspaces import WorkspaceChoice
from semblance.core.language import tr, visible
from semblance.core.library.location import LibraryLocation, library_location, library_name
from semblance.core.plugins import broken_plugins
from semblance.core.workflows.library.load_plugins import load_plugins

if TYPE_CHECKING:
    from semblance.app.window.panels import Panels
    from semblance.app.window.parts import WindowParts


#: Attributes of ``WindowParts`` that are shown once a library is open, in the order they are built.
PARTS = (
    "commands",
    "panels.thumbnails",
    "panels.concepts",
    "panels.ranking",
    "panels.library",
    "panels.query",
    "panels.side",
    "panels.evaluation",
    "layout.docks",
    "case_links",
    "search_view",
)

#: Button of a mouse -> its command.
_MOUSE_BUTTONS = {Qt.MouseButton.BackButton: "previous_query", Qt.MouseButton.ForwardButton: "next_query"}
MINIMUM = (1024, 640)
DEFAULT_SIZE = (1440, 900)


def startup_steps(
    jobs: Jobs,
    open_library: Callable[[], object],
    build: Callable[[str], object],
    built: Callable[[], object],
    plugins_loaded: Callable[[], object],
) -> Iterator[Callable[[], object]]:
    """Open a library, ``build`` each of :data:`PARTS`, call ``built``, and preload what will be used later."""
    # The other processes work while the rest of the window is built.
    yield partial(jobs.preload, WorkerPool.READ, preload_reading)
    yield partial(jobs.import_in_thread, OPEN_MODULES, load_plugins, plugins_loaded)
    yield open_library
    yield from (partial(make_types, f"PySide6.{name}") for name in ("QtCore", "QtGui", "QtWidgets"))
    yield from (partial(import_module, name) for name in SHOW_MODULES)
    yield from (partial(build, part) for part in PARTS)
    yield built
    yield partial(jobs.preload, WorkerPool.SEARCH, preload_searching)
    yield from (partial(import_module, name) for name in LATER_MODULES)
    # It takes longest of what is first shown by a click.
    yield partial(build, "panels.side.train")


class MainWindow(QMainWindow):
    """One window on one library."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Semblance")
        self.setMinimumSize(*MINIMUM)
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        settings = settings or Settings()
        self.context = Context(
            WindowState(self), Jobs(self), Messages(self), settings, Actions(self, settings)
        )
        self.state, self.jobs = self.context.state, self.context.jobs
        self.state.change_search(**self.context.settings.search_options)
        self._lock = LibraryLock(self.context)
        self._follower = LibraryFollower(self.context, self)
        self._idle_queue = IdleQueue(self)
        #: Whether all parts are built, and what waits for it.
        self._has_parts = False
        self._waiting: Callable[[], None] | None = None
        self._make_centre()
        self.workspaces = WorkspaceChoice(self.context.settings, self)
        self.top = TopBar(
            self.context.actions,
            make_choice_buttons(self.context),
            EmphasisSlider(self.context),
            self.workspaces,
        )
        self.setMenuWidget(self.top)
        self._connect()
        self.resize(*DEFAULT_SIZE)
        self._restore()
        self._show_library()

    def _report_broken_plugins(self) -> None:
        for broken in broken_plugins():
            self.context.messages.warning(
                broken.message,
                tr("The other plug-ins, and all that Semblance has itself, work."),
                topic="plugins",
            )

    # Making

    def _make_centre(self) -> None:
        self.start_page = StartPage(self.context.actions)
        self.pages = QStackedWidget()
        #: In place of the start page while the first library is opened.
        self.opening_page = Panel()
        self._opening = EmptyState()
        vbox(self.opening_page).addWidget(self._opening)
        self.pages.addWidget(self.start_page)
        self.pages.addWidget(self.opening_page)
        self.setCentralWidget(self.pages)
        self.status = StatusLine(self.context)
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        bar.addWidget(self.status, 1)
        self.message_corner = MessageCorner(self, bar)

    def _connect(self) -> None:
        for command in COMMANDS:
            self.context.actions.connect_to(command.id, partial(self._run, command.id))
        state, page = self.state, self.start_page
        state.on_change(Change.LIBRARY, self, self._show_library)
        state.on_change(
            Change.CASES
            | Change.METRIC
            | Change.QUERY
            | Change.RANKING
            | Change.TRAINING
            | Change.SEARCH
            | Change.REFUSAL,
            self,
            self.enable,
        )
        state.on_change(Change.NAME, self, self._update_title)
        state.on_change(Change.QUERY, self, partial(self.message_corner.close_topic, FAILED_SEARCH))
        theme_signals.changed.connect(self._follow_size)
        self.context.messages.shown.connect(self._show_message)
        self.context.messages.outdated.connect(self.message_corner.close_topic)
        self.status.unreadable_files_requested.connect(self.context.actions["not_read"].trigger)
        self.status.jobs_requested.connect(self._show_jobs)
        self.status.messages_requested.connect(self.message_corner.toggle_past)
        self.message_corner.changed.connect(
            lambda: self.status.show_unread_messages(self.message_corner.unread)
        )
        page.demo_requested.connect(self.context.actions["demo"].trigger)
        for changed in (self.jobs.added, self.jobs.removed):
            changed.connect(lambda _job: page.show_demo_made(is_made=self.jobs.is_running("demo")))
        page.new_requested.connect(self.context.actions["new_library_folder"].trigger)
        page.file_requested.connect(self.context.actions["new_library"].trigger)
        page.open_requested.connect(self.context.actions["open_library"].trigger)
        page.server_requested.connect(self.context.actions["open_server"].trigger)
        page.recent_requested.connect(lambda path: self.open_library(library_location(path)))
        page.forget_requested.connect(self._forget_recent)
        page.dropped.connect(lambda path: self._open_dropped(Path(path)))
        page.glossary_requested.connect(self.context.actions["words"].trigger)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return focus_next(self, forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Also from the top bar, which Tab reaches from a page on the whole window.
        if event.key() == Qt.Key.Key_Escape and self._is_full_page_open:
            self.parts.full.leave()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            # Qt presses buttons by Enter only in dialogs.
            button = self.focusWidget()
            if isinstance(button, QPushButton | QToolButton):
                button.click()
        elif (
            self._is_full_page_open
            and (page := self.pages.currentWidget()) is not None
            and not self.pages.isAncestorOf(self.focusWidget())
        ):
            # The keys of the page work from the top bar and the status line too.
            page.keyPressEvent(event)
        elif _is_letter(event) and MainWindow.parts.built(self) is not None and not self._is_full_page_open:
            # Keys of images, as for a window or a tool, are those of the query wherever no list has a use for them.
            self.panels.query.view.press_key(event)
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Widgets take the presses of all buttons for themselves.
        self.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The buttons of a mouse with which one goes back and forward."""
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            assert isinstance(event, QMouseEvent)
            command = _MOUSE_BUTTONS.get(event.button())
            if command is not None:
                self.context.actions[command].trigger()
                return True
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._follow_size()

    def _follow_size(self) -> None:
        parts = MainWindow.parts.built(self)
        if parts is not None:
            parts.layout.follow_size()

    @property
    def _is_full_page_open(self) -> bool:
        parts = MainWindow.parts.built(self)
        return parts is not None and parts.full.open

    # The parts for a library: built on first use, or while the program is idle

    @lazy_part
    def parts(self) -> WindowParts:
        """The panels, docks, pages and commands."""
        from semblance.app.window.parts import WindowParts

        parts = WindowParts(self.context, self, self.pages, self.top, self.workspaces)
        parts.panels.concepts_changed.connect(self.enable)
        return parts

    @property
    def panels(self) -> Panels:
        return self.parts.panels

    @property
    def built(self) -> bool:
        """Whether everything is built that is built in idle time."""
        return self._idle_queue.done

    def _build_part(self, part: str) -> None:
        self.parts.build(part)

    def _build(self) -> None:
        """Everything that is shown once a library is open."""
        for part in PARTS:
            self._build_part(part)
        self.parts.layout.follow_size()

    # Opening and closing

    def start(
        self, library: LibraryLocation | None = None, built: Callable[[], object] = lambda: None
    ) -> None:
        """Open ``library`` or the last one after the first paint, build the rest, then call ``built``."""
        self.context.messages.install_hooks()
        open_first = partial(self.open_first, library)
        if (first := self._first_library(library)) is not None:
            self._show_opening(first)
        self._idle_queue.add(
            startup_steps(
                self.jobs, open_first, self._build_part, self._show_waiting, self._report_broken_plugins
            )
        )
        self._idle_queue.add([built, self._load_previews])

    def open_first(self, library: LibraryLocation | None) -> None:
        """Open ``library`` or the last one, unless the user already opened another. It is shown once all is built."""
        chosen = self._first_library(library)
        if self.state.opening is None and chosen is not None:
            self.open_library(chosen, self._show_when_built)

    def _first_library(self, library: LibraryLocation | None) -> LibraryLocation | None:
        """``library``, or the last one if it is still there."""
        last = self.context.settings.last_library
        if library is not None or last is None:
            return library
        return None if isinstance(last, Path) and not last.exists() else last

    def open_library(
        self, path: LibraryLocation, when: Callable[[Callable[[], None]], None] | None = None
    ) -> None:
        """Open the library at ``path``, read-only if another window has it open. ``when`` calls what shows it."""
        from semblance.app.shell.library_operations import open_library

        job = open_library(self.context, path.absolute(), when=when)
        if self.state.library is None:
            self._show_opening(path)
            for given_up in (job.failed, job.cancelled):
                given_up.connect(self._show_start)

    def _show_opening(self, path: LibraryLocation) -> None:
        name = visible(library_name(path))
        self._opening.show_message(
            tr("Opening {name}", name=name), tr("The cases are shown as soon as they are read.")
        )
        self.pages.setCurrentWidget(self.opening_page)

    def _show_start(self) -> None:
        """Show the start page again after a library was not opened."""
        if self.state.library is None:
            self.pages.setCurrentWidget(self.start_page)

    def _show_when_built(self, show: Callable[[], None]) -> None:
        """Call ``show`` when the parts have been built, each in its own turn of the event loop."""
        if self._has_parts:
            show()
        else:
            self._waiting = show

    def _show_waiting(self) -> None:
        self._has_parts = True
        show, self._waiting = self._waiting, None
        if show is not None:
            show()

    def _load_previews(self) -> None:
        """Show images of the recent libraries, unless one is open or being opened."""
        recent = self.context.settings.recent
        if self.state.opening is not None or not recent:
            return
        from semblance.app.shell.library_operations import load_previews

        load_previews(self.context, recent[:MAX_RECENT], PREVIEWS, PREVIEW_PX, self.start_page.show_previews)

    def _forget_recent(self, path: str) -> None:
        """Remove a library from the list of recent ones."""
        self.context.settings.forget_recent(library_location(path))
        self.start_page.set_recent(self.context.settings.recent_facts)
        self._load_previews()

    def _open_dropped(self, source: Path) -> None:
        self.parts.commands.library.open_dropped(source)

    def _show_library(self) -> None:
        is_open = self.state.library is not None
        parts = MainWindow.parts.built(self)
        if parts is not None:
            parts.panels.forget_thumbnails()
        self._update_title()
        self.message_corner.close_other_libraries(self.state.location)
        if parts is not None:
            parts.full.leave_all()
            parts.full.close_windows()
        if is_open:
            self._build()
            parts = self.parts
        else:
            if parts is not None:
                parts.layout.save()
            self.start_page.set_recent(self.context.settings.recent_facts)
            if parts is not None:
                self._load_previews()
        self.pages.setCurrentWidget(self.panels.ranking if is_open else self.start_page)
        if parts is not None:
            parts.layout.show_docks(is_open)
        if parts is not None and is_open:
            parts.layout.take_focus()
            parts.layout.restore_once()
        self.enable()
        self._lock.update()

    def _update_title(self) -> None:
        """Show the names of the library and of the saved search in the title."""
        library, search = self.state.library, self.state.search_name
        parts = [search, library.name if library else "", "Semblance"]
        self.setWindowTitle(visible(" – ".join(part for part in parts if part)))

    def closeEvent(self, event: QCloseEvent) -> None:
        settings = self.context.settings
        if self.state.library is not None:
            # The next start does not show the map.
            self.parts.case_links.restore_dock()
            self.parts.layout.save()
        save_place(settings, "geometry", self)
        settings.last_library = self.state.location
        settings.save()
        self._idle_queue.stop()
        parts = MainWindow.parts.built(self)
        if parts is not None:
            parts.record_view()
        if parts is not None:
            parts.full.close_windows()
        self.hide()
        if parts is not None:
            parts.save_before_end()
        self.jobs.shutdown()
        self.context.messages.remove_hooks()
        self._lock.release()
        super().closeEvent(event)

    def _restore(self) -> None:
        restore_place(self.context.settings, "geometry", self)

    def fit(self, available: QSize) -> None:
        """Fill a screen of which less than the window's size is free."""
        # A frame with its title comes on top of the window's own size.
        frame = QSize(0, self.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight))
        size = self.size().boundedTo(available - frame)
        if size != self.size():
            self.resize(size)
            self.setWindowState(self.windowState() | Qt.WindowState.WindowMaximized)

    # Showing

    def enable(self) -> None:
        """Enable the commands whose conditions are met."""
        parts = MainWindow.parts.built(self)
        conditions = parts.panels.concept_conditions if parts is not None else set()
        self.context.actions.enable(available(self.state) | conditions, refused(self.state))

    def _show_jobs(self) -> None:
        self.parts.commands.show_jobs()

    def _run(self, command: str) -> None:
        if command == "close_messages":
            self.message_corner.clear()
        elif command == "go_messages":
            self.message_corner.take_focus()
        else:
            self.parts.commands.run(command)

    def _show_message(self, message: Message) -> None:
        """Show a message in the corner. Information without a hint goes to the status line, and into the list."""
        message = replace(message, library=message.library or self.state.location)
        is_line = message.level == "info" and not message.hint and not message.actions
        if is_line:
            self.status.show_message(message.what)
        self.message_corner.show_message(message, is_open=not is_line)

    def childEvent(self, event: QChildEvent) -> None:
        """Name the bars that Qt makes where several docks lie in one place."""
        super().childEvent(event)
        child = event.child()
        if event.polished() and isinstance(child, QTabBar):
            child.setAccessibleName(tr("Panels in the same place"))

    # Dropping

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self.start_page.set_dragging(True)
            drag_signals.changed.emit(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.start_page.set_dragging(False)
        drag_signals.changed.emit(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.start_page.set_dragging(False)
        drag_signals.changed.emit(False)
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self._open_dropped(Path(url.toLocalFile()))
                event.acceptProposedAction()
                return


def _is_letter(event: QKeyEvent) -> bool:
    """Whether a letter, a digit or a sign was pressed."""
    held = event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    return not held and event.text().isprintable() and bool(event.text().strip())
