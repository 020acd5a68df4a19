"""The findings of the nearest cases, in order, as chips."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.finding_chip import SIDE, UNKNOWN, chip_pixmap
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns

#: Cases whose findings are shown.
NEAREST = 10


def finding_code(finding: str | None, columns: CaseColumns) -> tuple[int, str]:
    """Code and letter of a finding; those of an unknown finding for ``None`` or one not in the library."""
    if finding is not None and finding in columns.findings:
        return columns.findings.index(finding), columns.letters[finding]
    return NO_FINDING, UNKNOWN


class NearestChips(QWidget):
    """As many chips as fit."""

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
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(NEAREST * (theme().px(SIDE) + 4), theme().px(SIDE) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, theme().px(SIDE))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = theme().px(SIDE)
        at = QRect(0, (self.height() - side) // 2, side, side)
        for code, letter in self._chips:
            if at.right() > self.width():
                break
            painter.drawPixmap(at.topLeft(), chip_pixmap(code, letter, self.devicePixelRatioF()))
            at.translate(side + 4, 0)
        painter.end()
