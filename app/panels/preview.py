"""One panel alone in a window of its own, to look at: ``python -m semblance.app.panels.query.panel --image FILE``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.context import Context
from semblance.app.jobs import Jobs
from semblance.app.messages import Messages
from semblance.app.operations import library, searching
from semblance.app.settings import Settings
from semblance.app.state import State
from semblance.app.theme import set_theme
from semblance.app.widgets import focus_ring
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query


def preview(make: Callable[[Context], QWidget], width: int, height: int) -> None:
    """Show ``make(context)`` until its window is closed. ``--save`` takes an image of it instead."""
    parser = argparse.ArgumentParser(description="Show one panel alone.")
    parser.add_argument("--library", type=Path, help="a library to open")
    parser.add_argument("--image", type=Path, help="an image to search with")
    parser.add_argument("--case", help="a case of the library to search with")
    parser.add_argument("--region", type=Region.parse, help="search with this part: x,y,width,height")
    parser.add_argument("--light", action="store_true", help="the light theme")
    parser.add_argument("--save", type=Path, help="write what is shown to this PNG and end")
    given = parser.parse_args()

    app = QApplication([])
    set_theme(app, "light" if given.light else "dark")
    ring = focus_ring.install(app)
    context = Context(State(), Jobs(), Messages(), Settings())
    panel = make(context)
    panel.resize(width, height)
    panel.show()

    def ask() -> None:
        if given.image or given.case:
            searching.ask(context, Query(given.case, given.image, given.region))

    if given.library:
        library.open_library(context, given.library, then=ask)
    else:
        ask()
    if given.save:
        while context.jobs.active:
            app.processEvents()
        app.processEvents()
        panel.grab().save(str(given.save))
    else:
        app.exec()
    context.jobs.shutdown()
    ring.deleteLater()
