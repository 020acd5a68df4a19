"""The head of a panel, 32 px: title or tabs, a second text, what can be done, and help."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QTabBar, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import BASE, font, set_look, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.no_wheel import NoWheelComboBox
from semblance.core.language import tr

HEIGHT = 32


class _Header(QFrame):
    help_requested = Signal()

    def __init__(self, parent: QWidget | None, *, help_button: bool) -> None:
        super().__init__(parent)
        set_look(self, role="header")
        self._row = hbox(self, spacing=8, margins=(12, 0, 8, 0))
        self._help = header_button("help", tr("Help for this panel (F1)"))
        self._help.clicked.connect(self.help_requested)
        # Shown before it has its place, it would be a window for a moment.
        if not help_button:
            self._help.hide()
        theme_signals.changed.connect(self._fit)
        self._fit()

    def add_action(self, widget: QWidget) -> None:
        """Put a button, check box or badge at the right, before help."""
        self._row.insertWidget(self._row.indexOf(self._help), widget)

    def add_leading(self, widget: QWidget) -> None:
        """Put a way back before the title."""
        self._row.insertWidget(0, widget)

    def add_button(self, name: str, tip: str) -> QToolButton:
        """A button with the icon ``name`` at the right; connect its ``clicked``."""
        button = header_button(name, tip)
        self.add_action(button)
        return button

    def sizeHint(self) -> QSize:
        """A dock gives its title bar the height asked for here, whatever stands in it."""
        return QSize(super().sizeHint().width(), theme().px(HEIGHT))

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(HEIGHT))


class PanelHeader(_Header):
    """``title`` in bold, ``second`` behind it; ``help_requested`` when its question mark is pressed."""

    def __init__(
        self, title: str, second: str = "", parent: QWidget | None = None, *, help_button: bool = True
    ) -> None:
        super().__init__(parent, help_button=help_button)
        self._title = QLabel(title)
        set_look(self._title, role="title")
        self._second = ElidedLabel(second, role="second", mode=Qt.TextElideMode.ElideMiddle)
        self._row.addWidget(self._title)
        self._row.addWidget(self._second)
        self._row.addStretch(1)
        self._row.addWidget(self._help)

    def set_title(self, title: str) -> None:
        self._title.setText(title)

    def set_second(self, text: str, short: str = "", *, tip: str = "") -> None:
        """``short`` is said where there is no room for ``text``; else its middle is left out."""
        self._second.set_short(short)
        self._second.set_tip(tip)
        self._second.setText(text)


class TabHeader(_Header):
    """Tabs instead of a title; ``changed(index)`` when another is chosen.

    ``title`` in bold stands before the tabs where a panel has a name of its own. Where the tabs have no room
    they are the choices of one field.
    """

    changed = Signal(int)

    def __init__(
        self,
        tabs: Sequence[str],
        parent: QWidget | None = None,
        *,
        title: str = "",
        second: str = "",
        help_button: bool = True,
    ) -> None:
        super().__init__(parent, help_button=help_button)
        self.tabs = TabBar()
        for tab in tabs:
            self.tabs.addTab(tab)
        self.tabs.currentChanged.connect(self.changed)
        self._choice = NoWheelComboBox()
        self._choice.setAccessibleName(title or tr("Panel"))
        self._choice.addItems(list(tabs))
        self._choice.activated.connect(self.tabs.setCurrentIndex)
        self.tabs.currentChanged.connect(self._choice.setCurrentIndex)
        self._choice.hide()
        self._second = ElidedLabel(second, role="second")
        self._second.hide()
        self._title = QLabel(title)
        self._title.hide()
        set_look(self._title, role="title")
        if not title:
            self._row.setContentsMargins(3, 0, 8, 0)
        self._row.addWidget(self._title)
        self._row.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignBottom)
        self._row.addWidget(self._choice)
        self._row.addStretch(1)
        self._row.addWidget(self._second)
        self._row.addWidget(self._help)

        self._make_room()

    def set_second(self, text: str) -> None:
        self._second.setText(text)
        self._make_room()

    @property
    def chooser(self) -> QWidget:
        """What the keyboard chooses a tab with."""
        return self._choice if self.tabs.isHidden() else self.tabs

    def sizeHint(self) -> QSize:
        """With all tabs and the title, whatever there is room for now."""
        return QSize(self._needed() + self._title_width(), theme().px(HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _needed(self) -> int:
        """px of all tabs and the buttons."""
        row, margins = self._row, self._row.contentsMargins()
        needed = margins.left() + margins.right() + self.tabs.sizeHint().width()
        own = (self._title, self.tabs, self._choice, self._second)
        for place in range(row.count()):
            item = row.itemAt(place)
            widget = item.widget() if item is not None else None
            if widget is not None and widget not in own and not widget.isHidden():
                needed += widget.sizeHint().width() + row.spacing()
        return needed

    def _title_width(self) -> int:
        return self._title.sizeHint().width() + self._row.spacing() if self._title.text() else 0

    def _make_room(self) -> None:
        """The tabs come first, then the title, then what else is said."""
        room = self.width() - self._needed()
        whole = room >= 0
        room -= self._title_width()
        self._title.setVisible(bool(self._title.text()) and room >= 0)
        room -= self._row.spacing()
        self._second.setMaximumWidth(max(0, room))
        room -= self._second.minimumSizeHint().width()
        # Where there is nothing to say, the tabs have its room.
        self._second.setVisible(bool(self._second.text()) and room >= 0)
        self.tabs.setVisible(whole)
        self._choice.setVisible(not whole)


class TabBar(QTabBar):
    """Tabs wide enough for their bold form, so that choosing one moves none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setUsesScrollButtons(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        set_look(self, inside="header")

    def tabSizeHint(self, index: int) -> QSize:
        bold = QFontMetrics(font(BASE, 600)).horizontalAdvance(self.tabText(index))
        return QSize(bold + 22, theme().px(HEIGHT) - 1)

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)


def header_button(name: str, tip: str) -> QToolButton:
    """A flat button for a header, with the icon ``name``."""
    button = QToolButton()
    button.setIcon(icon(name))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
