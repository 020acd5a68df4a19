"""`semblance`: without arguments it opens the window; with a command it runs that command without Qt."""

from __future__ import annotations

import multiprocessing
import sys

from core.engine import limit_threads

#: Exit status after Ctrl-C.
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    limit_threads()
    try:
        if given:
            from app.cli import run

            return run(given)
        from app.program import open_window

        return open_window()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
