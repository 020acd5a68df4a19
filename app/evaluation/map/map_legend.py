"""The legend of the map: the findings with their markers, as check boxes."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QScrollArea, QWidget

from semblance.app.evaluation.map.legend_icon import legend_icon, legend_icon_size
from semblance.app.shell.theme import plain_tip, theme_signals
from semblance.app.widgets.layouts import vbox
from semblance.core.language import format_number, tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns


class MapLegend(QScrollArea):
    """Check boxes of the findings with marker, letter and count. Ticked findings are shown on the map."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._boxes: dict[int, QCheckBox] = {}
        self._entries: tuple[tuple[int, str, int], ...] = ()
        self._letters: dict[str, str] = {}
        self._content = QWidget()
        self._boxes_layout = vbox(self._content, spacing=2, margins=(0, 2, 0, 2))
        self.setWidget(self._content)
        theme_signals.changed.connect(self._rebuild)

    def show_findings(self, columns: CaseColumns) -> None:
        """List the findings of the library. The ticks stay if the findings are the same."""
        counts = columns.finding_counts.tolist()
        entries = [(code, name, counts[code]) for code, name in enumerate(columns.findings)]
        if counts[-1]:
            entries.append((NO_FINDING, tr("not given"), counts[-1]))
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self._letters = columns.letters
            self._rebuild()

    def ticked_codes(self) -> list[int] | None:
        """Codes of the ticked findings, or ``None`` if all are ticked."""
        ticked = [code for code, box in self._boxes.items() if box.isChecked()]
        return None if len(ticked) == len(self._boxes) else ticked

    def _rebuild(self) -> None:
        ticked = {code: box.isChecked() for code, box in self._boxes.items()}
        while (layout_item := self._boxes_layout.takeAt(0)) is not None:
            widget = layout_item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._boxes = {}
        for code, name, count in self._entries:
            box = QCheckBox(f"{name}  {format_number(count, ',')}".replace("&", "&&"))
            box.setChecked(ticked.get(code, True))
            letter = "?" if code == NO_FINDING else self._letters[name]
            box.setIcon(legend_icon(code, letter, self.devicePixelRatioF()))
            box.setIconSize(legend_icon_size())
            box.setToolTip(
                plain_tip(tr("{finding}: {n:,} cases. Untick to hide them.", finding=name, n=count))
            )
            box.toggled.connect(lambda _on: self.changed.emit())
            self._boxes_layout.addWidget(box)
            self._boxes[code] = box
        self._boxes_layout.addStretch(1)
