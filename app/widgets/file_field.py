"""A field for a file path, typed or chosen in a dialog."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.theme import theme
from semblance.app.widgets.layouts import hbox
from semblance.core.errors import BadArguments
from semblance.core.language import tr, tr_name
from semblance.core.parameters import Parameter, Value


class FileField(QWidget):
    """Edits the path of ``parameter``. ``edited``: the user changed it."""

    edited = Signal()

    def __init__(self, parameter: Parameter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parameter = parameter
        self.line = QLineEdit(str(parameter.default))
        self.line.setFixedWidth(theme().px(192))
        self.line.textEdited.connect(self.edited)
        self.button = QPushButton(tr("Choose …"))
        self.button.setAccessibleName(tr("Choose {what}", what=tr_name(parameter.title)))
        self.button.clicked.connect(self._choose)
        row = hbox(self, spacing=8)
        row.addWidget(self.line)
        row.addWidget(self.button)
        self.setFocusProxy(self.line)

    def value(self) -> Value:
        """The path as written.

        Raises:
            BadArguments: there is no such file; the hint says what to do.
        """
        text = self.line.text().strip()
        if not Path(text).expanduser().is_file():
            message = (
                tr("There is no file '{text}'.", text=text)
                if text
                else tr("No {what} is chosen.", what=tr_name(self._parameter.title))
            )
            raise BadArguments(message, tr("Choose a file ({pattern}).", pattern=self._parameter.file))
        return self._parameter.check(text)

    def set_value(self, value: Value) -> None:
        self.line.setText(str(value))

    def _choose(self) -> None:
        title, pattern = tr_name(self._parameter.title), self._parameter.file
        begin = str(Path(self.line.text()).expanduser().parent) if self.line.text() else ""
        kinds = f"{title} ({pattern});;{tr('All files')} (*)"
        if file := choose_file(self, title, kinds, begin=begin):
            self.set_value(str(file))
            self.edited.emit()
