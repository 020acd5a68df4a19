"""Layouts, separating lines and scroll areas."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from semblance.app.shell.theme import set_look

#: Left, top, right, bottom.
Margins = tuple[int, int, int, int]
NONE: Margins = (0, 0, 0, 0)
#: px from the left and right edge of every panel to what is seen in it.
EDGE = 12
#: px from the edge of a flat button to its icon: where one is at the edge of a panel, its margin is less by this.
ICON_INSET = 7
#: Width of a scroll bar in px, as in the style sheet. It lies over the margin at the right, which thus is the same with
#: a bar and without.
BAR = 10


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


class HLine(QFrame):
    """A horizontal line, or a ``vertical`` one."""

    def __init__(self, *, vertical: bool = False) -> None:
        super().__init__()
        set_look(self, role="rule-upright" if vertical else "rule")
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)


class PanelScrollArea(QScrollArea):
    """Fits ``inner`` to its width and scrolls it vertically. ``name``: for screen readers, as the keys scroll it."""

    def __init__(self, inner: QWidget, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(inner)
        layout = inner.layout()
        if layout is not None and layout.contentsMargins().right() >= BAR:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
            self.setViewportMargins(0, 0, -BAR, 0)
