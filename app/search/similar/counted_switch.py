"""A check box that shows a count, or a shorter text, by the space it has."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QStyle, QStyleOptionButton

from semblance.core.language import format_number


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
