"""Creating and opening the demo library."""

from __future__ import annotations

from semblance.app.library.prepare_operations import PreparationView
from semblance.app.shell import library_operations
from semblance.app.shell.context import Context
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows import demo
from semblance.core.workflows.library.prepare_library import Preparation


def open_demo(context: Context) -> None:
    """Open the demo library. If it does not exist, a job creates it, and it is shown while it grows."""
    folder = demo.usual_folder()
    job = context.jobs.run(tr("Making the demo library"), demo.make_demo, folder, channel="demo")
    view = PreparationView(context, folder, job, ())

    def show_part(part: object) -> None:
        # The import and the training report parts too.
        if isinstance(part, Preparation):
            view.show(part)

    def show(library: LibraryLocation) -> None:
        if view.was_opened:
            view.finish(None)
        else:
            library_operations.open_library(context, library)

    job.partial.connect(show_part)
    context.follow(job, show)
