"""The demo library: made once, in the background, then opened."""

from __future__ import annotations

from pathlib import Path

from semblance.app.shell import library_operations
from semblance.app.shell.context import Context
from semblance.core.language import tr
from semblance.core.workflows import demo


def open_demo(context: Context) -> None:
    """Make the demo library where it is not there yet, and show it."""
    folder = demo.usual_folder()
    job = context.jobs.run(tr("Making the demo library"), demo.make_demo, folder, channel="demo")

    def show(made: Path) -> None:
        library_operations.open_library(context, made)

    context.follow(job, show)
