"""Name a refined metric, and say who made it."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import accept_button, cancel_button, dialog_layout, form
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import tr, tr_n
from semblance.core.library.records import unique_name

#: So many judgements rarely show yet.
FEW = 10


class SaveRefinedDialog(Dialog):
    """Accepted with :meth:`name` and :meth:`author`."""

    def __init__(
        self, base: str, judgements: int, taken: Collection[str], author: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Save as new metric"))
        self.setMinimumWidth(theme().px(440))
        self._taken = set(taken)
        self._name = QLineEdit(unique_name(tr("{base} refined", base=base), list(taken)))
        self._name.selectAll()
        self._author = QLineEdit(author)
        self._author.setPlaceholderText(tr("nobody"))
        told = tr_n(
            "Made from {n} judgement on {base}. It is then tested on cases neither judged nor used "
            "for training.",
            "Made from {n} judgements on {base}. It is then tested on cases neither judged nor used "
            "for training.",
            judgements,
            base=base,
        )
        few = " " + tr("So few judgements rarely change the scores.") if judgements < FEW else ""
        self._told = WrappedLabel(told + few, "small")
        private = WrappedLabel(
            tr("Your name is stored in the library and on the metric card. No report contains it."), "small"
        )
        fields = form()
        fields.addRow(tr("Name"), self._name)
        fields.addRow("", self._told)
        fields.addRow(tr("Judged by"), self._author)
        fields.addRow("", private)
        self._problem = QLabel()
        set_look(self._problem, role="error")
        self._problem.hide()
        self.go = accept_button(tr("Save"))
        self.go.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addWidget(self._problem, 1)
        buttons.addStretch(1)
        buttons.addWidget(cancel_button(self))
        buttons.addWidget(self.go)
        column = dialog_layout(self)
        column.addLayout(fields)
        column.addLayout(buttons)
        self._name.textChanged.connect(self._check)
        self._check()

    def name(self) -> str:
        return self._name.text().strip()

    def author(self) -> str:
        return self._author.text().strip()

    def _check(self) -> None:
        taken = self.name() in self._taken
        self._problem.setText(tr("A metric with this name exists already.") if taken else "")
        self._problem.setVisible(taken)
        set_look(self._name, error=taken)
        self.go.setEnabled(bool(self.name()) and not taken)
