"""Panels and pages on the whole window, with their headers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QResizeEvent, QStandardItemModel
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListView,
    QPushButton,
    QTabBar,
    QToolButton,
    QWidget,
)

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import BASE, font, set_look, theme, theme_signals
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import EDGE, ICON_INSET, STRETCH, fill, hbox, vbox
from semblance.core.language import tr

HEIGHT = 32
#: px beside the text of a tab, as in the style sheet.
TAB_MARGIN = 9

BACK_TO_SIMILAR_CASES = (tr("Similar cases"), tr("Back to the similar cases (Esc)"))


class Panel(QWidget):
    """``name``: the accessible name."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        set_look(self, role="panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


class _BaseHeader(QFrame):
    help_requested = Signal()

    def __init__(self, parent: QWidget | None, *, help_button: bool) -> None:
        super().__init__(parent)
        set_look(self, role="header")
        self._row = hbox(self, spacing=8, margins=(EDGE, 0, EDGE - ICON_INSET, 0))
        self.help_button = header_button("help", tr("Help for this panel"))
        self.help_button.clicked.connect(self.help_requested)
        # Shown without a parent it would be a window for a moment.
        if not help_button:
            self.help_button.hide()
        theme_signals.changed.connect(self._fit)
        self._fit()

    def add_action(self, widget: QWidget) -> None:
        """Add a button, check box or badge at the right, before help."""
        self._row.insertWidget(self._row.indexOf(self.help_button), widget)
        leave_keyboard(widget)

    def add_leading(self, widget: QWidget) -> None:
        """Add a button before the title."""
        self._row.insertWidget(0, widget)
        leave_keyboard(widget)

    def show_help_button(self, shown: bool) -> None:
        """Whether the question mark is shown. F1 does the same."""
        self.help_button.setVisible(shown)

    def add_button(self, name: str, tip: str) -> QToolButton:
        """A button with the icon ``name`` at the right; connect its ``clicked``."""
        button = header_button(name, tip)
        self.add_action(button)
        return button

    def sizeHint(self) -> QSize:
        """A dock gives its title bar this height."""
        return QSize(super().sizeHint().width(), theme().px(HEIGHT))

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(HEIGHT))


class PanelHeader(_BaseHeader):
    """``title`` in bold with ``subtitle`` behind it. ``help_requested``: the question mark was pressed."""

    def __init__(
        self, title: str, subtitle: str = "", parent: QWidget | None = None, *, help_button: bool = True
    ) -> None:
        super().__init__(parent, help_button=help_button)
        self._title = QLabel(title)
        set_look(self._title, role="title")
        self._subtitle = ElidedLabel(subtitle, role="second", mode=Qt.TextElideMode.ElideMiddle)
        fill(self._row, self._title, self._subtitle, STRETCH, self.help_button)

    def set_title(self, title: str) -> None:
        self._title.setText(title)

    def set_subtitle(self, text: str, short: str = "", *, tip: str = "") -> None:
        """``short`` is shown if ``text`` does not fit. Without it the text is elided in the middle."""
        self._subtitle.set_short_text(short)
        self._subtitle.set_tip(tip)
        self._subtitle.setText(text)

    @property
    def title(self) -> str:
        """Title and subtitle."""
        return f"{self._title.text()} {self._subtitle.text()}".strip()

    def drawn_texts(self) -> list[str]:
        """What is read as one text."""
        return [self.title]


