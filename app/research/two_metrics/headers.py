"""The headers of the two rankings: a list of metrics and the findings of the nearest cases."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.finding_chips import NearestChips
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.tab_order import set_accessible_name
from semblance.core.language import tr


class MetricHeaders(QWidget):
    """Both lists have the same names. ``chosen`` is emitted when the user selects a metric."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._headers = (MetricHeader(tr("Left metric")), MetricHeader(tr("Right metric")))
        self.pickers = tuple(header.picker for header in self._headers)
        self.chips = tuple(header.chips for header in self._headers)
        row = hbox(self, spacing=12, margins=(12, 6, 0, 6))
        row.addWidget(self._headers[0], 1)
        row.addWidget(self._headers[1])
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
        """The names in both lists."""
        box = self.pickers[0]
        return [box.itemText(place) for place in range(box.count())]

    def set_names(self, names: Sequence[str]) -> None:
        """Set the names in both lists. The first one is selected."""
        for box in self.pickers:
            box.clear()
            box.addItems(names)

    def set_chips_visible(self, visible: bool) -> None:
        for chips in self.chips:
            chips.setVisible(visible)

    def set_right_width(self, width: int) -> None:
        self._headers[1].setFixedWidth(width)

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(40))
        for box in self.pickers:
            box.setMaximumWidth(theme().px(200))


class MetricHeader(QWidget):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.picker, self.chips = QComboBox(), NearestChips()
        self.picker.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        row = hbox(self, spacing=12)
        row.addWidget(self.picker)
        set_accessible_name(self.picker, name)
        row.addWidget(self.chips)
        row.addStretch(1)
