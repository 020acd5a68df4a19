"""The dialog that asks for name and author of a refined metric."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import Dialog, accept_button, cancel_button, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import tr, tr_n
from semblance.core.library.records import unique_name

#: With fewer judgements the scores rarely change.
FEW = 10


class SaveRefinedDialog(Dialog):
    """After acceptance :meth:`name` and :meth:`author` give what was entered."""

    def __init__(
        self,
        base: str,
        judgements: int,
        existing: Collection[str],
        author: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Save as new metric"))
        self.setMinimumWidth(theme().px(440))
        self._existing = set(existing)
        self._name = QLineEdit(unique_name(tr("{base} refined", base=base), list(existing)))
        self._name.selectAll()
        self._author = QLineEdit(author)
        self._author.setPlaceholderText(tr("nobody"))
        note = tr_n(
            "Made from {n} judgement on {base}. It is then tested on cases neither judged nor used "
            "for training.",
            "Made from {n} judgements on {base}. It is then tested on cases neither judged nor used "
            "for training.",
            judgements,
            base=base,
        )
        few_note = " " + tr("So few judgements rarely change the scores.") if judgements < FEW else ""
        self._note = WrappedLabel(note + few_note, "small")
        privacy_note = WrappedLabel(
            tr("Your name is stored in the library and on the metric card. No report contains it."), "small"
        )
        fields = form()
        fields.addRow(tr("Name"), self._name)
        fields.addRow("", self._note)
        fields.addRow(tr("Judged by"), self._author)
        fields.addRow("", privacy_note)
        self._problem = QLabel()
        set_look(self._problem, role="error")
        self._problem.hide()
        self.save_button = accept_button(tr("Save"))
        self.save_button.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addWidget(self._problem, 1)
        buttons.addStretch(1)
        buttons.addWidget(cancel_button(self))
        buttons.addWidget(self.save_button)
        column = dialog_layout(self)
        column.addLayout(fields)
        column.addLayout(buttons)
        self._name.textChanged.connect(self._validate)
        self._validate()

    def name(self) -> str:
        return self._name.text().strip()

    def author(self) -> str:
        return self._author.text().strip()

    def _validate(self) -> None:
        exists = self.name() in self._existing
        self._problem.setText(tr("A metric with this name exists already.") if exists else "")
        self._problem.setVisible(exists)
        set_look(self._name, error=exists)
        self.save_button.setEnabled(bool(self.name()) and not exists)
