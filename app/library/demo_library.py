"""Creating and opening the demo library."""

from __future__ import annotations

from pathlib import Path

from semblance.app.shell import library_operations
from semblance.app.shell.context import Context
from semblance.core.language import tr
from semblance.core.workflows import demo


def open_demo(context: Context) -> None:
    """Create the demo library in a job if it does not exist, then open it."""
    folder = demo.usual_folder()
    job = context.jobs.run(tr("Making the demo library"), demo.make_demo, folder, channel="demo")

    def show(library: Path) -> None:
        library_operations.open_library(context, library)

    context.follow(job, show)
