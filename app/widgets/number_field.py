"""A field for one number, checked by its parameter and changed with the arrow keys."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from semblance.app.shell.theme import set_look
from semblance.core.errors import BadArguments
from semblance.core.language import format_number, to_english_number, tr, translate
from semblance.core.parameters import Parameter, Value

_STEPS: dict[int, int] = {
    Qt.Key.Key_Up: 1,
    Qt.Key.Key_Down: -1,
    Qt.Key.Key_PageUp: 10,
    Qt.Key.Key_PageDown: -10,
}


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
