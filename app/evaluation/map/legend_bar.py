"""The findings beside the map, with what stands for them, to tick."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QScrollArea, QWidget

from semblance.app.evaluation.map.map_legend import key_icon, key_size
from semblance.app.shell.theme import plain_tip, theme_signals
from semblance.app.widgets.layouts import vbox
from semblance.core.language import format_number, tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns


class MapKey(QScrollArea):
    """The findings with colour, shape, letter and count; ticked ones are shown."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._boxes: dict[int, QCheckBox] = {}
        self._known: tuple[tuple[int, str, int], ...] = ()
        self._letters: dict[str, str] = {}
        self._inner = QWidget()
        self._rows = vbox(self._inner, spacing=2, margins=(0, 2, 0, 2))
        self.setWidget(self._inner)
        theme_signals.changed.connect(self._rebuild)

    def show_findings(self, columns: CaseColumns) -> None:
        """The findings of the library; ticks stay where they are the same."""
        counts = columns.finding_counts.tolist()
        known = [(code, name, counts[code]) for code, name in enumerate(columns.findings)]
        if counts[-1]:
            known.append((NO_FINDING, tr("not given"), counts[-1]))
        if tuple(known) != self._known:
            self._known = tuple(known)
            self._letters = columns.letters
            self._rebuild()

    def shown(self) -> list[int] | None:
        """Codes of the findings that are ticked; ``None`` where all are."""
        ticked = [code for code, box in self._boxes.items() if box.isChecked()]
        return None if len(ticked) == len(self._boxes) else ticked

    def _rebuild(self) -> None:
        ticks = {code: box.isChecked() for code, box in self._boxes.items()}
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._boxes = {}
        for code, name, count in self._known:
            box = QCheckBox(f"{name}  {format_number(count, ',')}".replace("&", "&&"))
            box.setChecked(ticks.get(code, True))
            letter = "?" if code == NO_FINDING else self._letters[name]
            box.setIcon(key_icon(code, letter, self.devicePixelRatioF()))
            box.setIconSize(key_size())
            box.setToolTip(
                plain_tip(tr("{finding}: {n:,} cases. Untick to hide them.", finding=name, n=count))
            )
            box.toggled.connect(lambda _on: self.changed.emit())
            self._rows.addWidget(box)
            self._boxes[code] = box
        self._rows.addStretch(1)
