"""The Experiments window of a main window: one, opened beside it, whose cases are shown in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.research.experiments_dialog import ExperimentsDialog
    from semblance.app.window.main_window import MainWindow


def show(window: MainWindow) -> ExperimentsDialog:
    """Open it, or bring it to the front; closed it is only hidden, and what it measures goes on."""
    from semblance.app.research.experiments_dialog import ExperimentsDialog

    there = window.findChild(ExperimentsDialog)
    if there is None:
        there = ExperimentsDialog(window.context, window)
        there.case_wanted.connect(lambda library, row: _show_case(window, there, Path(library), row))
        there.results.preview.set_source(window.thumbnails)
        there.help_wanted.connect(lambda: window.commands.show_help("experiments"))
    there.form.offer(window.state.library, window.state.features)
    there.show()
    there.raise_()
    there.activateWindow()
    return there


def _show_case(window: MainWindow, dialog: ExperimentsDialog, library: Path, row: int) -> None:
    """The image of a case, where its library is the open one; the dialog would lie on top of it."""
    if window.state.path is not None and window.state.path == library:
        window.full.look_at_case(row)
        dialog.hide()
        window.context.messages.info(tr("The experiment is where it was: Metric > Experiments…"))
    else:
        window.context.messages.info(
            tr("This case is of {name}.", name=library.name),
            tr("Open that library to see its image; then click it again."),
        )
