"""Findings as coloured squares with a letter: one beside its name, and those of the nearest cases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import (
    colour,
    finding_colour,
    finding_letter_colour,
    font,
    theme,
    theme_signals,
)
from semblance.core.language import tr, visible

if TYPE_CHECKING:
    from semblance.core.library.case_columns import CaseColumns

SIDE = 14
UNKNOWN = "?"
_GAP = 5

#: Cases whose findings are shown.
NEAREST = 10


def chip_pixmap(code: int, letter: str, ratio: float = 1.0) -> QPixmap:
    """The square of the finding ``code`` (negative: unknown, letter "?"). Shared: do not paint on it."""
    colours = finding_colour(code), finding_letter_colour(code)
    return _chip(colours, letter if code >= 0 else UNKNOWN, theme().px(SIDE), ratio)


@lru_cache(maxsize=512)
def _chip(colours: tuple[str, str], letter: str, side: int, ratio: float) -> QPixmap:
    pixmap = QPixmap(round(side * ratio), round(side * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour(colours[0]))
    painter.drawRoundedRect(QRectF(0, 0, side, side), 3, 3)
    text = font(10, 700)
    metrics = QFontMetricsF(text)
    width = metrics.horizontalAdvance(letter)
    if width > side - 3:
        text.setPixelSize(max(6, int(text.pixelSize() * (side - 2) / width)))
        metrics = QFontMetricsF(text)
        width = metrics.horizontalAdvance(letter)
    painter.setFont(text)
    painter.setPen(colour(colours[1]))
    painter.drawText(QPointF((side - width) / 2, (side + metrics.capHeight()) / 2), letter)
    painter.end()
    return pixmap


class FindingChip(QWidget):
    """The chip and, unless ``name`` is empty, the finding's name, elided if it does not fit."""

    def __init__(self, code: int, letter: str, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._code, self._letter, self._name = code, letter, visible(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._update_accessible_text()

    def set_finding(self, code: int, letter: str, name: str = "") -> None:
        shown = (code, letter, visible(name))
        if shown != (self._code, self._letter, self._name):
            self._code, self._letter, self._name = shown
            self._update_accessible_text()
            self.updateGeometry()
        # Its colour may be another one.
        self.update()

    def _update_accessible_text(self) -> None:
        self.setToolTip(self._name)
        self.setAccessibleName(self._name or self._letter or UNKNOWN)

    def sizeHint(self) -> QSize:
        side = theme().px(SIDE)
        text = QFontMetricsF(font()).horizontalAdvance(self._name)
        return QSize(side + (int(text) + _GAP + 2 if self._name else 0), max(side, theme().px(18)))

    def minimumSizeHint(self) -> QSize:
        side = theme().px(SIDE)
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = theme().px(SIDE)
        top = (self.height() - side) // 2
        painter.drawPixmap(0, top, chip_pixmap(self._code, self._letter, self.devicePixelRatioF()))
        if self._name:
            painter.setFont(font())
            painter.setPen(colour(theme().text if self.isEnabled() else theme().disabled))
            text_width = self.width() - side - _GAP
            name = painter.fontMetrics().elidedText(self._name, Qt.TextElideMode.ElideRight, text_width)
            where = QRectF(side + _GAP, 0, text_width, self.height())
            painter.drawText(where, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
        painter.end()


def finding_code(finding: str | None, columns: CaseColumns) -> tuple[int, str]:
    """Code and letter of a finding; those of an unknown finding for ``None`` or one not in the library."""
    # With it comes numpy, for which the first paint does not wait.
    from semblance.core.library.case_columns import NO_FINDING

    if finding is not None and finding in columns.findings:
        return columns.findings.index(finding), columns.letters[finding]
    return NO_FINDING, UNKNOWN


class NearestChips(QWidget):
    """Chips, closer together where they do not fit, and an ellipsis for those that do not fit even so."""

    def __init__(self) -> None:
        super().__init__()
        self._chips: list[tuple[int, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme_signals.changed.connect(self.updateGeometry)

    def show_findings(self, columns: CaseColumns, findings: Sequence[str | None]) -> None:
        """Show the findings of the nearest cases, the nearest first."""
        self._chips = [finding_code(finding, columns) for finding in findings]
        names = ", ".join(finding or tr("not given") for finding in findings)
        self.setAccessibleName(tr("Findings of the {n} nearest: {findings}", n=len(findings), findings=names))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(NEAREST * (theme().px(SIDE) + 4), theme().px(SIDE) + 2)

    def minimumSizeHint(self) -> QSize:
        # One for each finding that a summary names at most.
        return QSize(4 * (theme().px(SIDE) + 1), theme().px(SIDE))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = theme().px(SIDE)
        between = max(1, len(self._chips) - 1)
        step = max(side + 1, min(side + 4, (self.width() - side) // between))
        at = QRect(0, (self.height() - side) // 2, side, side)
        for number, (code, letter) in enumerate(self._chips, 1):
            is_last = number == len(self._chips)
            if at.right() + (0 if is_last else step) > self.width():
                painter.setPen(colour(theme().second))
                painter.drawText(at, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, "…")
                break
            painter.drawPixmap(at.topLeft(), chip_pixmap(code, letter, self.devicePixelRatioF()))
            at.translate(step, 0)
        painter.end()
