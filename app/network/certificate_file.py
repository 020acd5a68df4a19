"""A field for the file of a certificate or key."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from semblance.app.shell.file_dialogs import choose_file
from semblance.app.widgets.layouts import line_with_buttons
from semblance.core.language import tr


class CertificateFile(QWidget):
    """``line`` has the path, typed or chosen; ``title`` says of what."""

    def __init__(self, title: str, text: str = "", placeholder: str = "") -> None:
        super().__init__()
        self.setAccessibleName(title)
        self.line = QLineEdit(text)
        self.line.setAccessibleName(title)
        self.line.setPlaceholderText(placeholder)
        button = QPushButton(tr("Choose…"))
        button.setAutoDefault(False)
        button.setAccessibleName(tr("Choose {what}", what=title))
        button.clicked.connect(lambda _=False: self._choose(title))
        line_with_buttons(self.line, button, owner=self)

    @property
    def path(self) -> Path | None:
        """The file, ``None`` without one."""
        text = self.line.text().strip()
        return Path(text).expanduser() if text else None

    def _choose(self, title: str) -> None:
        if file := choose_file(self, title, begin=self.line.text()):
            self.line.setText(str(file))
