"""The slider from visual to diagnostic similarity in the top bar. Each of its steps is a trained metric."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QWidget,
)

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import tr
from semblance.core.workflows.metrics.slider_steps import (
    DEFAULT_PLACE,
    PLACES,
    Slider,
    SliderStep,
    slider_of,
    sliders_by_name,
)

# The top bar shows the slider from the first paint on: what ranks and trains is imported where it is used.
if TYPE_CHECKING:
    from semblance.app.shell.state import WindowState
    from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
    from semblance.core.workflows.metrics.train_request import TrainRequest

_BACKWARD_KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_PageDown)
_FORWARD_KEYS = (Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_PageUp)
#: Width of the bar, and where its labels would not fit otherwise, px at text scale 1.
WIDTH, SHORT_WIDTH = 108, 72


class EmphasisSlider(QWidget):
    """Shows the step of the current metric. Moving it ranks by the nearest step at once.

    ``availability_changed``: the slider was enabled or disabled.
    """

    availability_changed = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self._steps: Slider | None = None
        self._is_short = False
        #: The library and the slider whose steps were preloaded.
        self._preloaded: tuple[object, str] | None = None
        self.bar = _StepSlider()
        self.bar.setAccessibleName(tr("Similarity, from visual to diagnostic"))
        self._visual, self._diagnostic, self._value = QLabel(tr("visual")), QLabel(tr("diagnostic")), QLabel()
        for label in (self._visual, self._diagnostic):
            set_look(label, role="second")
        set_look(self._value, role="title")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 0, 0)
        row.setSpacing(8)
        for widget in (self._visual, self.bar, self._diagnostic, self._value):
            row.addWidget(widget)
        self.bar.steps_moved.connect(self._move_steps)
        self.bar.valueChanged.connect(self._rank_at)
        self.bar.sliderReleased.connect(self._update)
        self.bar.sliderPressed.connect(self._preload_once)
        self._state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, self, self._update)
        theme_signals.changed.connect(self._resize)
        self._resize()
        self._update()

    def show_labels(self, labels_shown: bool) -> None:
        """Show or hide the labels at both ends."""
        self._visual.setVisible(labels_shown)
        self._diagnostic.setVisible(labels_shown)

    def set_short(self, is_short: bool) -> None:
        """Whether the bar is shorter than usual."""
        self._is_short = is_short
        self._resize()

    def width_with(self, *, labels: bool) -> int:
        """Width with or without the labels at both ends, px."""
        labels_shown = (self._visual, self._diagnostic) if labels else ()
        labels_width = sum(label.sizeHint().width() + self._row.spacing() for label in labels_shown)
        slider_width = self.bar.minimumWidth() + self._row.spacing() + self._value.minimumWidth()
        return self._row.contentsMargins().left() + slider_width + labels_width

    def _resize(self) -> None:
        self.bar.setFixedWidth(theme().px(SHORT_WIDTH if self._is_short else WIDTH))
        self._value.ensurePolished()
        self._value.setMinimumWidth(self._value.fontMetrics().horizontalAdvance("100 %"))

    def _update(self) -> None:
        """Show the step of the current metric, or why the slider is disabled."""
        self._steps, step = current_step(self._state)
        is_available = self._steps is not None and len(self._steps.steps) > 1
        self.bar.setEnabled(is_available)
        for label in (self._visual, self._diagnostic):
            label.setEnabled(is_available)
        self.availability_changed.emit()
        if not is_available or self._steps is None or step is None:
            self._value.setText("")
            self._set_tip(unavailable_reason(self._state))
            return
        self._value.setText(f"{step.place} %")
        if not self.bar.isSliderDown() and self.bar.value() != step.place:
            self.bar.blockSignals(True)
            self.bar.setValue(step.place)
            self.bar.blockSignals(False)
        self._set_tip(step_scores(self._steps, step))

    def _set_tip(self, tip: str) -> None:
        self.setToolTip(plain_tip(tip))
        self.bar.setAccessibleDescription(tip)

    def _rank_at(self, value: int) -> None:
        if self._steps is None:
            return
        step = self._steps.nearest(value)
        if not self.bar.isSliderDown() and value != step.place:
            # A click on the groove or the wheel gives a value between two steps.
            self.bar.setValue(step.place)
            return
        self._rank_by(step)

    def _rank_by(self, step: SliderStep) -> None:
        rank_by_step(self._context, step)

    def _preload_once(self) -> None:
        """Preload all steps, because the first ranking with a step takes a second in a large library."""
        if self._steps is not None and self._preloaded != (self._state.location, self._steps.name):
            self._preloaded = (self._state.location, self._steps.name)
            preload_steps(self._context, self._steps)

    def _move_steps(self, count: int) -> None:
        if self._steps is None:
            return
        self._preload_once()
        steps = self._steps.steps
        index = steps.index(self._steps.nearest(self.bar.value()))
        self._rank_by(steps[min(max(index + count, 0), len(steps) - 1)])


def step_scores(steps: Slider, current_step: SliderStep) -> str:
    """The steps with their held-out scores as text, with a mark at the current one."""
    text_lines = [
        tr(
            "{name}: share of training pairs from findings. The others come from visual similarity",
            name=steps.name,
        )
    ]
    for step in steps.steps:
        score = (
            tr("not tested")
            if step.accuracy is None
            else tr("accuracy @10 {accuracy:.2f}", accuracy=step.accuracy)
        )
        text_lines.append(f"{'› ' if step is current_step else '   '}{step.place} %   {score}")
    measured_on = next((step.measured_on for step in steps.steps if step.measured_on), "")
    return "\n".join(
        [*text_lines, tr("Measured on {what}.", what=measured_on) if measured_on else ""]
    ).strip()


class _StepSlider(QSlider):
    """A slider whose keys move by steps: ``steps_moved(number of steps)``, ±100 for Home and End."""

    steps_moved = Signal(int)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setRange(0, 100)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click beside the handle moves it to the nearest step."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        control, style = QStyle.ComplexControl.CC_Slider, self.style()
        handle = style.subControlRect(control, option, QStyle.SubControl.SC_SliderHandle, self)
        groove = style.subControlRect(control, option, QStyle.SubControl.SC_SliderGroove, self)
        position = event.position().toPoint()
        if event.button() != Qt.MouseButton.LeftButton or handle.contains(position):
            super().mousePressEvent(event)
            return
        span = groove.width() - handle.width()
        offset = position.x() - groove.x() - handle.width() // 2
        self.setValue(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), offset, span))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in _BACKWARD_KEYS or key in _FORWARD_KEYS:
            self.steps_moved.emit(1 if key in _FORWARD_KEYS else -1)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.steps_moved.emit(100 if key == Qt.Key.Key_End else -100)
        else:
            super().keyPressEvent(event)


def sliders(state: WindowState) -> dict[str, Slider]:
    """The sliders of the open library by name."""
    metrics = state.library.metrics if state.library else ()
    return sliders_by_name((metric.name, metric.card) for metric in metrics)


def current_step(state: WindowState) -> tuple[Slider | None, SliderStep | None]:
    """The slider and the step of the current metric, or ``None`` for both."""
    name_and_place = slider_of(state.metric.card) if state.metric else None
    if name_and_place is None or state.metric is None:
        return None, None
    slider = sliders(state).get(name_and_place[0])
    step = (
        next((candidate for candidate in slider.steps if candidate.metric == state.metric.name), None)
        if slider
        else None
    )
    return slider, step


def unavailable_reason(state: WindowState) -> str:
    """Why the slider is disabled, and what to do."""
    names = list(sliders(state))
    if state.metric is None:
        return tr("Visual to diagnostic similarity: there is no metric yet.")
    if names and slider_of(state.metric.card) is None:
        return tr(
            "{name} has one position. Select the metric {other} to move the slider.",
            name=state.metric.name,
            other=names[-1],
        )
    return tr(
        "{name} has one position. To move between visual and diagnostic similarity, choose "
        "Research > Metric > Prepare visual–diagnostic slider.",
        name=state.metric.name,
    )


def rank_by_step(context: Context, step: SliderStep) -> None:
    """Rank by another step of the slider."""
    from semblance.app.shell import search_operations

    if context.state.metric is not None and context.state.metric.name != step.metric:
        context.state.set_metric(step.metric)
        search_operations.rank(context)


def select_metric(context: Context, name: str) -> None:
    """Rank by the metric ``name``. If ``name`` is a slider, rank by its step nearest to the present one."""
    from semblance.app.shell import search_operations

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
    from semblance.app.shell import library_operations
    from semblance.core.workflows.metrics import slider

    state, path = context.state, context.state.location
    if path is None:
        return None
    job = context.jobs.run(
        tr("Preparing {name}", name=request.name), slider.prepare_slider, path, request, can_stop=True
    )

    def show(prepared: Slider) -> None:
        context.messages.info(tr("{name} is ready: move it in the top bar.", name=prepared.name))
        if state.location == path:
            library_operations.renew(context, partial(select_metric, context, prepared.name))

    return context.follow(job, show)


def preload_steps(context: Context, steps: Slider) -> None:
    """Rank once by each step at low priority, so that moving the slider is fast."""
    from semblance.core.workflows.searches.rank_cases import rank_cases

    path, search = context.state.location, context.state.search
    if path is None or search is None:
        return
    for step in steps.steps:
        context.jobs.run(
            tr("Preparing the slider"),
            rank_cases,
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
        from semblance.core.library.records import unique_name
        from semblance.core.workflows.metrics.train_request import HELD_OUT

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
        from semblance.core.workflows.metrics.train_request import TrainRequest

        return TrainRequest("bdm_v", self.name_field.text().strip(), self._features.currentText())

    def _update(self) -> None:
        name = self.name_field.text().strip()
        notice = tr("This replaces the slider {name}.", name=name) if name in self._sliders else ""
        self.problem.setText(self._refusal or notice or ("" if name else tr("Enter a name.")))
        self.problem.setVisible(bool(self.problem.text()))
        self.prepare_button.setEnabled(bool(name) and not self._refusal)
