"""Facts in two columns: names in grey, and values."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel

NAMES = 88
#: Minimum px between a name and its value.
GAP = 8
ROW = 22


class FactList(QWidget):
    """Rows in the order of ``names``. A row without a value is hidden."""

    def __init__(self, names: tuple[str, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names: dict[str, ElidedLabel] = {}
        self._values: dict[str, QWidget] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        for row, name in enumerate(names):
            label = ElidedLabel(name, role="second")
            label.setVisible(False)
            self._names[name] = label
            self._grid.addWidget(label, row, 0)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_fact(self, name: str, value: str | None, tip: str = "") -> None:
        """Set the value of ``name``; ``None`` hides the row."""
        label = self._values.get(name)
        if not isinstance(label, ElidedLabel):
            label = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
            self.set_widget(name, label)
        label.setText(value or "")
        label.set_tip(tip)
        label.setAccessibleName(f"{name}: {label.text()}")
        self.show_fact(name, value is not None)

    def set_widget(self, name: str, widget: QWidget) -> None:
        """Show a widget as the value of ``name``."""
        old = self._values.pop(name, None)
        if old is not None:
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._values[name] = widget
        self._grid.addWidget(widget, list(self._names).index(name), 1)
        self.show_fact(name, True)

    def show_fact(self, name: str, shown: bool) -> None:
        """Show or hide a row."""
        self._names[name].setVisible(shown)
        if name in self._values:
            self._values[name].setVisible(shown)
        self._fit()

    def text(self, name: str) -> str:
        """The value of ``name``; empty while the row is hidden."""
        value = self._values.get(name)
        return value.text() if isinstance(value, ElidedLabel) and not value.isHidden() else ""

    def _fit(self) -> None:
        self._grid.setHorizontalSpacing(theme().px(GAP))
        self._grid.setColumnMinimumWidth(0, theme().px(NAMES) - theme().px(GAP))
        for row, label in enumerate(self._names.values()):
            self._grid.setRowMinimumHeight(row, 0 if label.isHidden() else theme().px(ROW))
