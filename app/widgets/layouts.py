"""Vertical and horizontal layouts without spacing and margins by default."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

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
