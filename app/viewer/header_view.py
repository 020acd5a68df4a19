"""The header of an image file: a table with search, and its panel that follows the case.

Identifying values are hidden by default.
"""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QColor, QGuiApplication, QHideEvent, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHeaderView,
    QLabel,
    QPushButton,
    QStackedWidget,
    QTableView,
    QWidget,
)

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import SearchField
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.tables import make_read_only
from semblance.core.csv_cells import csv_line, safe_text
from semblance.core.errors import SemblanceError
from semblance.core.imaging.dicom.header_lines import HeaderLine
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr, translate
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import read_header
from semblance.core.workflows.imaging.read_header import HeaderTable

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


_ROW = 24


class _HeaderTableView(QTableView):
    """``copy_requested``: Ctrl+C, with which Qt would copy only one cell."""

    copy_requested = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
        else:
            super().keyPressEvent(event)


class HeaderView(QWidget):
    """Shows one header. Another :meth:`read` replaces it. ``channel``: of its jobs, of which the last is in force."""

    def __init__(self, context: Context, channel: str, *, narrow: bool = False) -> None:
        """``narrow``: only names and values."""
        super().__init__()
        self._context, self._channel, self._is_narrow = context, channel, narrow
        self._table: HeaderTable | None = None
        self._job: Job | None = None
        self.rows = HeaderModel(self)
        self._name = ElidedLabel("", role="title", mode=Qt.TextElideMode.ElideMiddle)
        self.count_label = QLabel()
        set_look(self.count_label, role="second")
        self.search = SearchField(tr("Search tags, names and values"), icon_name="search")
        self.search.searched.connect(self._search)
        self.show_identifying = QCheckBox(tr("Show identifying values"))
        self.show_identifying.setToolTip(tr("Names, dates, places and numbers that can identify the patient"))
        self.show_identifying.toggled.connect(self._toggle_identifying)
        self.table = _HeaderTableView()
        self.table.setAccessibleName(tr("Header entries"))
        self.table.setModel(self.rows)
        make_read_only(self.table)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.setTextElideMode(Qt.TextElideMode.ElideRight)
        head = self.table.horizontalHeader()
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        head.setSectionResizeMode(len(COLUMNS) - 1, QHeaderView.ResizeMode.Stretch)
        self.search.down_pressed.connect(self.table.setFocus)
        self.notice = EmptyState()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.table)
        self.pages.addWidget(self.notice)
        self.table.copy_requested.connect(self.copy_rows)
        copy = QAction(tr("Copy rows\tCtrl+C"), self.table)
        copy.triggered.connect(self.copy_rows)
        self.table.addAction(copy)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.copy_button = QPushButton(tr("Copy rows"))
        self.copy_button.setToolTip(tr("Copy the selected rows, or all rows shown (Ctrl+C)"))
        self.copy_button.clicked.connect(self.copy_rows)
        self._lay_out()
        theme_signals.changed.connect(self._fit)
        self._fit()

    def _lay_out(self) -> None:
        line = vbox(spacing=8) if self._is_narrow else hbox(spacing=12)
        line.addWidget(self.search, 1)
        line.addWidget(self.show_identifying)
        column = vbox(self, spacing=8)
        if self._is_narrow:
            # Where the panel shows the name of the file, and rows are copied by Ctrl+C or the menu.
            for widget in (self._name, self.count_label, self.copy_button):
                widget.setParent(self)
                widget.hide()
        else:
            line.insertWidget(0, self._name, 1)
            line.addWidget(self.count_label)
            line.addWidget(self.copy_button)
        column.addLayout(line)
        column.addWidget(self.pages, 1)

    def _fit(self) -> None:
        self.table.verticalHeader().setDefaultSectionSize(theme().px(_ROW))
        for column, width in enumerate((88, 120 if self._is_narrow else 264, 40)):
            self.table.setColumnWidth(column, theme().px(width))

    def read(self, library: LibraryLocation | None, image: int | ImageAddress, place: int | None) -> None:
        """Show the header of a case's image or of a file, of a volume that of slice ``place``."""
        self._table = None
        self.rows.set_lines([])
        self.show_identifying.setChecked(False)
        self._show_notice("hourglass", "", tr("Reading…"))
        try:
            job = self._context.jobs.run(
                tr("Reading the header"),
                read_header.read_header,
                library,
                image,
                place,
                pool=WorkerPool.READ,
                channel=self._channel,
                quiet=True,
            )
        except SemblanceError as error:
            self._fail(error)
            return
        self._job = job
        job.done.connect(self._fill)
        job.failed.connect(self._fail)
        job.ended.connect(lambda: self._ended(job))

    def copy_rows(self) -> None:
        """Copy the selected rows, or all rows shown, without hidden values."""
        chosen = sorted({index.row() for index in self.table.selectionModel().selectedRows()})
        rows = chosen or range(len(self.rows.found))
        QGuiApplication.clipboard().setText("\n".join(self.rows.row_text(row) for row in rows))

    def clear(self) -> None:
        """Show no header."""
        self.cancel()
        self._table = None
        self.rows.set_lines([])
        self._name.setText("")
        self._show_notice("table", tr("No case"), tr("The header of the case that you select is shown here."))

    def cancel(self) -> None:
        """Read no more."""
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()

    def _ended(self, job: Job) -> None:
        if self._job is job:
            self._job = None

    def _fill(self, table: HeaderTable) -> None:
        self._table = table
        self._name.setText(table.name)
        self.show_identifying.setVisible(table.dicom)
        for column in (0, 2):
            self.table.setColumnHidden(column, self._is_narrow or not table.dicom)
        self.rows.set_lines(table.lines)
        self._update_table()

    def _fail(self, error: SemblanceError) -> None:
        self._show_notice("warning", "", "")
        self.notice.show_error(error, tr("Could not read the header"))

    def _show_notice(self, icon: str, title: str, text: str) -> None:
        self.notice.set_icon(icon)
        self.notice.show_message(title, text)
        self.pages.setCurrentWidget(self.notice)
        self.count_label.setText("")
        self.copy_button.setEnabled(False)

    def _search(self, text: str) -> None:
        self.rows.search(text)
        self._update_table()

    def _toggle_identifying(self, on: bool) -> None:
        self.rows.set_identifying_shown(on)
        self._update_table()

    def _update_table(self) -> None:
        if self._table is None:
            return
        shown, every = len(self.rows.found), len(self._table.lines)
        text = (
            tr("{n:,} entries", n=every)
            if shown == every
            else tr("{shown:,} of {every:,} entries", shown=shown, every=every)
        )
        if self._table.left:
            text += tr(", {n:,} more not listed", n=self._table.left)
        if not shown:
            self._show_notice(
                "search",
                tr("Nothing found"),
                tr("No entry contains these words. Hidden values are not searched."),
            )
        else:
            self.pages.setCurrentWidget(self.table)
            self.copy_button.setEnabled(True)
        self.count_label.setText(text)


