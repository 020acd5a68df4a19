"""Layouts, separating lines and scroll areas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

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
#: An empty part of :func:`fill` that takes the room that is left.
STRETCH = 1
Part = QWidget | QLayout | int
Box = TypeVar("Box", bound=QBoxLayout)


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


def fill(box: Box, *parts: Part | tuple[Part, int]) -> Box:
    """Add widgets, layouts and :data:`STRETCH` to ``box`` in their order, each alone or with a stretch factor.

    Returns ``box``.
    """
    for entry in parts:
        part, factor = entry if isinstance(entry, tuple) else (entry, 0)
        if isinstance(part, QWidget):
            box.addWidget(part, factor)
        elif isinstance(part, QLayout):
            box.addLayout(part, factor)
        else:
            box.addStretch(part)
    return box


def line_with_buttons(line: QLineEdit, *buttons: QWidget, owner: QWidget | None = None) -> QWidget:
    """``owner``, or a new widget, with ``line`` and ``buttons`` at its right."""
    row = owner or QWidget()
    fill(hbox(row, spacing=8), (line, 1), *buttons)
    return row


class WrappingRow(QLayout):
    """Widgets beside each other, on further lines where the width does not hold them all. In each line those that can
    be wider share what is left."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(*NONE)
        self.setSpacing(8)
        for widget in widgets:
            self.addWidget(widget)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), move=False)

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
        width, height = (max(sides, default=0) for sides in _sides(sizes))
        return QSize(width, height).grownBy(self.contentsMargins())

    def sizeHint(self) -> QSize:
        widths, heights = _sides([item.sizeHint() for item in self._items if not item.isEmpty()])
        width = sum(widths) + self.spacing() * max(0, len(widths) - 1)
        return QSize(width, max(heights, default=0)).grownBy(self.contentsMargins())

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, move=True)

    def _place(self, rect: QRect, *, move: bool) -> int:
        """Place the widgets if ``move``; returns the height they take."""
        margins = self.contentsMargins()
        rect = rect.marginsRemoved(margins)
        lines: list[list[QLayoutItem]] = []
        used = 0
        for item in self._items:
            if item.isEmpty():
                continue
            width = item.sizeHint().width()
            if not lines or used + self.spacing() + width > rect.width():
                lines.append([])
                used = -self.spacing()
            lines[-1].append(item)
            used += self.spacing() + width
        y = rect.y()
        for line in lines:
            height = max(item.sizeHint().height() for item in line)
            left = rect.width() - sum(item.sizeHint().width() for item in line)
            left -= self.spacing() * (len(line) - 1)
            growing = [item for item in line if item.expandingDirections() & Qt.Orientation.Horizontal]
            x = rect.x()
            for item in line:
                width = min(item.sizeHint().width(), rect.width())
                width += max(0, left) // len(growing) if item in growing else 0
                if move:
                    item.setGeometry(QRect(QPoint(x, y), QSize(width, height)))
                x += width + self.spacing()
            y += height + self.spacing()
        used = y - rect.y() - self.spacing() if lines else 0
        return used + margins.top() + margins.bottom()


def _sides(sizes: Sequence[QSize]) -> tuple[list[int], list[int]]:
    """The widths and the heights."""
    return [size.width() for size in sizes], [size.height() for size in sizes]


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
