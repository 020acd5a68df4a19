"""The commands that open the pages of research, such as experiments, reader studies and the test vault."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.widgets.thumbnail_loader import ThumbnailSource

if TYPE_CHECKING:
    from semblance.app.research.result_page import ResultPage


class ResearchCommands(QObject):
    """``page_requested(name, page)``: show a page on the whole window; its help page has the same name ·
    ``case_requested(case_row)``: show the image of a case."""

    page_requested = Signal(str, object)
    case_requested = Signal(int)

    def __init__(self, context: Context, parent: QWidget, thumbnails: ThumbnailSource) -> None:
        super().__init__(parent)
        self._context, self._thumbnails = context, thumbnails
        self._pages: dict[type[ResultPage], ResultPage] = {}
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
        """Show the experiments. One that runs goes on when the page is left."""
        from semblance.app.research.experiments_page import ExperimentsPage

        self._show(ExperimentsPage, self._thumbnails)

    def show_encoders(self) -> None:
        """Show the comparison of encoders."""
        from semblance.app.research.encoders_page import EncodersPage

        self._show(EncodersPage)

    def show_reader_studies(self) -> None:
        from semblance.app.research.reader_studies_page import ReaderStudiesPage

        self._show(ReaderStudiesPage, self._thumbnails)

    def show_agreement(self) -> None:
        """Show the agreement between annotators."""
        from semblance.app.research.agreement_page import AgreementPage

        self._show(AgreementPage)

    def show_changes(self) -> None:
        """Show what changed in patients, compared with other patients."""
        from semblance.app.research.changes_page import ChangesPage

        self._show(ChangesPage)

    def show_vault(self) -> None:
        """Show the sealed test vault."""
        from semblance.app.research.vault_page import VaultPage

        self._show(VaultPage)

    def show_outcomes(self) -> None:
        """Show the outcomes of past queries."""
        from semblance.app.research.outcomes_page import OutcomesPage

        self._show(OutcomesPage)

    def _show(self, kind: type[ResultPage], *values: object) -> None:
        """Show the page of a ``kind`` with what the open library has now. It is made with ``values`` when it is shown
        first."""
        page = self._pages.get(kind)
        if page is None:
            page = self._pages[kind] = kind(self._context, *values)
            page.case_requested.connect(self.case_requested)
        else:
            page.load()
        self.page_requested.emit(kind.help_page, page)
