"""Vertical and horizontal layouts without spacing and margins by default."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

#: Left, top, right, bottom.
Margins = tuple[int, int, int, int]
NONE: Margins = (0, 0, 0, 0)


def vbox(owner: QWidget | None = None, *, spacing: int = 0, margins: Margins = NONE) -> QVBoxLayout:
    """A vertical layout, set on ``owner`` if given."""
    box = QVBoxLayout()
    box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    if owner is not None:
        owner.setLayout(box)
    return box


def hbox(owner: QWidget | None = None, *, spacing: int = 0, margins: Margins = NONE) -> QHBoxLayout:
    """A horizontal layout, set on ``owner`` if given."""
    box = QHBoxLayout()
    box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    if owner is not None:
        owner.setLayout(box)
    return box


def line_with_buttons(line: QLineEdit, *buttons: QWidget, owner: QWidget | None = None) -> QWidget:
    """``owner``, or a new widget, with ``line`` and ``buttons`` at its right."""
    row = owner or QWidget()
    across = hbox(row, spacing=8)
    across.addWidget(line, 1)
    for button in buttons:
        across.addWidget(button)
    return row
