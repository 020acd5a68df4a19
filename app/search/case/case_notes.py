"""What the user notes on a ranked case, and whether the report shows the case on its first page."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit

from semblance.app.shell.state import Change, State
from semblance.core.language import tr


class CaseNotes(QPlainTextEdit):
    """The notes on one case. ``in_report``: the checkable button that chooses the case for the report."""

    def __init__(self, state: State, in_report: QAbstractButton) -> None:
        super().__init__()
        self._state, self._in_report = state, in_report
        self._case: str | None = None
        self.setAccessibleName(tr("Notes on this case for the report"))
        self.setPlaceholderText(tr("printed on the first page of the report"))
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._keep)
        in_report.toggled.connect(self._choose)
        state.on_change(Change.REPORT, self, self._refresh)

    def show_case(self, case: str | None) -> None:
        """Show what was noted on the case with this id."""
        self._case = case
        self._refresh()

    def _refresh(self) -> None:
        if self._case is None:
            return
        note = self._state.note(self._case)
        with QSignalBlocker(self._in_report):
            self._in_report.setChecked(self._state.is_in_report(self._case))
        # Spaces at the end may be followed by another word.
        if self.toPlainText().strip() != note:
            with QSignalBlocker(self):
                self.setPlainText(note)

    def _keep(self) -> None:
        if self._case is not None:
            self._state.set_note(self._case, self.toPlainText().strip())

    def _choose(self, on: bool) -> None:
        if self._case is not None:
            self._state.set_in_report(self._case, on)
