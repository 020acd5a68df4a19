"""Open the window and run until it is closed, with as little work as possible before the first paint."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.engine import WORKERS_VARIABLE
from semblance.core.library.location import LibraryLocation
from semblance.core.limits import MEMORY_VARIABLE
from semblance.core.log import VARIABLE as LOG_VARIABLE
from semblance.core.log import logger, start_log, stop_log

if TYPE_CHECKING:
    from semblance.app.shell.settings import Settings

#: Threads of the engine release the interpreter after this time, so that the window never waits long for it.
SWITCH_INTERVAL_S = 0.001


#: What Qt's plug-in for X displays needs and Qt does not bring along, with the packages of Debian and of Fedora.
_X_LIBRARIES = {
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-render-util.so.0": ("libxcb-render-util0", "xcb-util-renderutil"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11"),
}
_MISSING_LIBRARIES = (
    "The window cannot be opened because system libraries are missing: {libraries}. Install them with\n"
    "    sudo apt install {debian}        (Debian, Ubuntu)\n"
    "    sudo dnf install {fedora}        (Fedora)\n"
)

#: Setting -> the environment variable that it sets, unless the user has set the variable.
_VARIABLES = {"workers": WORKERS_VARIABLE, "memory_mb": MEMORY_VARIABLE}


def apply_settings(settings: Settings) -> None:
    """Set the environment variables that correspond to the settings, for this process and its workers."""
    for key, variable in _VARIABLES.items():
        number = settings.number(key)
        if number is not None and number >= 1:
            os.environ.setdefault(variable, f"{number:.0f}")
    if settings.flag("detailed_log", default=False):
        os.environ.setdefault(LOG_VARIABLE, "debug")


def missing_libraries() -> list[str]:
    """The libraries that Qt lacks to open a window on an X display. Qt itself would abort."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    needs_them = platform == "xcb" or (not platform and not os.environ.get("WAYLAND_DISPLAY"))
    if sys.platform != "linux" or not needs_them:
        return []
    return [library for library in _X_LIBRARIES if not _can_load(library)]


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def freeze_garbage_collector() -> None:
    """Exclude the objects that exist now, such as the window, from Python's garbage collection.

    Otherwise every collection would search them, which blocks all threads for 50 ms.
    """
    gc.freeze()


def open_window(library: LibraryLocation | None = None) -> int:
    """Show the window on ``library`` (or the one left open last) and run until it is closed."""
    missing = missing_libraries()
    if missing:
        debian, fedora = (
            " ".join(names) for names in zip(*map(_X_LIBRARIES.__getitem__, missing), strict=True)
        )
        text = _MISSING_LIBRARIES.format(libraries=", ".join(missing), debian=debian, fedora=fedora)
        sys.stderr.write(text)
        return 1
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    from semblance.app.shell.settings import Settings

    settings = Settings()
    apply_settings(settings)
    start_log()
    logger.info("the window starts")
    from semblance.app.application import Application, make_application

    application = make_application()
    # Modules with texts come after the language is chosen.
    from semblance.app.application import INTERRUPTED, Interrupt
    from semblance.app.window.main_window import MainWindow
    from semblance.core.imaging.memory import return_freed_blocks

    return_freed_blocks()
    window = MainWindow(settings)
    window.fit(window.screen().availableGeometry().size())
    window.show()
    window.start(library, freeze_garbage_collector)
    if isinstance(application, Application):
        application.open_requested.connect(lambda path: window.open_library(Path(path)))
    interrupt = Interrupt(window.close)
    try:
        status = application.exec()
        return INTERRUPTED if interrupt.received else status
    finally:
        stop_log()
