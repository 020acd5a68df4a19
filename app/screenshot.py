"""A screenshot of the window when all its jobs are done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractAnimation,
    QCoreApplication,
    QElapsedTimer,
    QEventLoop,
    QObject,
    QThread,
    QTimer,
)

from semblance.app.application import make_application
from semblance.app.shell.settings import Settings
from semblance.app.shell.theme import is_styled, set_theme
from semblance.core.errors import SemblanceError
from semblance.core.files import replacing
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.query import Query

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

#: Longest wait for the library, its ranking, thumbnails and plots.
PATIENCE_MS = 300_000
#: The window is idle when nothing was pending at so many checks at which no event waited: Qt has short timers of its
#: own. They are counted, not timed, because on a busy machine handling one event can take as long.
IDLE_CHECKS = 4
#: Interval at which the event loop is checked.
IDLE_MS = 5
#: A delayed call within this time is waited for. Later ones only remove a message, for example.
LONGEST_DELAY_MS = 500


def image_of_window(
    library: LibraryLocation,
    query: Query | None,
    file: Path,
    *,
    size: tuple[int, int] = (1440, 900),
    theme: str = "dark",
    scale: float = 1.0,
    workspace: str = "read",
    command: str = "",
    settings: Settings | None = None,
) -> None:
    """Open the window on ``library``, ask ``query``, wait until nothing moves, and save it as ``file``.

    ``workspace``: "read" or "research". ``command``: run on the second of the similar cases.

    ``settings`` are left as they were: nothing of this is remembered unless given.

    Raises:
        SemblanceError: jobs are still running after PATIENCE_MS, or the file cannot be written.
    """
    application = make_application()
    # Modules with texts come after the language is chosen.
    from semblance.app.shell import search_operations
    from semblance.app.window.main_window import MainWindow

    set_theme(application, theme, scale)
    window = MainWindow(settings or temporary_settings())
    window.workspaces.choose(workspace)
    window.resize(*size)
    window.show()
    window.start(library)
    try:
        wait_until_idle(window)
        if query is not None:
            search_operations.submit_query(window.context, query)
            wait_until_idle(window)
        if command:
            grid = window.panels.ranking.grid
            grid.set_current(grid.model().case_row(1))
            window.context.actions[command].trigger()
            wait_until_idle(window)
            # The first paint requests the thumbnails.
            window.grab()
            wait_until_idle(window)
        with replacing(file, durable=False, private=False) as temporary:
            if not window.grab().save(str(temporary), "PNG"):
                raise SemblanceError(f"{file} cannot be written.", "Choose a folder you may write to.")
    finally:
        window.close()
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, 0)
        application.processEvents()


def wait_until_idle(window: object) -> None:
    """Run the event loop until no job, delayed call, animation, or change of theme of ``window`` is pending.

    Raises:
        SemblanceError: jobs are still running after PATIENCE_MS.
    """
    from semblance.app.window.main_window import MainWindow

    assert isinstance(window, MainWindow)
    whole = QElapsedTimer()
    whole.start()
    idle_checks = 0
    while idle_checks < IDLE_CHECKS or _delayed_work(window):
        if idle_checks >= IDLE_CHECKS or window.jobs.active or not window.built or not is_styled():
            idle_checks = 0
        if not process_events():
            idle_checks += 1
        if whole.elapsed() > PATIENCE_MS:
            pending = [job.function for job in window.jobs.active]
            pending += map(repr, _delayed_work(window))
            raise SemblanceError(f"The window did not come to rest: {', '.join(pending)}.", "Try it again.")


def _delayed_work(window: MainWindow) -> list[QObject]:
    """The delayed calls and animations that are pending."""
    timers = [
        timer
        for timer in window.findChildren(QTimer)
        if timer.isActive() and timer.isSingleShot() and timer.interval() <= LONGEST_DELAY_MS
    ]
    animations = [
        animation
        for animation in window.findChildren(QAbstractAnimation)
        # An endless animation shows that a job is running.
        if animation.state() == QAbstractAnimation.State.Running and animation.loopCount() > 0
    ]
    return [*timers, *animations]


def process_events() -> bool:
    """Process pending events, or sleep for a moment if there are none; returns whether there were any."""
    had_events = QEventLoop().processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
    if not had_events:
        QThread.msleep(IDLE_MS)
    return had_events


def temporary_settings() -> Settings:
    """Settings in a temporary file."""
    import tempfile

    from PySide6.QtCore import QSettings

    folder = tempfile.mkdtemp(prefix="semblance-")
    return Settings(QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat))
