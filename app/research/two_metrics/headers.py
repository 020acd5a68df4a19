"""The two metrics that are compared, to choose, each with the findings of its nearest cases."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.nearest_chips import NearestChips
from semblance.app.widgets.tab_order import set_accessible_name
from semblance.core.language import tr


class MetricHeaders(QWidget):
    """Both hold the same names; ``chosen`` when a person picks one."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._sides = (_Side(tr("Left metric")), _Side(tr("Right metric")))
        self.pickers = tuple(side.picker for side in self._sides)
        self.chips = tuple(side.chips for side in self._sides)
        row = hbox(self, spacing=12, margins=(12, 6, 0, 6))
        row.addWidget(self._sides[0], 1)
        row.addWidget(self._sides[1])
        for box in self.pickers:
            box.activated.connect(lambda _at: self.chosen.emit())
        theme_signals.changed.connect(self._fit)
        self._fit()

    @property
    def metrics(self) -> tuple[str, str]:
        """Names of the left and the right metric; empty without any."""
        left, right = self.pickers
        return left.currentText(), right.currentText()

    def set_metrics(self, left: str, right: str) -> None:
        for box, name in zip(self.pickers, (left, right), strict=True):
            box.setCurrentText(name)

    def names(self) -> list[str]:
        """What can be chosen on either side."""
        box = self.pickers[0]
        return [box.itemText(place) for place in range(box.count())]

    def set_names(self, names: Sequence[str]) -> None:
        """Offer these, the first chosen on both sides."""
        for box in self.pickers:
            box.clear()
            box.addItems(names)

    def set_chips_visible(self, visible: bool) -> None:
        for chips in self.chips:
            chips.setVisible(visible)

    def set_right_width(self, width: int) -> None:
        self._sides[1].setFixedWidth(width)

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(40))
        for box in self.pickers:
            box.setMaximumWidth(theme().px(200))


class _Side(QWidget):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.picker, self.chips = QComboBox(), NearestChips()
        self.picker.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        row = hbox(self, spacing=12)
        row.addWidget(self.picker)
        set_accessible_name(self.picker, name)
        row.addWidget(self.chips)
        row.addStretch(1)