#: Library, case or file, and slice.
_Shown = tuple[LibraryLocation | None, int | ImageAddress, int | None]


class HeaderPanel(Panel):
    """The header of the case that is looked at: of the query, or what :meth:`read` and :meth:`follow` are called with.
    Its search text is kept."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("File header"))
        self._state = context.state
        self.view = HeaderView(context, "header")
        vbox(self, margins=(12, 8, 12, 8)).addWidget(self.view)
        #: What is shown, and what will be once the panel is visible.
        self._shown: _Shown | None = None
        self._wanted: _Shown | None = None
        self._query: _Shown | None = None
        self._state.on_change(Change.LIBRARY | Change.QUERY, self, self._follow_query)

    def read(self, library: LibraryLocation | None, image: int | ImageAddress, place: int | None) -> None:
        """Show the header of a case's image or of a file, of a volume that of slice ``place``."""
        self._wanted = (library, image, place)
        self._show_wanted()

    def read_source(self, source: QuerySource) -> None:
        """Show the header of a query or case whose image is not loaded."""
        self._wanted = self._of(source)
        self._show_wanted()

    def follow(self, case_row: int) -> None:
        """Show the header of another case of the open library, if the panel is visible."""
        if case_row >= 0 and self.isVisible():
            self.read(self._state.location, case_row, None)

    def _follow_query(self) -> None:
        """Show the header of another query. A panel that is hidden shows nothing of what was before."""
        source = self._state.source
        wanted = None if source is None else self._of(source)
        if wanted != self._query:
            self._query = self._wanted = wanted
            self._show_wanted()

    def _of(self, source: QuerySource) -> _Shown | None:
        row = self._state.columns.row_of_id(source.case)
        if row >= 0:
            return (source.library, row, None)
        return None if source.image is None else (source.library, ImageAddress(source.image), None)

    def _show_wanted(self) -> None:
        if not self.isVisible():
            return
        shown, self._shown = self._shown, self._wanted
        if self._wanted is None:
            self.view.clear()
        elif self._wanted != shown:
            self.view.read(*self._wanted)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_wanted()

    def hideEvent(self, event: QHideEvent) -> None:
        self.view.cancel()
        # Read again when it is shown again, unless it was read to its end.
        if not self.view.rows.rowCount():
            self._shown = None
        super().hideEvent(event)
