"""The commands that open the windows of research, such as experiments, reader studies and the test vault."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.widgets.dialog import bring_to_front
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.location import library_location

if TYPE_CHECKING:
    from semblance.app.research.experiments_dialog import ExperimentsDialog
    from semblance.app.research.result_dialog import ResultDialog

_Dialog = TypeVar("_Dialog", bound="ResultDialog")


class ExperimentCommands(QObject):
    """``case_requested(case_row)``: show the image of a case · ``help_requested(page)``."""

    case_requested = Signal(int)
    help_requested = Signal(str)

    def __init__(self, context: Context, parent: QWidget, thumbnails: ThumbnailSource) -> None:
        super().__init__(parent)
        self._context, self._parent, self._thumbnails = context, parent, thumbnails
        self.commands: dict[str, Callable[[], object]] = {
            "experiments": self.show_window,
            "compare_encoders": self.show_encoders,
            "reader_studies": self.show_reader_studies,
            "agreement": self.show_agreement,
            "vault": self.show_vault,
            "outcomes": self.show_outcomes,
        }

    def show_window(self) -> ExperimentsDialog:
        """Open the Experiments window or bring it to the front. Closing hides it while the experiment runs on."""
        from semblance.app.research.experiments_dialog import ExperimentsDialog

        dialog = self._parent.findChild(ExperimentsDialog)
        if dialog is None:
            dialog = ExperimentsDialog(self._context, self._parent)
            dialog.case_requested.connect(partial(self._show_case, dialog))
            dialog.results.preview.set_source(self._thumbnails)
            dialog.help_requested.connect(partial(self.help_requested.emit, "experiments"))
        dialog.form.add_feature_sets(self._context.state.library, self._context.state.features)
        bring_to_front(dialog)
        return dialog

    def show_encoders(self) -> ResultDialog:
        """Open the comparison of encoders or bring it to the front. Closing hides it while it runs."""
        from semblance.app.research.encoders_dialog import EncodersDialog

        return self._open(EncodersDialog)

    def show_reader_studies(self) -> ResultDialog:
        """Open the reader studies or bring them to the front."""
        from semblance.app.research.reader_studies_dialog import ReaderStudiesDialog

        return self._open(
            ReaderStudiesDialog, lambda: ReaderStudiesDialog(self._context, self._thumbnails, self._parent)
        )

    def show_agreement(self) -> ResultDialog:
        """Open the agreement between annotators or bring it to the front."""
        from semblance.app.research.agreement_dialog import AgreementDialog

        dialog = self._open(AgreementDialog)
        dialog.load()
        return dialog

    def show_vault(self) -> ResultDialog:
        """Open the sealed test vault or bring it to the front."""
        from semblance.app.research.vault_dialog import VaultDialog

        return self._open(VaultDialog)

    def show_outcomes(self) -> ResultDialog:
        """Open the outcomes of past queries or bring them to the front."""
        from semblance.app.research.outcomes_dialog import OutcomesDialog

        dialog = self._open(OutcomesDialog)
        dialog.load()
        return dialog

    def _open(self, kind: type[_Dialog], make: Callable[[], _Dialog] | None = None) -> _Dialog:
        """Bring the dialog of a ``kind`` to the front. When it is opened first, it is made with ``make``."""
        dialog = self._parent.findChild(kind)
        if dialog is None:
            dialog = make() if make is not None else kind(self._context, self._parent)
            dialog.case_requested.connect(self.case_requested)
            dialog.help_requested.connect(partial(self.help_requested.emit, kind.help_page))
        bring_to_front(dialog)
        return dialog

    def _show_case(self, dialog: ExperimentsDialog, library: str, row: int) -> None:
        """Show the image of a case of the open library. The dialog is hidden, because it would cover the image."""
        path, messages = self._context.state.path, self._context.messages
        if path is not None and path == library_location(library):
            self.case_requested.emit(row)
            dialog.hide()
            messages.info(tr("Choose Research > Experiments… to go back to the experiment."))
        else:
            messages.info(
                tr("This case is of {name}.", name=library_location(library).name),
                tr("Open that library and click the query again."),
            )
