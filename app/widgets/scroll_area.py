"""A vertical scroll area."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget


class PanelScrollArea(QScrollArea):
    """Fits ``inner`` to its width and scrolls it vertically. ``name``: for screen readers, as the keys scroll it."""

    def __init__(self, inner: QWidget, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(inner)
