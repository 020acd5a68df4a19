"""The slider from visual to diagnostic likeness in the top bar: it moves among metrics trained before."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSlider, QStyle, QStyleOptionSlider, QWidget

from semblance.app.metrics import slider_state
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.core.language import tr
from semblance.core.workflows.metrics.slider_steps import Slider, SliderStep

_BACK = (Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_PageDown)
_ON = (Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_PageUp)
WIDTH = 108


class EmphasisSlider(QWidget):
    """Follows the metric of the state; moved, it ranks by the nearest step at once.

    ``followed``: it can be moved from now on, or no more.
    """

    followed = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self._steps: Slider | None = None
        #: The library and slider whose steps were laid out for moving.
        self._ready: tuple[object, str] | None = None
        self.bar = _Bar()
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
        self.bar.stepped.connect(self._step)
        self.bar.valueChanged.connect(self._moved)
        self.bar.sliderReleased.connect(self._follow)
        self.bar.sliderPressed.connect(self._make_ready)
        self._state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, self, self._follow)
        theme_signals.changed.connect(self._fit)
        self._fit()
        self._follow()

    def show_words(self, shown: bool) -> None:
        """Whether there is room for the words at both ends."""
        self._visual.setVisible(shown)
        self._diagnostic.setVisible(shown)

    def width_with(self, *, words: bool) -> int:
        """px it takes with or without the words at both ends."""
        shown = (self._visual, self._diagnostic) if words else ()
        ends = sum(label.sizeHint().width() + self._row.spacing() for label in shown)
        inner = self.bar.minimumWidth() + self._row.spacing() + self._value.minimumWidth()
        return self._row.contentsMargins().left() + inner + ends

    def _fit(self) -> None:
        self.bar.setFixedWidth(theme().px(WIDTH))
        self._value.setMinimumWidth(self._value.fontMetrics().horizontalAdvance("100 %"))

    def _follow(self) -> None:
        """Show the place of the current metric, or why there is none."""
        self._steps, step = slider_state.current(self._state)
        there = self._steps is not None and len(self._steps.steps) > 1
        self.bar.setEnabled(there)
        for label in (self._visual, self._diagnostic):
            label.setEnabled(there)
        self.followed.emit()
        if not there or self._steps is None or step is None:
            self._value.setText("")
            self._tell(slider_state.why_not(self._state))
            return
        self._value.setText(f"{step.place} %")
        if not self.bar.isSliderDown() and self.bar.value() != step.place:
            self.bar.blockSignals(True)
            self.bar.setValue(step.place)
            self.bar.blockSignals(False)
        self._tell(told(self._steps, step))

    def _tell(self, tip: str) -> None:
        self.setToolTip(plain_tip(tip))
        self.bar.setAccessibleDescription(tip)

    def _moved(self, value: int) -> None:
        if self._steps is None:
            return
        step = self._steps.nearest(value)
        if not self.bar.isSliderDown() and value != step.place:
            # A click on the groove, or a wheel: there is nothing between the steps.
            self.bar.setValue(step.place)
            return
        self._rank_by(step)

    def _rank_by(self, step: SliderStep) -> None:
        from semblance.app.metrics.slider_operations import move

        move(self._context, step)

    def _make_ready(self) -> None:
        """Once for a slider: its first ranking at each step takes a second in a large library."""
        if self._steps is not None and self._ready != (self._state.path, self._steps.name):
            self._ready = (self._state.path, self._steps.name)
            from semblance.app.metrics.slider_operations import warm

            warm(self._context, self._steps)

    def _step(self, by: int) -> None:
        if self._steps is None:
            return
        self._make_ready()
        steps = self._steps.steps
        here = steps.index(self._steps.nearest(self.bar.value()))
        self._rank_by(steps[min(max(here + by, 0), len(steps) - 1)])


def told(steps: Slider, current: SliderStep) -> str:
    """Every step with its held-out score, the current one marked."""
    lines = [
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
        lines.append(f"{'› ' if step is current else '   '}{step.place} %   {score}")
    measured = next((step.measured_on for step in steps.steps if step.measured_on), "")
    return "\n".join([*lines, tr("Measured on {what}.", what=measured) if measured else ""]).strip()


class _Bar(QSlider):
    """Keys go from step to step: ``stepped(-1 or 1)``, far at Home and End."""

    stepped = Signal(int)

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setRange(0, 100)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click beside the handle brings it to the step nearest to the click."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        control, style = QStyle.ComplexControl.CC_Slider, self.style()
        handle = style.subControlRect(control, option, QStyle.SubControl.SC_SliderHandle, self)
        groove = style.subControlRect(control, option, QStyle.SubControl.SC_SliderGroove, self)
        at = event.position().toPoint()
        if event.button() != Qt.MouseButton.LeftButton or handle.contains(at):
            super().mousePressEvent(event)
            return
        span = groove.width() - handle.width()
        left = at.x() - groove.x() - handle.width() // 2
        self.setValue(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), left, span))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in _BACK or key in _ON:
            self.stepped.emit(1 if key in _ON else -1)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.stepped.emit(100 if key == Qt.Key.Key_End else -100)
        else:
            super().keyPressEvent(event)
