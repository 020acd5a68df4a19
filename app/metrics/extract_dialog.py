"""Choose an extractor fitting the kind of case, its parameters, and the name of the feature set."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import accept_button, column_of, form, go_or_cancel
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.features.registry import extractor_class
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.parameters import Value
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot


class ExtractDialog(Dialog):
    """Accepted with :meth:`extractor`, :meth:`settings` and :meth:`name`."""

    def __init__(self, library: LibrarySnapshot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Extract features"))
        self.setMinimumWidth(theme().px(480))
        self._extractors = [extractor_class(fit.name) for fit in library.extractors if fit.is_suitable]
        self._library = library
        self._choice = QComboBox()
        for extractor in self._extractors:
            self._choice.addItem(tr_name(extractor.title), extractor.name)
        self._told = WrappedLabel(role="second")
        self._others = WrappedLabel(_others(library), "small")
        self._others.setVisible(bool(self._others.text()))
        self._name = QLineEdit()
        self._state = WrappedLabel(role="small")
        self._form = form()
        self._form.addRow(tr("Extractor"), self._choice)
        self._form.addRow("", self._told)
        self._form.addRow("", self._others)
        self._form.addRow(tr("Name"), self._name)
        self._form.addRow("", self._state)
        self._parameters: ParameterForm | None = None
        self._slot = QVBoxLayout()
        self.go = accept_button(tr("Extract"))
        self.go.clicked.connect(self.accept)
        column = column_of(self)
        column.addLayout(self._form)
        column.addLayout(self._slot)
        column.addLayout(go_or_cancel(self, self.go))
        self._choice.currentIndexChanged.connect(self._chosen)
        self._name.textChanged.connect(self._tell)
        self._chosen()
        self._go_on_with_what_was_broken_off()

    def extractor(self) -> str:
        return str(self._choice.currentData())

    def settings(self) -> Mapping[str, Value]:
        return self._parameters.values() if self._parameters is not None else {}

    def name(self) -> str:
        return self._name.text().strip() or self.extractor()

    def _chosen(self) -> None:
        place = self._choice.currentIndex()
        if place < 0:
            self._told.setText(tr("No extractor fits the cases of this library."))
            self.go.setEnabled(False)
            return
        extractor = self._extractors[place]
        self._told.setText(tr_name(extractor.summary))
        self._name.setText(extractor.name)
        if self._parameters is not None:
            self._slot.removeWidget(self._parameters)
            self._parameters.deleteLater()
            self._parameters = None
        if extractor.parameters:
            self._parameters = ParameterForm(extractor.parameters)
            self._parameters.valuesChanged.connect(self._tell)
            self._slot.addWidget(self._parameters)
        self._tell()

    def _go_on_with_what_was_broken_off(self) -> None:
        total = len(self._library.columns)
        for part in self._library.feature_sets:
            place = self._choice.findData(part.extractor)
            if part.cases + part.failed < total and place >= 0:
                self._choice.setCurrentIndex(place)
                self._name.setText(part.name)
                return

    def _tell(self) -> None:
        if not self._extractors:
            return
        total = len(self._library.columns)
        self.go.setEnabled(self._parameters is None or self._parameters.is_valid())
        found = next((s for s in self._library.feature_sets if s.name == self.name()), None)
        if found is None:
            self._state.setText(
                tr_n(
                    "Features of {n} case will be extracted.",
                    "Features of {n} cases will be extracted.",
                    total,
                )
            )
        elif found.cases < total:
            self._state.setText(
                tr(
                    "{n:,} of {total:,} cases have these features. Extraction continues with the others.",
                    n=found.cases,
                    total=total,
                )
            )
        else:
            self._state.setText(tr("All cases have these features already."))
            self.go.setEnabled(False)


def _others(library: LibrarySnapshot) -> str:
    """Which extractors are not offered, by reason."""
    reasons: dict[str, list[str]] = {}
    for fit in library.extractors:
        if not fit.is_suitable:
            reasons.setdefault(translate(fit.reason), []).append(tr_name(extractor_class(fit.name).title))
    told = "; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in reasons.items())
    return tr("Not offered: {told}.", told=told) if told and len(library.columns) else ""