class TabHeader(_BaseHeader):
    """Tabs, with an optional ``title`` in bold before them. ``changed(index)``: another tab was chosen.

    If the tabs do not fit, a combo box replaces them.
    """

    changed = Signal(int)

    def __init__(
        self,
        tabs: Sequence[str],
        parent: QWidget | None = None,
        *,
        title: str = "",
        subtitle: str = "",
        help_button: bool = True,
    ) -> None:
        super().__init__(parent, help_button=help_button)
        self.tabs = TabBar()
        for tab in tabs:
            self.tabs.addTab(tab)
        self.tabs.currentChanged.connect(self.changed)
        self._tab_choice = NoWheelComboBox()
        self._tab_choice.setAccessibleName(title or tr("Panel"))
        self._tab_choice.addItems(list(tabs))
        self._tab_choice.activated.connect(self.tabs.setCurrentIndex)
        self.tabs.currentChanged.connect(self._tab_choice.setCurrentIndex)
        self._tab_choice.hide()
        self._subtitle = ElidedLabel(subtitle, role="second")
        self._subtitle.hide()
        self._title = QLabel(title)
        self._title.hide()
        set_look(self._title, role="title")
        if not title:
            self._row.setContentsMargins(EDGE - TAB_MARGIN, 0, EDGE - ICON_INSET, 0)
        self._row.addWidget(self._title)
        self._row.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignBottom)
        fill(self._row, self._tab_choice, STRETCH, self._subtitle, self.help_button)

        self._fit_width()

    def set_subtitle(self, text: str) -> None:
        self._subtitle.setText(text)
        self._fit_width()

    def set_shown(self, places: Collection[int]) -> None:
        """Show only the tabs at these places."""
        items = self._tab_choice.model()
        for place in range(self.tabs.count()):
            self.tabs.setTabVisible(place, place in places)
            # The keys step over what is disabled.
            if isinstance(items, QStandardItemModel):
                items.item(place).setEnabled(place in places)
            view = self._tab_choice.view()
            if isinstance(view, QListView):
                view.setRowHidden(place, place not in places)
        # Qt does not report that the bar needs another width.
        self.tabs.updateGeometry()
        self._fit_width()

    @property
    def tab_chooser(self) -> QWidget:
        """The tabs, or the combo box that replaces them."""
        return self._tab_choice if self.tabs.isHidden() else self.tabs

    def sizeHint(self) -> QSize:
        """The size with all tabs and the title."""
        return QSize(self._needed_width() + self._title_width(), theme().px(HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_width()

    def _needed_width(self) -> int:
        """px of all tabs and the buttons."""
        row, margins = self._row, self._row.contentsMargins()
        needed_width = margins.left() + margins.right() + self.tabs.sizeHint().width()
        own = (self._title, self.tabs, self._tab_choice, self._subtitle)
        for place in range(row.count()):
            item = row.itemAt(place)
            widget = item.widget() if item is not None else None
            if widget is not None and widget not in own and not widget.isHidden():
                needed_width += widget.sizeHint().width() + row.spacing()
        return needed_width

    def _title_width(self) -> int:
        return self._title.sizeHint().width() + self._row.spacing() if self._title.text() else 0

    def _fit_width(self) -> None:
        """Show the tabs, then the title, then the subtitle, as far as they fit."""
        free_width = self.width() - self._needed_width()
        fits = free_width >= 0
        free_width -= self._title_width()
        self._title.setVisible(bool(self._title.text()) and free_width >= 0)
        free_width -= self._row.spacing()
        self._subtitle.setMaximumWidth(max(0, free_width))
        free_width -= self._subtitle.minimumSizeHint().width()
        # An empty subtitle would take space from the tabs.
        self._subtitle.setVisible(bool(self._subtitle.text()) and free_width >= 0)
        self.tabs.setVisible(fits)
        self._tab_choice.setVisible(not fits)


class TabBar(QTabBar):
    """Tabs wide enough for bold text, so that they do not move when another is chosen."""

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


def leave_keyboard(widget: QWidget) -> None:
    """Let a button that is pressed with the mouse leave the keyboard where it was, for the keys of images and cards."""
    if isinstance(widget, QPushButton):
        widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)


def header_button(name: str, tip: str) -> QToolButton:
    """A flat button for a header, with the icon ``name``."""
    button = QToolButton()
    button.setIcon(icon(name))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


class ImageHeader(PanelHeader):
    """The title of an image and its name."""

    def __init__(self, title: str) -> None:
        super().__init__(title, help_button=False)
        self._row.setContentsMargins(EDGE, 0, EDGE, 0)


def side_by_side(headers: Sequence[ImageHeader], images: Sequence[QWidget]) -> QHBoxLayout:
    """Columns of equal width, each with a header and its image."""
    sides = hbox(spacing=1)
    for header, image in zip(headers, images, strict=True):
        column = fill(vbox(), header, (image, 1))
        sides.addLayout(column, 1)
    return sides


class FullPage(Panel):
    """``closed``: the user goes back. ``back``: text and tooltip of the button. ``detached(on)``: the page is to be in
    a window of its own, or in the main window again."""

    closed = Signal()
    detached = Signal(bool)

    def __init__(self, name: str, title: str = "", back: tuple[str, str] = BACK_TO_SIMILAR_CASES) -> None:
        super().__init__(name)
        self.header = PanelHeader(title or name)
        self.back = QPushButton(back[0])
        self.back.setIcon(icon("chevron-left"))
        self.back.setToolTip(back[1])
        self.back.clicked.connect(self.closed)
        self.header.add_leading(self.back)

    def add_detach_button(self) -> None:
        """Add the button that takes the page to a window of its own, and back."""
        self.detach = header_button("pop-out", "")
        self.detach.setCheckable(True)
        self.detach.toggled.connect(self._update_detach)
        self.detach.clicked.connect(self.detached)
        self._update_detach()
        self.header.add_action(self.detach)

    def _update_detach(self) -> None:
        is_detached = self.detach.isChecked()
        self.detach.setIcon(icon("dock-in" if is_detached else "pop-out"))
        text = (
            tr("Show in the main window again")
            if is_detached
            else tr("Show in a window of its own, as on a second monitor")
        )
        self.detach.setToolTip(text)
        self.detach.setAccessibleName(text)

    def minimumSizeHint(self) -> QSize:
        """Zero, because the ranking under this page may be narrower."""
        return QSize(0, 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)
