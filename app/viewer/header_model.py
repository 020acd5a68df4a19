"""The table model of a file's header, with search. Identifying values are hidden by default."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from semblance.app.shell.theme import plain_tip, theme
from semblance.core.csv_cells import csv_line, safe_text
from semblance.core.imaging.dicom.header_lines import HeaderLine
from semblance.core.language import tr, translate

COLUMNS = (tr("Tag"), tr("Name"), tr("VR"), tr("Value"))
HIDDEN = tr("hidden")
_INDENT = "    "
_VALUE = 3
_Index = QModelIndex | QPersistentModelIndex


class HeaderModel(QAbstractTableModel):
    """``found``: the lines that are shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[HeaderLine] = []
        self._search_text = ""
        self.identifying_shown = False
        self.found: list[HeaderLine] = []

    def set_lines(self, lines: list[HeaderLine]) -> None:
        self._lines = lines
        self._apply()

    def search(self, text: str) -> None:
        """Show only lines that have every word of ``text`` in tag, name or visible value."""
        self._search_text = text
        self._apply()

    def set_identifying_shown(self, on: bool) -> None:
        """Show or hide values that can identify the patient."""
        self.identifying_shown = on
        self._apply()

    def value(self, line: HeaderLine) -> str:
        """The value as it is shown."""
        return HIDDEN if line.identifying and line.value and not self.identifying_shown else line.value

    def row_text(self, row: int) -> str:
        """The columns of a row, separated by tabs."""
        line = self.found[row]
        cells = (line.tag, _INDENT * line.depth + line.name, line.vr, self.value(line))
        return csv_line(map(safe_text, cells), "\t")

    def _apply(self) -> None:
        terms = self._search_text.casefold().split()
        self.beginResetModel()
        self.found = [line for line in self._lines if all(word in self._text(line) for word in terms)]
        self.endResetModel()

    def _text(self, line: HeaderLine) -> str:
        return f"{line.tag} {line.tag.replace(',', '')} {line.name} {self.value(line)}".casefold()

    # Qt

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self.found)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section]
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self.found[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            name = _INDENT * line.depth + translate(line.name)
            text = (line.tag, name, line.vr, translate(self.value(line)))[index.column()]
            return plain_tip(text.strip()) if role == Qt.ItemDataRole.ToolTipRole else text
        if role == Qt.ItemDataRole.ForegroundRole:
            look = theme()
            hidden = index.column() == _VALUE and line.identifying and not self.identifying_shown
            return QColor(look.text if index.column() in (1, _VALUE) and not hidden else look.third)
        return None
