"""The program ``semblance``.

Without arguments it opens the window, with a library the window on that library; a command runs without Qt.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.engine import limit_threads
from semblance.core.plugins import ALL, OFF_VARIABLE

if TYPE_CHECKING:
    from semblance.core.library.location import LibraryLocation

#: Exit statuses: something could not be done; Ctrl-C.
FAILED, INTERRUPTED = 1, 130
NO_PLUGINS = "--no-plugins"
NO_DISPLAY = (
    "There is no display to open the window on. Start it in a desktop session; the commands need none: "
    "see `semblance --help`.\n"
)


def _named_library(given: list[str]) -> LibraryLocation | None:
    """The library given instead of a command, as a desktop does to open one with Semblance.

    A desktop may give any folder by its full path. The window shows an error if it is not a library.
    """
    if len(given) != 1:
        return None
    if re.match(r"(?i)postgres(ql)?://", given[0]):
        from semblance.core.library.location import server_address

        return server_address(given[0])
    path = Path(given[0])
    opened = (path / "catalogue.sqlite").is_file() or (
        _has_display() and path.is_absolute() and path.is_dir()
    )
    return path if opened else None


def _has_display() -> bool:
    """Whether a window can be opened, by the environment variables, because Qt aborts if it cannot."""
    names = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def _report_missing_package(error: ModuleNotFoundError) -> int:
    """Print what to install. A missing module of Semblance itself is a defect and raised again."""
    from semblance.app.cli.missing_package import missing_package

    message = missing_package(error)
    if not message:
        raise error
    sys.stderr.write(f"{message}\n")
    return FAILED


def main(arguments: list[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if NO_PLUGINS in given and len(given) <= 2:
        # The window, or the window on a library, which are no commands.
        os.environ[OFF_VARIABLE] = ALL
        given = [one for one in given if one != NO_PLUGINS]
    limit_threads()
    try:
        library = _named_library(given)
        if library is None and (given or "_SEMBLANCE_COMPLETE" in os.environ):
            from semblance.app.cli.main import run

            return run(given)
        if not _has_display():
            sys.stderr.write(NO_DISPLAY)
            return 1
        try:
            from semblance.app.open_window import open_window

            return open_window(library)
        except ModuleNotFoundError as error:
            return _report_missing_package(error)
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
