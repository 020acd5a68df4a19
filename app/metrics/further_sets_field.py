"""Check boxes for further feature sets of one metric, in the Train panel."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from semblance.app.widgets.layouts import vbox
from semblance.core.language import tr


class FurtherSetsField(QWidget):
    """A check box for each feature set that can be used beside the chosen one. ``changed``: others are ticked."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Further feature sets"))
        self._boxes: dict[str, QCheckBox] = {}
        self._column = vbox(self, spacing=2)

    @property
    def names(self) -> list[str]:
        """The sets that are offered."""
        return list(self._boxes)

    @property
    def ticked(self) -> list[str]:
        """The sets that are ticked."""
        return [name for name, box in self._boxes.items() if box.isChecked()]

    def set_names(self, names: Sequence[str]) -> None:
        """Offer these sets. Those that were ticked stay so."""
        if list(names) == self.names:
            return
        ticked = self.ticked
        for box in self._boxes.values():
            self._column.removeWidget(box)
            box.hide()
            box.deleteLater()
        self._boxes = {}
        for name in names:
            box = QCheckBox(name)
            box.setAccessibleName(tr("Use {name} too", name=name))
            box.setToolTip(
                tr("Each set has its own steps. Before the learner weighs them, all count the same")
            )
            box.setChecked(name in ticked)
            box.toggled.connect(self.changed)
            self._boxes[name] = box
            self._column.addWidget(box)
        if ticked != self.ticked:
            self.changed.emit()
