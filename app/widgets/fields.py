"""Input fields: search and numbers, and combo boxes and sliders whose value the wheel does not change."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSlider, QSpinBox, QWidget

from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.core.errors import BadArguments
from semblance.core.language import format_number, to_english_number, tr, translate
from semblance.core.parameters import Parameter, Value

PAUSE_MS = 60

#: As that of other fields; Qt ignores the padding of a style sheet here.
_MARGIN = 6

_STEPS: dict[int, int] = {
    Qt.Key.Key_Up: 1,
    Qt.Key.Key_Down: -1,
    Qt.Key.Key_PageUp: 10,
    Qt.Key.Key_PageDown: -10,
}


class SearchField(QLineEdit):
    """``searched(text)``: the text changed, after a short pause. ``down_pressed``: Down was pressed."""

    searched = Signal(str)
    down_pressed = Signal()

    def __init__(
        self, hint: str = tr("Filter cases"), parent: QWidget | None = None, *, icon_name: str = "filter"
    ) -> None:
        super().__init__(parent)
        self.setPlaceholderText(hint)
        # Qt leaves too much space behind the icon.
        self.setTextMargins(-5, 0, 0, 0)
        self.setAccessibleName(hint)
        self.addAction(icon(icon_name), QLineEdit.ActionPosition.LeadingPosition).setText(hint)
        self._clear = self.addAction(icon("close"), QLineEdit.ActionPosition.TrailingPosition)
        self._clear.setText(tr("Clear"))
        self._clear.setToolTip(tr("Clear"))
        self._clear.setVisible(False)
        self._clear.triggered.connect(self.clear)
        self._pause = one_shot(self, lambda: self.searched.emit(self.text()), PAUSE_MS)
        self.textChanged.connect(self._changed)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
        else:
            super().keyPressEvent(event)

    def _changed(self, text: str) -> None:
        self._clear.setVisible(bool(text))
        self._pause.start()


def line_edit(name: str, text: str = "", placeholder: str = "") -> QLineEdit:
    """A line for text, called ``name`` by screen readers."""
    line = QLineEdit(text)
    line.setAccessibleName(name)
    line.setPlaceholderText(placeholder)
    return line


def spin_box(low: int, high: int, value: int, suffix: str = "") -> QSpinBox:
    """A spin box from ``low`` to ``high`` with ``value`` and ``suffix``."""
    box = QSpinBox()
    box.setRange(low, high)
    box.setValue(value)
    box.setSuffix(suffix)
    box.lineEdit().setTextMargins(_MARGIN, 0, 0, 0)
    return box


class NumberField(QLineEdit):
    """Edits one value of ``parameter``. ``edited``: the user changed it.

    An invalid value stays as typed with an error border. :meth:`problem` says why.
    """

    edited = Signal()

    def __init__(self, parameter: Parameter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parameter = parameter
        self.set_value(parameter.default)
        self.textEdited.connect(self._text_edited)

    def value(self) -> Value:
        """The checked value.

        Raises:
            BadArguments: the value is not allowed; the hint says what is.
        """
        text = to_english_number(self.text().strip())
        if self._parameter.default is None:
            return _parse_number(text)
        return self._parameter.parse(text)

    def set_value(self, value: Value) -> None:
        self.setText(value_text(value))
        self._update_border()

    def problem(self) -> str:
        """Why the value is not allowed, as a sentence; empty if it is."""
        try:
            self.value()
        except BadArguments as refused:
            return translate(refused.hint)
        return ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = _STEPS.get(event.key())
        if steps is None:
            super().keyPressEvent(event)
        else:
            self._step(steps)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.hasFocus():
            event.ignore()
        elif event.angleDelta().y():
            self._step(1 if event.angleDelta().y() > 0 else -1)

    def _step(self, steps: int) -> None:
        try:
            value = self.value()
        except BadArguments:
            value = self._parameter.default
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        low, high = self._parameter.minimum, self._parameter.maximum
        stepped: float = value + steps * self._step_size(value)
        stepped = stepped if low is None else max(low, stepped)
        stepped = stepped if high is None else min(high, stepped)
        self.set_value(round(stepped) if isinstance(value, int) else float(f"{stepped:.10g}"))
        self.selectAll()
        self.edited.emit()

    def _step_size(self, value: float) -> float:
        if isinstance(value, int):
            return 1
        if (self._parameter.minimum, self._parameter.maximum) == (0, 1):
            return 0.05
        return 10.0 ** math.floor(math.log10(abs(value))) if value else 0.1

    def _text_edited(self) -> None:
        self._update_border()
        self.edited.emit()

    def _update_border(self) -> None:
        set_look(self, error=bool(self.problem()))


def value_text(value: Value) -> str:
    """A parameter's value as text in the user's language."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    return format_number(value, ".10g") if isinstance(value, float) else str(value)


def _parse_number(text: str) -> Value:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class NoWheelComboBox(QComboBox):
    """A combo box that ignores the wheel."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class NoWheelSlider(QSlider):
    """A slider that ignores the wheel."""

    def __init__(self, orientation: Qt.Orientation, parent: QWidget | None = None) -> None:
        super().__init__(orientation, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
