"""The commands that open the windows of research, such as experiments, reader studies and the test vault."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.widgets.dialog import bring_to_front
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.address import library_path

if TYPE_CHECKING:
    from semblance.app.research.agreement_dialog import AgreementDialog
    from semblance.app.research.encoders_dialog import EncodersDialog
    from semblance.app.research.experiments_dialog import ExperimentsDialog
    from semblance.app.research.outcomes_dialog import OutcomesDialog
    from semblance.app.research.reader_studies_dialog import ReaderStudiesDialog
    from semblance.app.research.vault_dialog import VaultDialog


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

    def show_encoders(self) -> EncodersDialog:
        """Open the comparison of encoders or bring it to the front. Closing hides it while it runs."""
        from semblance.app.research.encoders_dialog import EncodersDialog

        dialog = self._parent.findChild(EncodersDialog)
        if dialog is None:
            dialog = EncodersDialog(self._context, self._parent)
            dialog.help_requested.connect(partial(self.help_requested.emit, "own_encoder"))
        bring_to_front(dialog)
        return dialog

    def show_reader_studies(self) -> ReaderStudiesDialog:
        """Open the reader studies or bring them to the front."""
        from semblance.app.research.reader_studies_dialog import ReaderStudiesDialog

        dialog = self._parent.findChild(ReaderStudiesDialog)
        if dialog is None:
            dialog = ReaderStudiesDialog(self._context, self._thumbnails, self._parent)
            dialog.help_requested.connect(partial(self.help_requested.emit, "reader_study"))
        bring_to_front(dialog)
        return dialog

    def show_agreement(self) -> AgreementDialog:
        """Open the agreement between annotators or bring it to the front."""
        from semblance.app.research.agreement_dialog import AgreementDialog

        dialog = self._parent.findChild(AgreementDialog)
        if dialog is None:
            dialog = AgreementDialog(self._context, self._parent)
            dialog.case_requested.connect(self.case_requested)
            dialog.help_requested.connect(partial(self.help_requested.emit, "agreement"))
        bring_to_front(dialog)
        dialog.load()
        return dialog

    def show_vault(self) -> VaultDialog:
        """Open the sealed test vault or bring it to the front."""
        from semblance.app.research.vault_dialog import VaultDialog

        dialog = self._parent.findChild(VaultDialog)
        if dialog is None:
            dialog = VaultDialog(self._context, self._parent)
            dialog.help_requested.connect(partial(self.help_requested.emit, "vault"))
        bring_to_front(dialog)
        return dialog

    def show_outcomes(self) -> OutcomesDialog:
        """Open the outcomes of past queries or bring them to the front."""
        from semblance.app.research.outcomes_dialog import OutcomesDialog

        dialog = self._parent.findChild(OutcomesDialog)
        if dialog is None:
            dialog = OutcomesDialog(self._context, self._parent)
            dialog.help_requested.connect(partial(self.help_requested.emit, "outcomes"))
        bring_to_front(dialog)
        dialog.load()
        return dialog

    def _show_case(self, dialog: ExperimentsDialog, library: str, row: int) -> None:
        """Show the image of a case of the open library. The dialog is hidden, because it would cover the image."""
        path, messages = self._context.state.path, self._context.messages
        if path is not None and path == library_path(library):
            self.case_requested.emit(row)
            dialog.hide()
            messages.info(tr("Choose Research > Experiments… to go back to the experiment."))
        else:
            messages.info(
                tr("This case is of {name}.", name=Path(library).name),
                tr("Open that library and click the query again."),
            )
