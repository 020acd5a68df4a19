"""How a table is written, with its first rows as they are read."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.shell.theme import plain_tip, theme
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.tables import make_read_only
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n, visible
from semblance.core.library.importers.encodings import ENCODINGS
from semblance.core.library.importers.read_table import TablePreview

_AUTO = tr("automatic")
#: Name of the setting -> its label and its values with their texts.
_FIELDS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "delimiter": (
        tr("Separator"),
        ((",", tr("comma")), (";", tr("semicolon")), ("tab", tr("tab"))),
    ),
    "decimal": (tr("Decimal sign"), ((".", tr("point")), (",", tr("comma")))),
    "header": (tr("First row"), (("yes", tr("names of the columns")), ("no", tr("a case")))),
    "encoding": (tr("Encoding"), tuple((name, name.upper()) for name in ENCODINGS)),
    "finding": (tr("Finding"), ()),
    "patient": (tr("Patients"), ()),
    "case": (tr("Case IDs"), ()),
}
_USES = {
    "finding": tr("finding"),
    "patient": tr("patient"),
    "case": tr("case ID"),
    "number": tr("feature"),
    "text": tr("attribute"),
    "": tr("not used"),
}
#: Columns that the preview shows.
_SHOWN = 12
_FIELDS_A_ROW = 3


class TableSettings(QWidget):
    """Fields for the settings of a table, and a preview below them. ``changed`` asks for another preview, ``shown``
    says that there is one. ``problem``: why the table cannot be imported in this way."""

    changed = Signal()
    shown = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._fields = {name: QComboBox() for name in _FIELDS}
        self.problem = ""
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        for place, (name, box) in enumerate(self._fields.items()):
            title, choices = _FIELDS[name]
            for value, text in (("", _AUTO), *choices):
                box.addItem(text, value)
            box.setAccessibleName(title)
            box.currentIndexChanged.connect(lambda _index: self.changed.emit())
            label = QLabel(title)
            label.setBuddy(box)
            row, column = divmod(place, _FIELDS_A_ROW)
            grid.addWidget(label, 2 * row, column)
            grid.addWidget(box, 2 * row + 1, column)
            grid.setColumnStretch(column, 1)
        self._note = WrappedLabel(role="second")
        self._table = QTableWidget()
        self._table.setAccessibleName(tr("First rows"))
        make_read_only(self._table)
        self._table.setHorizontalScrollMode(QTableWidget.ScrollMode.ScrollPerPixel)
        self._table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self._table.setFixedHeight(theme().px(216))
        column_of_all = vbox(self, spacing=8)
        column_of_all.addLayout(grid)
        column_of_all.addWidget(self._note)
        column_of_all.addWidget(self._table)

    def settings(self) -> tuple[str, ...]:
        """What was chosen, as ``key=value`` texts."""
        return tuple(f"{name}={box.currentData()}" for name, box in self._fields.items() if box.currentData())

    def show_preview(self, preview: TablePreview) -> None:
        """Show the first rows, or why they cannot be imported."""
        self._show_problem(preview.problem)
        if preview.uses:
            for name in ("finding", "patient", "case"):
                self._offer_columns(name, preview)
        uses = preview.uses or ("",) * len(preview.columns)
        shown = list(zip(preview.columns, uses, strict=True))[:_SHOWN]
        self._table.setColumnCount(len(shown))
        self._table.setRowCount(len(preview.rows))
        for place, (column, use) in enumerate(shown):
            text = f"{visible(column)}\n{_USES[use]}" if preview.uses else visible(column)
            self._table.setHorizontalHeaderItem(place, QTableWidgetItem(text))
            for row, cells in enumerate(preview.rows):
                cell = QTableWidgetItem(visible(cells[place]) if place < len(cells) else "")
                cell.setToolTip(plain_tip(cell.text()))
                if use == "number":
                    cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self._table.setItem(row, place, cell)
        more = len(preview.columns) - len(shown)
        if not preview.problem:
            self._note.setText(tr_n("{n} more column", "{n} more columns", more) if more else "")
            self._note.setVisible(more > 0)
        self.shown.emit()

    def show_error(self, error: SemblanceError) -> None:
        """Show why there is no preview."""
        self._show_problem(str(error))
        self._table.setRowCount(0)
        self.shown.emit()

    def _show_problem(self, problem: str) -> None:
        self.problem = problem
        self._note.setText(problem)
        self._note.setVisible(bool(problem))

    def _offer_columns(self, name: str, preview: TablePreview) -> None:
        """Offer the columns of the table, and keep what was chosen."""
        box = self._fields[name]
        chosen = box.currentData()
        box.blockSignals(True)
        box.clear()
        for value, text in (
            ("", _auto_text(name, preview) if not chosen else _AUTO),
            *((column, visible(column)) for column in preview.columns if column),
        ):
            box.addItem(text, value)
        box.setCurrentIndex(max(0, box.findData(chosen)))
        box.blockSignals(False)


def _auto_text(use: str, preview: TablePreview) -> str:
    """The entry of a field that recognises a column, with the column that it recognised."""
    found = [column for column, its_use in zip(preview.columns, preview.uses, strict=True) if its_use == use]
    return tr("automatic: {column}", column=visible(found[0])) if found else _AUTO
