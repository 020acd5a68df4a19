"""The dialog before an import: the kind of the source, how a table is written, and the library it is added to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.theme import plain_tip, set_look, theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.tables import make_read_only
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n, translate, visible
from semblance.core.library.importers.encodings import ENCODINGS
from semblance.core.library.importers.finding_rules import MOST_COMBINATIONS
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.importer import Recognition
from semblance.core.library.importers.registry import get_importer
from semblance.core.library.importers.table import TableImporter, TablePreview
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import SUFFIX
from semblance.core.plugins import origin_text

_TABLE = TableImporter.kind


class ImportDialog(Dialog):
    """Asks for the kind of the source and the library. Read :meth:`kind`, :meth:`settings`, :meth:`library` and
    :meth:`identified` after it was accepted.

    ``preview`` gives the first rows of a table, or of a list of images, of a kind of source and read with some
    settings, to the fields later.
    """

    def __init__(
        self,
        source: Path,
        recognitions: list[tuple[str, str, Recognition]],
        library: LibraryLocation | None,
        parent: QWidget | None = None,
        *,
        preview: Callable[[str, tuple[str, ...], TableSettings], object] | None = None,
    ) -> None:
        super().__init__(parent)
        self._preview = preview
        self._source, self._library = source, library
        self.setWindowTitle(tr("Import {name}", name=source.name))
        self.setMinimumWidth(theme().px(560))
        title = QLabel(source.name)
        title.setTextFormat(Qt.TextFormat.PlainText)
        set_look(title, role="outcome")
        note = _small_label(tr("Images stay where they are"))
        header = QHBoxLayout()
        fill(header, title, STRETCH, note)

        self._kinds = QComboBox()
        self._recognitions = recognitions
        for kind, name, _ in recognitions:
            self._kinds.addItem(name, kind)
        self._explanation = WrappedLabel(role="second")
        self._kinds.currentIndexChanged.connect(self._show_kind)

        self.table, self.list = TableSettings(), TableSettings(_LIST_FIELDS)
        for one in (self.table, self.list):
            one.changed.connect(self._request_preview)
        self.table.shown.connect(self._update_button)
        self.list.shown.connect(self._show_list)

        self._identified = QCheckBox(tr("Keep patient IDs, dates and folder names"))
        self._identified.setToolTip(tr("Names in file headers are never stored. See the help page Privacy."))

        patients_in_names = bool(recognitions) and get_importer(recognitions[0][0]).paths_name_patients
        self._folder = QLineEdit(str(library or default_library(source, anonymous=patients_in_names)))
        self._folder.setEnabled(library is None)
        self._folder.setAccessibleName(tr("Folder of the library"))
        choose_button = QPushButton(tr("Choose…"))
        choose_button.setEnabled(library is None)
        choose_button.clicked.connect(self._choose_folder)
        folder_row = fill(hbox(spacing=8), (self._folder, 1), choose_button)

        fields = self._form = form()
        fields.addRow(tr("Kind"), self._kinds)
        fields.addRow("", self._explanation)
        fields.addRow(self.table)
        fields.addRow(self.list)
        fields.addRow(tr("Library"), folder_row)
        fields.addRow(tr("Patients"), self._identified)
        self._pseudonym_note = _small_label(
            tr("Otherwise codes replace them. The library has its own key for them.")
        )
        fields.addRow("", self._pseudonym_note)
        self.add_button = accept_button(tr("Add the cases"))
        self.add_button.clicked.connect(self.accept)
        self._folder.textChanged.connect(self._update_button)
        column = dialog_layout(self)
        column.addLayout(header)
        column.addLayout(fields)
        column.addLayout(action_row(self, self.add_button))
        self._show_kind()

    def kind(self) -> str:
        return str(self._kinds.currentData())

    def settings(self) -> tuple[str, ...]:
        """How a table or a list of images is read, as ``key=value`` texts; nothing for other kinds."""
        fields = self._fields_of_kind()
        return () if fields is None else fields.settings()

    def library(self) -> Path:
        """The folder of the library. A new one gets the suffix if it has none."""
        path = Path(self._folder.text().strip()).expanduser().absolute()
        if self._library is not None or path.suffix == SUFFIX or path.exists():
            return path
        return path.with_name(path.name + SUFFIX)

    def identified(self) -> bool:
        """Whether patient IDs, dates and folder names are stored as they are in the source."""
        return self._identified.isVisibleTo(self) and self._identified.isChecked()

    def _show_kind(self) -> None:
        index = self._kinds.currentIndex()
        about = (
            (
                translate(self._recognitions[index][2].explanation),
                origin_text("importer", self._recognitions[index][0]),
            )
            if index >= 0
            else ()
        )
        self._explanation.setText("\n".join(filter(None, about)))
        headers = index >= 0 and get_importer(self.kind()).reads_headers
        for row in (self._identified, self._pseudonym_note):
            self._form.setRowVisible(row, headers)
        is_table = self._preview is not None and self.kind() == _TABLE
        self._form.setRowVisible(self.table, is_table)
        self._form.setRowVisible(self.list, self._fields_of_kind() is self.list and self.list.has_columns)
        if self._preview is not None and self._fields_of_kind() is not None:
            self._request_preview()
        self._update_button()
        self.adjustSize()

    def _fields_of_kind(self) -> TableSettings | None:
        """The fields for the settings of the chosen kind."""
        return {_TABLE: self.table, FolderImporter.kind: self.list}.get(self.kind())

    def _request_preview(self) -> None:
        fields = self._fields_of_kind()
        if self._preview is not None and fields is not None:
            self._preview(self.kind(), fields.settings(), fields)

    def _show_list(self) -> None:
        """Show the fields of a list of images where there is one."""
        self._form.setRowVisible(self.list, self._fields_of_kind() is self.list and self.list.has_columns)
        self._update_button()
        self.adjustSize()

    def _update_button(self) -> None:
        fields = self._fields_of_kind()
        # A list that cannot be read does not hinder the import of its images, which reports it.
        is_needed = fields is self.table or (fields is self.list and self.list.has_columns)
        problem = fields.problem if fields is not None and is_needed else ""
        self.add_button.setEnabled(bool(self._folder.text().strip()) and not problem)
        self.add_button.setToolTip(plain_tip(problem))

    def _choose_folder(self) -> None:
        kinds = f"{tr('Library')} (*{SUFFIX})"
        folder, _ = choose_target(self, tr("New library"), self._folder.text(), kinds)
        if folder:
            self._folder.setText(str(folder))


def _small_label(text: str) -> QLabel:
    label = QLabel(text)
    set_look(label, role="small")
    return label


def default_library(source: Path, *, anonymous: bool = False) -> Path:
    """The path of a new library: beside the source if that folder is writable, else in the home folder.

    ``anonymous``: the day of the import instead of the name of the source, which may be a patient's name, since
    reports show the name of the library.
    """
    import os

    name = source.name if source.is_dir() else source.stem
    if anonymous or not name:
        name = f"import {date.today():%Y-%m-%d}"
    folder = source.parent if os.access(source.parent, os.W_OK) else Path.home()
    path, number = folder / f"{name}{SUFFIX}", 2
    while path.exists():
        path, number = folder / f"{name} {number}{SUFFIX}", number + 1
    return path


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
#: The same of a list of images with their findings.
_LIST_FIELDS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "several": (
        tr("Several findings"),
        (
            ("first", tr("the first")),
            ("combination", tr("all together")),
            ("single", tr("no finding")),
        ),
    ),
    "uncertain": (
        tr("Uncertain (-1)"),
        (
            ("positive", tr("counts as present")),
            ("negative", tr("counts as absent")),
            ("own", tr("a finding of its own")),
        ),
    ),
    "boxes": (tr("Boxes"), (("regions", tr("are cases")), ("whole", tr("are attributes")))),
    "finding": (tr("Finding"), ()),
    "patient": (tr("Patients"), ()),
    "image": (tr("Images"), ()),
}
#: Why a choice is there and what it is without one.
_TIPS = {
    "several": tr(
        "The finding of a case with several. Automatic: all together where at most {n} different combinations occur, "
        "else the first. All of them stay in the attributes.",
        n=MOST_COMBINATIONS,
    ),
    "uncertain": tr(
        "What a finding counts as that the list calls uncertain. Automatic: nothing is known about it."
    ),
}
_USES = {
    "finding": tr("finding"),
    "patient": tr("patient"),
    "case": tr("case ID"),
    "number": tr("feature"),
    "text": tr("attribute"),
    "image": tr("image"),
    "flag": tr("one finding"),
    "part": tr("official part"),
    "reader": tr("reader"),
    "box": tr("box"),
    "code": tr("code"),
    "": tr("not used"),
}
#: Columns that the preview shows.
_SHOWN = 12
_DECISIVE = frozenset(("finding", "flag", "patient", "case", "image"))
_FIELDS_A_ROW = 3


class TableSettings(QWidget):
    """Fields for the settings of a table or list, and a preview below them. ``changed`` asks for another preview,
    ``shown`` says that there is one. ``problem``: why it cannot be imported in this way; ``has_columns``: whether there
    is a table to show."""

    changed = Signal()
    shown = Signal()

    def __init__(self, fields: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] | None = None) -> None:
        super().__init__()
        given = fields or _FIELDS
        self._fields = {name: QComboBox() for name in given}
        self.problem, self.has_columns = "", False
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        for place, (name, box) in enumerate(self._fields.items()):
            title, choices = given[name]
            for value, text in (("", _AUTO), *choices):
                box.addItem(text, value)
            box.setAccessibleName(title)
            if name in _TIPS:
                box.setToolTip(plain_tip(_TIPS[name]))
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
        # The paths of a list are long, and begin alike. The tip shows all of one.
        self._table.horizontalHeader().setMaximumSectionSize(theme().px(300))
        self._table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._table.setWordWrap(False)
        self._table.setFixedHeight(theme().px(216))
        fill(vbox(self, spacing=8), grid, self._note, self._table)

    def settings(self) -> tuple[str, ...]:
        """What was chosen, as ``key=value`` texts."""
        return tuple(f"{name}={box.currentData()}" for name, box in self._fields.items() if box.currentData())

    def show_preview(self, preview: TablePreview) -> None:
        """Show the first rows, or why they cannot be imported."""
        self._show_problem(preview.problem)
        self.has_columns = bool(preview.columns)
        if preview.uses:
            for name in ("finding", "patient", "case", "image"):
                if name in self._fields:
                    self._offer_columns(name, preview)
        uses = preview.uses or ("",) * len(preview.columns)
        order = list(range(len(uses)))
        if len(order) > _SHOWN:
            # What findings, patients and images are read from is always among those shown.
            order = sorted(order, key=lambda place: uses[place] not in _DECISIVE)[:_SHOWN]
        shown = [(preview.columns[place], uses[place]) for place in order]
        self._table.setColumnCount(len(shown))
        self._table.setRowCount(len(preview.rows))
        for place, (column, use) in enumerate(shown):
            text = f"{visible(column)}\n{_USES[use]}" if preview.uses else visible(column)
            self._table.setHorizontalHeaderItem(place, QTableWidgetItem(text))
            for row, cells in enumerate(preview.rows):
                cell = QTableWidgetItem(visible(cells[order[place]]) if order[place] < len(cells) else "")
                cell.setToolTip(plain_tip(cell.text()))
                if use == "number":
                    cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self._table.setItem(row, place, cell)
        more = len(preview.columns) - len(shown)
        if not preview.problem:
            parts = [visible(preview.note)] if preview.note else []
            parts += [tr_n("{n} more column", "{n} more columns", more)] if more else []
            self._note.setText(" · ".join(parts))
            self._note.setVisible(bool(parts))
        self.shown.emit()

    def show_error(self, error: SemblanceError) -> None:
        """Show why there is no preview."""
        self._show_problem(str(error))
        self.has_columns = False
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
    flags = preview.uses.count("flag") if use == "finding" else 0
    if not found and flags:
        return tr_n("automatic: {n} column", "automatic: {n} columns", flags)
    return tr("automatic: {column}", column=visible(found[0])) if found else _AUTO
