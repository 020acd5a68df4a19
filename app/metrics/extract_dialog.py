"""The dialog before an extraction: the extractor, its parameters and the name of the feature set."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.core.features.registry import extractor_class
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.parameters import Value
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot


class ExtractDialog(Dialog):
    """Shows the suitable extractors. Read :meth:`extractor`, :meth:`settings` and :meth:`name` after accepting."""

    def __init__(self, library: LibrarySnapshot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Extract features"))
        self.setMinimumWidth(theme().px(480))
        self._extractors = [extractor_class(fit.name) for fit in library.extractors if fit.is_suitable]
        self._library = library
        self._extractor_box = QComboBox()
        for extractor in self._extractors:
            self._extractor_box.addItem(tr_name(extractor.title), extractor.name)
        self._summary = WrappedLabel(role="second")
        self._others_label = WrappedLabel(_unsuitable_extractors(library), "small")
        self._others_label.setVisible(bool(self._others_label.text()))
        self._name = QLineEdit()
        self._count_label = WrappedLabel(role="small")
        self._form = form()
        self._form.addRow(tr("Extractor"), self._extractor_box)
        self._form.addRow("", self._summary)
        self._form.addRow("", self._others_label)
        self._form.addRow(tr("Name"), self._name)
        self._form.addRow("", self._count_label)
        self._parameters: ParameterForm | None = None
        self._parameters_layout = QVBoxLayout()
        self.extract_button = accept_button(tr("Extract"))
        self.extract_button.clicked.connect(self.accept)
        column = dialog_layout(self)
        column.addLayout(self._form)
        column.addLayout(self._parameters_layout)
        column.addLayout(action_row(self, self.extract_button))
        self._extractor_box.currentIndexChanged.connect(self._show_extractor)
        self._name.textChanged.connect(self._update)
        self._show_extractor()
        self._select_unfinished_extraction()

    def extractor(self) -> str:
        return str(self._extractor_box.currentData())

    def settings(self) -> Mapping[str, Value]:
        return self._parameters.values() if self._parameters is not None else {}

    def name(self) -> str:
        return self._name.text().strip() or self.extractor()

    def _show_extractor(self) -> None:
        index = self._extractor_box.currentIndex()
        if index < 0:
            self._summary.setText(tr("No extractor fits the cases of this library."))
            self.extract_button.setEnabled(False)
            return
        extractor = self._extractors[index]
        self._summary.setText(tr_name(extractor.summary))
        self._name.setText(extractor.name)
        if self._parameters is not None:
            self._parameters_layout.removeWidget(self._parameters)
            self._parameters.hide()
            self._parameters.deleteLater()
            self._parameters = None
        if extractor.parameters:
            self._parameters = ParameterForm(extractor.parameters)
            self._parameters.valuesChanged.connect(self._update)
            self._parameters_layout.addWidget(self._parameters)
        self._update()

    def _select_unfinished_extraction(self) -> None:
        total = len(self._library.columns)
        for feature_set in self._library.feature_sets:
            index = self._extractor_box.findData(feature_set.extractor)
            if feature_set.cases + feature_set.failed < total and index >= 0:
                self._extractor_box.setCurrentIndex(index)
                self._name.setText(feature_set.name)
                return

    def _update(self) -> None:
        if not self._extractors:
            return
        total = len(self._library.columns)
        self.extract_button.setEnabled(self._parameters is None or self._parameters.is_valid())
        existing = next((s for s in self._library.feature_sets if s.name == self.name()), None)
        if existing is None:
            self._count_label.setText(
                tr_n(
                    "Features of {n} case will be extracted.",
                    "Features of {n} cases will be extracted.",
                    total,
                )
            )
        elif existing.cases < total:
            self._count_label.setText(
                tr(
                    "{n:,} of {total:,} cases have these features. Extraction continues with the others.",
                    n=existing.cases,
                    total=total,
                )
            )
        else:
            self._count_label.setText(tr("All cases have these features already."))
            self.extract_button.setEnabled(False)


def _unsuitable_extractors(library: LibrarySnapshot) -> str:
    """Text that lists the extractors that are not offered, by reason."""
    reasons: dict[str, list[str]] = {}
    for fit in library.extractors:
        if not fit.is_suitable:
            reasons.setdefault(translate(fit.reason), []).append(tr_name(extractor_class(fit.name).title))
    others = "; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in reasons.items())
    return tr("Not offered: {text}.", text=others) if others and len(library.columns) else ""
