"""What a person sets for the similar cases: switches, diversity, and from which distance on there is no close match."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QAction, QActionGroup, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QMenu, QSizePolicy, QStyle, QStyleOptionButton, QToolButton

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.widgets.menus import Menu, open_below
from semblance.app.widgets.panel import header_button
from semblance.core.language import format_number, tr
from semblance.core.searches.search import NO_MATCH_RATE

#: The weight of diversity if diverse results are chosen.
DIVERSE = 0.3
#: Shares of the library's own cases that would have no close match.
RATES = (0.0, 0.005, NO_MATCH_RATE, 0.02, 0.05, 0.1)


class RankingOptions(QObject):
    """The button, its menu, and the action ``diverse`` that the palette shares."""

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state = context, context.state
        self.button: QToolButton = header_button("settings", tr("What is shown, and how"))
        #: Adds entries before those of the menu.
        self.menu_filler: Callable[[QMenu], object] | None = None
        self.button.clicked.connect(self.show_menu)
        self.diverse = QAction(tr("Show diverse results"), self)
        self.diverse.setCheckable(True)
        self.diverse.setToolTip(tr("Near the query, but unlike the cases before"))
        self.diverse.toggled.connect(self._set_diverse)
        self._rates = QActionGroup(self)
        for rate in RATES:
            action = QAction(rate_text(rate), self._rates)
            action.setCheckable(True)
            action.setData(rate)
        self._rates.triggered.connect(lambda action: self._set_rate(float(action.data())))
        self._state.on_change(Change.OPTIONS | Change.LIBRARY, self, self._follow)
        self._follow()

    def menu(self) -> QMenu:
        """The menu: diversity, then the rates."""
        menu = Menu(self.button)
        if self.menu_filler is not None:
            self.menu_filler(menu)
        menu.addAction(self.diverse)
        menu.addSeparator()
        # With a style sheet the text of a section is not drawn.
        menu.addAction(tr("Show that there is no close match")).setEnabled(False)
        menu.addActions(self._rates.actions())
        return menu

    def show_menu(self) -> None:
        """Show the menu below its button."""
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        open_below(self.button, menu)

    def _set_diverse(self, on: bool) -> None:
        if on != (self._state.diverse > 0.0):
            search_operations.set_options(self._context, diverse=DIVERSE if on else 0.0)

    def _set_rate(self, rate: float) -> None:
        search_operations.set_options(self._context, no_match_rate=rate)

    def _follow(self) -> None:
        self.diverse.setChecked(self._state.diverse > 0.0)
        for action in self._rates.actions():
            action.setChecked(action.data() == self._state.no_match_rate)


def rate_text(rate: float) -> str:
    """The text of a rate: for what share of the library's own cases there would be no close match."""
    if rate <= 0.0:
        return tr("Never show")
    return tr("As for {share:g} % of the library's cases", share=100 * rate)


class CountedSwitch(QCheckBox):
    """``set_count(n)`` adds "(n)" to the text. The count never makes the panel wider.

    ``short``: the text where there is no space for ``text``.
    """

    def __init__(self, text: str, short: str) -> None:
        super().__init__(text)
        self._text, self._short, self._count = text, short, 0
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_count(self, n: int) -> None:
        """Set the count; 0 hides it."""
        self._count = n
        self.updateGeometry()
        self._update_text()

    def sizeHint(self) -> QSize:
        return self._size_for(self._full_text())

    def minimumSizeHint(self) -> QSize:
        return self._size_for(self._text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_text()

    def _full_text(self) -> str:
        return f"{self._text} ({format_number(self._count, ',')})" if self._count else self._text

    def _size_for(self, text: str) -> QSize:
        """Qt's size hint for ``text``."""
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = text
        size = self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, text)
        return self.style().sizeFromContents(QStyle.ContentsType.CT_CheckBox, option, size, self)

    def _update_text(self) -> None:
        texts = (self._full_text(), self._text)
        self.setText(
            next((text for text in texts if self.width() >= self._size_for(text).width()), self._short)
        )
        self.setAccessibleName(texts[0])
