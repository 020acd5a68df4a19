"""A check box that tells how many, where there is room for it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QStyle, QStyleOptionButton

from semblance.core.language import format_number


class CountedSwitch(QCheckBox):
    """``set_count(n)`` puts "(n)" behind the text; a number alone never makes the panel around it wider."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._plain, self._count = text, 0
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_count(self, n: int) -> None:
        """How many it stands for; 0 says nothing."""
        self._count = n
        self.updateGeometry()
        self._fit()

    def sizeHint(self) -> QSize:
        return self._with(self._whole())

    def minimumSizeHint(self) -> QSize:
        return self._with(self._plain)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _whole(self) -> str:
        return f"{self._plain} ({format_number(self._count, ',')})" if self._count else self._plain

    def _with(self, text: str) -> QSize:
        """As Qt's own hint, for another text than the present one."""
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = text
        size = self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, text)
        return self.style().sizeFromContents(QStyle.ContentsType.CT_CheckBox, option, size, self)

    def _fit(self) -> None:
        whole = self._whole()
        self.setText(whole if self.width() >= self.sizeHint().width() else self._plain)
        self.setAccessibleName(whole)
