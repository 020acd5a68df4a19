"""The line of a dialog that shows what failed, and what to do."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from semblance.app.widgets.copy_details_button import CopyDetailsButton
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError


class ErrorLine(QWidget):
    """An error's message and hint with *Copy details*; hidden without an error."""

    def __init__(self) -> None:
        super().__init__()
        self._label = WrappedLabel(role="error", selectable=True)
        self._copy_details = CopyDetailsButton()
        row = hbox(self, spacing=8)
        row.addWidget(self._label, 1)
        row.addWidget(self._copy_details)
        self.hide()

    @property
    def text(self) -> str:
        """What is shown; empty without an error."""
        return self._label.text()

    def set_error(self, error: SemblanceError | None) -> None:
        """Show ``error``; ``None`` hides the line."""
        self._label.setText("" if error is None else f"{error.message} {error.hint}".strip())
        self._copy_details.set_error(error)
        self.setVisible(error is not None)
