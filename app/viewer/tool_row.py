"""The row above the image: the tools, undo, and the automatic window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import BASE, colour, font, theme, theme_signals
from semblance.app.viewer import tools
from semblance.app.widgets.layouts import HLine, hbox
from semblance.app.widgets.menus import Menu, open_below
from semblance.app.widgets.panel import header_button
from semblance.core.language import tr

#: Tools with a button in the narrowest row. The others are in a menu.
MIN_TOOLS = 2
#: Tools with a button where few controls are wanted.
FEW = (tools.SELECT, tools.RECTANGLE)
_SPACING = 4
#: Smallest px around an icon.
_ICON_MARGIN = 8
#: px beside the line.
_LINE_MARGIN = 2
_LINE_WIDTH = 1


class ToolRow(QWidget):
    """``tool_requested(name)``, ``undo_requested()`` and ``auto_requested()`` are emitted by its buttons.

    If the tools do not fit, the last ones are in a menu behind ``more``.
    """

    tool_requested = Signal(str)
    undo_requested = Signal()
    auto_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._group = QButtonGroup(self)
        self._is_plain = False
        #: Adds what else there is for the image to the menu of tools.
        self.menu_filler: Callable[[QMenu], object] | None = None
        self.tools: dict[str, QToolButton] = {}
        row = hbox(self, spacing=_SPACING)
        # The row sets its minimum size itself, not by the buttons that are visible.
        row.setSizeConstraint(QHBoxLayout.SizeConstraint.SetNoConstraint)
        for tool in tools.ALL:
            button = header_button(tool.name, f"{tool.tip} ({tool.key})")
            button.setObjectName(f"tool-{tool.name}")
            button.setCheckable(True)
            button.setChecked(tool.name == tools.SELECT)
            button.clicked.connect(lambda _checked=False, name=tool.name: self.tool_requested.emit(name))
            self._group.addButton(button)
            self.tools[tool.name] = button
            row.addWidget(button)
        self.measure = MeasureButton()
        self.measure.tool_requested.connect(self.tool_requested)
        self._group.addButton(self.measure)
        row.addWidget(self.measure)
        self.more = header_button("more", tr("More tools"))
        self.more.clicked.connect(self._open_menu)
        self.more.hide()
        row.addWidget(self.more)
        self._line = HLine(vertical=True)
        self._line.setFixedHeight(16)
        row.addSpacing(_LINE_MARGIN)
        row.addWidget(self._line)
        row.addSpacing(_LINE_MARGIN)
        self.undo = header_button(
            "undo", tr("Undo the last change of the region or of a measurement (Ctrl+Z)")
        )
        self.undo.setObjectName("undo-region")
        self.undo.clicked.connect(self.undo_requested)
        row.addWidget(self.undo)
        row.addStretch(1)
        self.auto = AutoButton()
        self.auto.clicked.connect(self.auto_requested)
        row.addWidget(self.auto)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme_signals.changed.connect(self._fit_width)

    def set_plain(self, plain: bool) -> None:
        """Whether only the tools in :data:`FEW` and the one in use have a button, the others a place in the menu."""
        self._is_plain = plain
        self._line.setVisible(not plain)
        self.undo.setVisible(not plain)
        self._fit_width()

    def show_tool(self, name: str) -> None:
        if name in self.tools:
            self.tools[name].setChecked(True)
        self.measure.show_tool(name)
        self._fit_width()

    def sizeHint(self) -> QSize:
        return QSize(self._needed_width(len(self.tools)), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._needed_width(MIN_TOOLS), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_width()

    def _needed_width(self, shown: int) -> int:
        """The width for ``shown`` tools and the other buttons."""
        buttons = [*list(self.tools.values())[:shown], self.measure, self.undo]
        if shown < len(self.tools):
            buttons.append(self.more)
        return (
            sum(map(_min_width, buttons))
            + self.auto.sizeHint().width()
            + _SPACING * (len(buttons) + 1)
            + 2 * _LINE_MARGIN
            + _LINE_WIDTH
        )

    def _fit_width(self) -> None:
        """Show the buttons that fit, always with the current tool."""
        for button in (*self.tools.values(), self.measure, self.undo, self.more):
            # Otherwise the layout would shrink the widest button, which has a text.
            button.setMinimumWidth(_min_width(button))
        shown = len(FEW if self._is_plain else self.tools)
        while not self._is_plain and shown > MIN_TOOLS and self._needed_width(shown) > self.width():
            shown -= 1
        visible = [self.tools[name] for name in FEW] if self._is_plain else list(self.tools.values())[:shown]
        for button in self.tools.values():
            if button.isChecked() and button not in visible:
                visible[-1] = button
        for button in self.tools.values():
            button.setVisible(button in visible)
        self.more.setVisible(shown < len(self.tools))

    def make_menu(self) -> QMenu:
        """The tools without a button; deletes itself when it closes."""
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for button in self.tools.values():
            if not button.isVisible():
                action = menu.addAction(button.icon(), button.toolTip(), button.click)
                action.setEnabled(button.isEnabled())
        if self.undo.isHidden():
            menu.addSeparator()
            action = menu.addAction(self.undo.icon(), self.undo.toolTip(), self.undo.click)
            action.setEnabled(self.undo.isEnabled())
        if self.menu_filler is not None:
            menu.addSeparator()
            self.menu_filler(menu)
        return menu

    def _open_menu(self) -> None:
        open_below(self.more, self.make_menu())


class MeasureButton(QToolButton):
    """The tool that measured last, and a menu of all that measure. ``tool_requested(name)``: one was chosen."""

    tool_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("tool-measure")
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.name = tools.RULER
        menu = Menu(self)
        self._actions = {
            tool.name: menu.addAction(
                icon(tool.icon), f"{tool.title}\t{tool.key}", partial(self.tool_requested.emit, tool.name)
            )
            for tool in tools.MEASURING
        }
        self.setMenu(menu)
        self.clicked.connect(lambda: self.tool_requested.emit(self.name))
        self.show_tool(self.name)
        self.setChecked(False)

    def show_tool(self, name: str) -> None:
        """Show the tool in use."""
        self.setChecked(name in tools.KINDS)
        if name in tools.KINDS:
            self.name = name
            tool = next(tool for tool in tools.MEASURING if tool.name == name)
            self.setIcon(icon(tool.icon))
            self.setToolTip(f"{tool.tip} ({tool.key})")
            self.setAccessibleName(tr("Measure: {tool}", tool=tool.title))


def _min_width(button: QToolButton) -> int:
    """The width of a button with an icon, smaller than its size hint."""
    if isinstance(button, MeasureButton):
        return button.sizeHint().width()
    return min(button.sizeHint().width(), button.iconSize().width() + _ICON_MARGIN)


class AutoButton(QPushButton):
    """ "Auto" with its key beside it in grey."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Auto"), parent)
        self.setObjectName("auto-window")
        self.setAccessibleName(tr("Automatic window / level"))
        self.setToolTip(tr("Reset window / level (0)"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._fit()
        theme_signals.changed.connect(self._fit)

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
        text_area = self.rect().adjusted(0, 0, -9, 0)
        painter.drawText(text_area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, "0")
        painter.end()
