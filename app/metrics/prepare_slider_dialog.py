"""The dialog that prepares the slider from visual to diagnostic similarity."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QWidget,
)

from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import tr
from semblance.core.library.records import unique_name
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
from semblance.core.workflows.metrics.slider_steps import PLACES, sliders_by_name
from semblance.core.workflows.metrics.train_request import HELD_OUT, TrainRequest

DEFAULT_NAME = tr("BDM+V slider")


class PrepareSliderDialog(Dialog):
    """Asks for the features and the name. Read :meth:`request` after it was accepted."""

    def __init__(self, library: LibrarySnapshot, features: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Prepare visual–diagnostic slider"))
        self.setMinimumWidth(theme().px(440))
        self._sliders = sliders_by_name((metric.name, metric.card) for metric in library.metrics)
        used_names = [*(metric.name for metric in library.metrics), *self._sliders]
        places = ", ".join(str(place) for place in PLACES)
        explanation = WrappedLabel(
            tr(
                "Semblance trains BDM+V {n} times on the same training data. {places} % of the training "
                "pairs come from findings, the others from visual similarity. The slider in the top bar "
                "then moves between these metrics. {held_out} % of the cases are held out to test each "
                "of them.",
                n=len(PLACES),
                places=places,
                held_out=round(100 * HELD_OUT),
            ),
            "second",
        )
        self._features = QComboBox()
        self._features.addItems([feature_set.name for feature_set in library.feature_sets])
        self._features.setCurrentText(features)
        self._features.setAccessibleName(tr("Feature set"))
        self._name = QLineEdit(unique_name(DEFAULT_NAME, used_names))
        self._name.setAccessibleName(tr("Name of the slider"))
        self._problem = WrappedLabel(role="error")
        fields = form()
        fields.addRow(tr("Features"), self._features)
        fields.addRow(tr("Name"), self._name)
        self.prepare_button = accept_button(tr("Prepare"))
        self.prepare_button.clicked.connect(self.accept)
        column = dialog_layout(self)
        column.addWidget(explanation)
        column.addLayout(fields)
        column.addWidget(self._problem)
        column.addLayout(action_row(self, self.prepare_button))
        # Without this, Qt computes the height of the dialog for a wrong width of the text.
        explanation.ensurePolished()
        explanation.setMinimumHeight(explanation.heightForWidth(self.minimumWidth() - 2 * 16))
        labelled = int((library.columns.finding_counts[:-1] > 1).sum()) if len(library.columns) else 0
        self._refusal = (
            ""
            if labelled > 1
            else tr(
                "The diagnostic end learns from findings. This library needs two findings with several "
                "cases each."
            )
        )
        self._name.textChanged.connect(self._update)
        self._update()

    def request(self) -> TrainRequest:
        """The request to train the steps of the slider."""
        return TrainRequest("bdm_v", self._name.text().strip(), self._features.currentText())

    def _update(self) -> None:
        name = self._name.text().strip()
        notice = tr("This replaces the slider {name}.", name=name) if name in self._sliders else ""
        self._problem.setText(self._refusal or notice or ("" if name else tr("Enter a name.")))
        self._problem.setVisible(bool(self._problem.text()))
        self.prepare_button.setEnabled(bool(name) and not self._refusal)
