"""What was recognised in a source, and where it goes; corrected before anything is kept."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import accept_button, column_of, form, go_or_cancel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import tr, translate
from semblance.core.library.importers.importer import Recognition
from semblance.core.library.importers.registry import get_importer
from semblance.core.library.records import SUFFIX


class ImportDialog(Dialog):
    """Kind of the source and the library it is added to; accepted with :meth:`kind`, :meth:`library` and
    :meth:`identified`."""

    def __init__(
        self,
        source: Path,
        found: list[tuple[str, str, Recognition]],
        library: Path | None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._source, self._into = source, library
        self.setWindowTitle(tr("Import {name}", name=source.name))
        self.setMinimumWidth(theme().px(560))
        title = QLabel(source.name)
        title.setTextFormat(Qt.TextFormat.PlainText)
        set_look(title, role="outcome")
        quiet = _small(tr("Images stay where they are"))
        head = QHBoxLayout()
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(quiet)

        self._kinds = QComboBox()
        self._found = found
        for kind, name, _ in found:
            self._kinds.addItem(name, kind)
        self._told = WrappedLabel(role="second")
        self._kinds.currentIndexChanged.connect(self._tell)

        self._identified = QCheckBox(tr("Keep patient IDs, dates and folder names"))
        self._identified.setToolTip(tr("Names in file headers are never stored. See the help page Privacy."))

        patients = bool(found) and get_importer(found[0][0]).paths_name_patients
        self._where = QLineEdit(str(library or default_library(source, plain=patients)))
        self._where.setEnabled(library is None)
        self._where.setAccessibleName(tr("Folder of the library"))
        choose = QPushButton(tr("Choose…"))
        choose.setEnabled(library is None)
        choose.clicked.connect(self._choose)
        place = hbox(spacing=8)
        place.addWidget(self._where, 1)
        place.addWidget(choose)

        fields = self._form = form()
        fields.addRow(tr("Kind"), self._kinds)
        fields.addRow("", self._told)
        fields.addRow(tr("Library"), place)
        fields.addRow(tr("Patients"), self._identified)
        self._codes = _small(tr("Otherwise codes replace them. The library has its own key for them."))
        fields.addRow("", self._codes)
        self.add = accept_button(tr("Add the cases"))
        self.add.clicked.connect(self.accept)
        self._where.textChanged.connect(lambda text: self.add.setEnabled(bool(text.strip())))
        column = column_of(self)
        column.addLayout(head)
        column.addLayout(fields)
        column.addLayout(go_or_cancel(self, self.add))
        self._tell()

    def kind(self) -> str:
        return str(self._kinds.currentData())

    def library(self) -> Path:
        """The folder of the library, its suffix added where it is new and has none."""
        path = Path(self._where.text().strip()).expanduser().absolute()
        if self._into is not None or path.suffix == SUFFIX or path.exists():
            return path
        return path.with_name(path.name + SUFFIX)

    def identified(self) -> bool:
        """Whether ids, dates and folders are to be kept as the source tells them."""
        return self._identified.isVisibleTo(self) and self._identified.isChecked()

    def _tell(self) -> None:
        place = self._kinds.currentIndex()
        self._told.setText(translate(self._found[place][2].explanation) if place >= 0 else "")
        headers = place >= 0 and get_importer(self.kind()).reads_headers
        for row in (self._identified, self._codes):
            self._form.setRowVisible(row, headers)

    def _choose(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(
            self, tr("New library"), self._where.text(), f"{tr('Library')} (*{SUFFIX})"
        )
        if chosen:
            self._where.setText(chosen)


def _small(text: str) -> QLabel:
    label = QLabel(text)
    set_look(label, role="small")
    return label


def default_library(source: Path, *, plain: bool = False) -> Path:
    """A library beside the source, where that can be written to; else in the home folder.

    ``plain``: not called after the source, whose name may be a patient's; reports show that of the library.
    """
    import os

    name = "library" if plain else (source.name if source.is_dir() else source.stem) or "library"
    folder = source.parent if os.access(source.parent, os.W_OK) else Path.home()
    path, number = folder / f"{name}{SUFFIX}", 2
    while path.exists():
        path, number = folder / f"{name} {number}{SUFFIX}", number + 1
    return path
