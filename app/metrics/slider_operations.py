"""Prepare the slider from visual to diagnostic similarity, and rank by its steps. Loaded after the first paint."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QWidget,
)

from semblance.app.metrics.emphasis_slider import current_step, sliders
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import tr
from semblance.core.library.records import unique_name
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
from semblance.core.workflows.metrics import slider
from semblance.core.workflows.metrics.slider_steps import (
    DEFAULT_PLACE,
    PLACES,
    Slider,
    SliderStep,
    sliders_by_name,
)
from semblance.core.workflows.metrics.train_request import HELD_OUT, TrainRequest
from semblance.core.workflows.searches import rank_cases


def rank_by_step(context: Context, step: SliderStep) -> None:
    """Rank by another step of the slider."""
    if context.state.metric is not None and context.state.metric.name != step.metric:
        context.state.set_metric(step.metric)
        search_operations.rank(context)


def select_metric(context: Context, name: str) -> None:
    """Rank by the metric ``name``. If ``name`` is a slider, rank by its step nearest to the present one."""
    chosen = sliders(context.state).get(name)
    if chosen is None:
        context.state.set_metric(name)
    else:
        step = current_step(context.state)[1]
        context.state.set_metric(chosen.nearest(step.place if step else DEFAULT_PLACE).metric)
    search_operations.rank(context)
    if chosen is not None:
        preload_steps(context, chosen)


def prepare_slider(context: Context, request: TrainRequest) -> Job | None:
    """Train all steps of a slider in the background. Its default step becomes the current metric."""
    state, path = context.state, context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Preparing {name}", name=request.name), slider.prepare_slider, path, request, can_stop=True
    )

    def show(prepared: Slider) -> None:
        context.messages.info(tr("{name} is ready: move it in the top bar.", name=prepared.name))
        if state.path == path:
            library_operations.renew(context, partial(select_metric, context, prepared.name))

    return context.follow(job, show)


def preload_steps(context: Context, steps: Slider) -> None:
    """Rank once by each step at low priority, so that moving the slider is fast."""
    path, search = context.state.path, context.state.search
    if path is None or search is None:
        return
    for step in steps.steps:
        context.jobs.run(
            tr("Preparing the slider"),
            rank_cases.rank_cases,
            path,
            replace(search, metric=step.metric),
            k=1,
            pool=WorkerPool.SEARCH,
            channel=f"preload {step.metric}",
            quiet=True,
        )


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
        self.name_field = QLineEdit(unique_name(DEFAULT_NAME, used_names))
        self.name_field.setAccessibleName(tr("Name of the slider"))
        self.problem = WrappedLabel(role="error")
        fields = form()
        fields.addRow(tr("Features"), self._features)
        fields.addRow(tr("Name"), self.name_field)
        self.prepare_button = accept_button(tr("Prepare"))
        self.prepare_button.clicked.connect(self.accept)
        column = dialog_layout(self)
        column.addWidget(explanation)
        column.addLayout(fields)
        column.addWidget(self.problem)
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
        self.name_field.textChanged.connect(self._update)
        self._update()

    def request(self) -> TrainRequest:
        """The request to train the steps of the slider."""
        return TrainRequest("bdm_v", self.name_field.text().strip(), self._features.currentText())

    def _update(self) -> None:
        name = self.name_field.text().strip()
        notice = tr("This replaces the slider {name}.", name=name) if name in self._sliders else ""
        self.problem.setText(self._refusal or notice or ("" if name else tr("Enter a name.")))
        self.problem.setVisible(bool(self.problem.text()))
        self.prepare_button.setEnabled(bool(name) and not self._refusal)
