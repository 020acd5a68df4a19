"""Widgets above each other and side by side, close together unless told otherwise."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

#: Left, top, right, bottom.
Margins = tuple[int, int, int, int]
NONE: Margins = (0, 0, 0, 0)


def vbox(owner: QWidget | None = None, *, spacing: int = 0, margins: Margins = NONE) -> QVBoxLayout:
    """Above each other, as the layout of ``owner`` or inside another one."""
    box = QVBoxLayout()
    box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    if owner is not None:
        owner.setLayout(box)
    return box


def hbox(owner: QWidget | None = None, *, spacing: int = 0, margins: Margins = NONE) -> QHBoxLayout:
    """Side by side, as the layout of ``owner`` or inside another one."""
    box = QHBoxLayout()
    box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    if owner is not None:
        owner.setLayout(box)
    return box
