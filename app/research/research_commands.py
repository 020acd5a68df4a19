"""The commands that open the windows of research, such as experiments, reader studies and the test vault."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.widgets.dialog import bring_to_front
from semblance.app.widgets.thumbnail_loader import ThumbnailSource

if TYPE_CHECKING:
    from semblance.app.research.result_dialog import ResultDialog


class ResearchCommands(QObject):
    """``case_requested(case_row)``: show the image of a case · ``help_requested(page)``."""

    case_requested = Signal(int)
    help_requested = Signal(str)

    def __init__(self, context: Context, parent: QWidget, thumbnails: ThumbnailSource) -> None:
        super().__init__(parent)
        self._context, self._parent, self._thumbnails = context, parent, thumbnails
        self.commands: dict[str, Callable[[], object]] = {
            "experiments": self.show_experiments,
            "compare_encoders": self.show_encoders,
            "reader_studies": self.show_reader_studies,
            "agreement": self.show_agreement,
            "changes": self.show_changes,
            "vault": self.show_vault,
            "outcomes": self.show_outcomes,
        }

    def show_experiments(self) -> None:
        """Show the Experiments window. Closing hides it while the experiment runs on."""
        from semblance.app.research.experiments_dialog import ExperimentsDialog

        self._show(ExperimentsDialog, self._thumbnails)

    def show_encoders(self) -> None:
        """Show the comparison of encoders. Closing hides it while it runs."""
        from semblance.app.research.encoders_dialog import EncodersDialog

        self._show(EncodersDialog)

    def show_reader_studies(self) -> None:
        from semblance.app.research.reader_studies_dialog import ReaderStudiesDialog

        self._show(ReaderStudiesDialog, self._thumbnails)

    def show_agreement(self) -> None:
        """Show the agreement between annotators."""
        from semblance.app.research.agreement_dialog import AgreementDialog

        self._show(AgreementDialog)

    def show_changes(self) -> None:
        """Show what changed in patients, compared with other patients."""
        from semblance.app.research.changes_dialog import ChangesDialog

        self._show(ChangesDialog)

    def show_vault(self) -> None:
        """Show the sealed test vault."""
        from semblance.app.research.vault_dialog import VaultDialog

        self._show(VaultDialog)

    def show_outcomes(self) -> None:
        """Show the outcomes of past queries."""
        from semblance.app.research.outcomes_dialog import OutcomesDialog

        self._show(OutcomesDialog)

    def _show(self, kind: type[ResultDialog], *values: object) -> None:
        """Bring the dialog of a ``kind`` to the front, and show in it what the open library has now. It is made with
        ``values`` when it is shown first."""
        dialog = self._parent.findChild(kind)
        if dialog is None:
            dialog = kind(self._context, self._parent, *values)
            dialog.case_requested.connect(self.case_requested)
            dialog.help_requested.connect(partial(self.help_requested.emit, kind.help_page))
        else:
            dialog.load()
        bring_to_front(dialog)
