"""A field for a whole number with arrows."""

from __future__ import annotations

from PySide6.QtWidgets import QSpinBox

#: As that of other fields; Qt ignores the padding of a style sheet here.
_MARGIN = 6


def spin_box(low: int, high: int, value: int, suffix: str = "") -> QSpinBox:
    """A spin box from ``low`` to ``high`` with ``value`` and ``suffix``."""
    box = QSpinBox()
    box.setRange(low, high)
    box.setValue(value)
    box.setSuffix(suffix)
    box.lineEdit().setTextMargins(_MARGIN, 0, 0, 0)
    return box
