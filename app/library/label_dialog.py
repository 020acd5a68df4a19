"""The dialog that asks for a finding or a patient of cases."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCompleter, QLabel, QLineEdit, QPushButton, QWidget

from semblance.app.widgets.dialog import accept_button, cancel_button, dialog_layout, widen
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel


class LabelDialog(Dialog):
    """A field that proposes known names, a button that removes the label, and a line on what becomes out of date."""

    def __init__(
        self,
        title: str,
        prompt: str,
        known: Sequence[str],
        value: str,
        note: str,
        removal: str,
        parent: QWidget | None = None,
    ) -> None:
        """``value``: what all cases have; ``removal``: the text of the button that removes the label."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self._removed = False
        label = QLabel(prompt)
        self.field = QLineEdit(value)
        self.field.setAccessibleName(prompt)
        self.field.selectAll()
        label.setBuddy(self.field)
        completer = QCompleter(list(known), self.field)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.field.setCompleter(completer)
        self.remove_button = QPushButton(removal)
        self.remove_button.clicked.connect(self._remove)
        self.accept_button = accept_button(title.rstrip("…"))
        self.accept_button.clicked.connect(self.accept)
        self.field.textChanged.connect(self._check)
        layout = dialog_layout(self)
        layout.addWidget(label)
        layout.addWidget(self.field)
        if note:
            line = WrappedLabel(note, role="second")
            layout.addWidget(line)
        row = hbox(spacing=8)
        row.addWidget(self.remove_button)
        row.addStretch(1)
        row.addWidget(cancel_button(self))
        row.addWidget(self.accept_button)
        layout.addLayout(row)
        widen(self, 420)
        self._check()

    def label(self) -> str | None:
        """The chosen name; ``None``: the label is removed."""
        return None if self._removed else self.field.text().strip()

    def _remove(self) -> None:
        self._removed = True
        self.accept()

    def _check(self) -> None:
        self.accept_button.setEnabled(bool(self.field.text().strip()))
