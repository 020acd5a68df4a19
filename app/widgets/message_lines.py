"""Lines in dialogs and panels that show an error or a warning, and the button that copies an error's details."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from semblance.app.shell.log_folder import versions_text
from semblance.app.shell.theme import set_look
from semblance.app.widgets.labels import ElidedLabel, IconLabel, WrappedLabel
from semblance.app.widgets.layouts import fill, hbox
from semblance.core.errors import SemblanceError
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


class ErrorLine(QWidget):
    """An error's message and hint with *Copy details*; hidden without an error."""

    def __init__(self) -> None:
        super().__init__()
        self._label = WrappedLabel(role="error", selectable=True)
        self._copy_details = CopyDetailsButton()
        fill(hbox(self, spacing=8), (self._label, 1), self._copy_details)
        self.hide()

    @property
    def text(self) -> str:
        """What is shown; empty without an error."""
        return self._label.text()

    def set_error(self, error: SemblanceError | None) -> None:
        """Show ``error``; ``None`` hides the line."""
        self._label.setText("" if error is None else str(error))
        self._copy_details.set_error(error)
        self.setVisible(error is not None)


class WarningLine(QWidget):
    """Hidden while there is no text. ``role``: as for a label."""

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self._label = ElidedLabel(role=role)
        fill(hbox(self, spacing=6), IconLabel("warning", "text", 14), (self._label, 1))
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def show_message(self, text: str, tip: str = "") -> None:
        """Show ``text`` with the tooltip ``tip``; hide the line if it is empty."""
        self._label.setText(text)
        self._label.set_tip(tip)
        self.setAccessibleName(text)
        self.setAccessibleDescription(tip)
        self.setVisible(bool(text))
