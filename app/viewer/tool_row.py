"""The row above the picture: which tool the mouse is, undo, and the first greys again."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.icons import icon
from app.theme import BASE, colour, font, news, set_look, theme
from app.viewer import tools
from core.language import tr


class ToolRow(QWidget):
    """``tool_wanted(name)``, ``undo_wanted()`` and ``auto_wanted()`` tell what was pressed."""

    tool_wanted = Signal(str)
    undo_wanted = Signal()
    auto_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._group = QButtonGroup(self)
        self.tools: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for tool in tools.ALL:
            button = _button(tool.name, f"{tool.tip} ({tool.key})")
            button.setObjectName(f"tool-{tool.name}")
            button.setCheckable(True)
            button.setChecked(tool.name == tools.SELECT)
            button.clicked.connect(lambda _checked=False, name=tool.name: self.tool_wanted.emit(name))
            self._group.addButton(button)
            self.tools[tool.name] = button
            row.addWidget(button)
        rule = QFrame()
        set_look(rule, role="rule-upright")
        rule.setFixedHeight(16)
        row.addSpacing(2)
        row.addWidget(rule)
        row.addSpacing(2)
        self.undo = _button("undo", tr("Undo the last change of the region (Ctrl+Z)"))
        self.undo.setObjectName("undo-region")
        self.undo.clicked.connect(self.undo_wanted)
        row.addWidget(self.undo)
        row.addStretch(1)
        self.auto = AutoButton()
        self.auto.clicked.connect(self.auto_wanted)
        row.addWidget(self.auto)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_tool(self, name: str) -> None:
        self.tools[name].setChecked(True)


class AutoButton(QPushButton):
    """ "Auto" with its key beside it in grey."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Auto"), parent)
        self.setObjectName("auto-window")
        self.setAccessibleName(tr("Automatic brightness and contrast"))
        self.setToolTip(tr("Brightness and contrast as the picture was opened (0)"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._fit()
        news.changed.connect(self._fit)

    def _fit(self) -> None:
        self.setStyleSheet(f"padding: 0 {theme().px(26)}px 0 9px;")

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width(), theme().px(26))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setFont(font(BASE))
        painter.setPen(colour(theme().third if self.isEnabled() else theme().disabled))
        room = self.rect().adjusted(0, 0, -9, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, "0")
        painter.end()


def _button(sign: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setIcon(icon(sign))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
