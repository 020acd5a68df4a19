"""The button that copies the details of an error, wherever an error is shown."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QSizePolicy

from semblance.app.shell.log_folder import versions_text
from semblance.app.shell.theme import set_look
from semblance.core.language import tr
from semblance.core.log import describe_failure


class CopyDetailsButton(QPushButton):
    """Copies details that name no patient and no file, and the installed versions. Hidden without details."""

    def __init__(self, details: str = "") -> None:
        super().__init__(tr("Copy details"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        # Else Enter in a field of a dialog could press it.
        self.setAutoDefault(False)
        set_look(self, link=True)
        self.clicked.connect(self.copy)
        self._details = details
        # Shown without a parent it would be a window for a moment.
        if not details:
            self.hide()

    def set_error(self, error: BaseException | None) -> None:
        """Set the error whose details are copied; ``None`` hides the button."""
        self._details = "" if error is None else describe_failure(error)
        self.setVisible(error is not None)

    def copy(self) -> None:
        """Copy the details to the clipboard."""
        QGuiApplication.clipboard().setText(f"{self._details}\n{versions_text()}")
