"""`semblance`: without arguments it opens the window, with a library the window on it; with a command it runs
that command without Qt."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

from semblance.core.engine import limit_threads

#: Exit status after Ctrl-C.
INTERRUPTED = 130
NO_DISPLAY = (
    "There is no display to open the window on. Start it in a desktop session; the commands need none: "
    "see `semblance --help`.\n"
)


def _library(given: list[str]) -> Path | None:
    """The library that is named instead of a command, as a desktop does when one is opened with Semblance.

    A desktop may name any folder, by its full path: the window says where it is no library.
    """
    if len(given) != 1:
        return None
    path = Path(given[0])
    opened = (path / "catalogue.sqlite").is_file() or (_display() and path.is_absolute() and path.is_dir())
    return path if opened else None


def _display() -> bool:
    """Whether a window can be opened, as far as the environment tells: Qt aborts where it cannot."""
    told = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform != "linux" or any(os.environ.get(name) for name in told)


def main(arguments: list[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    limit_threads()
    try:
        library = _library(given)
        if library is None and (given or "_SEMBLANCE_COMPLETE" in os.environ):
            from semblance.app.cli.main import run

            return run(given)
        if not _display():
            sys.stderr.write(NO_DISPLAY)
            return 1
        from semblance.app.program import open_window

        return open_window(library)
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
