"""The edits of the open library, newest first, with buttons that undo and redo them."""

from __future__ import annotations

from PySide6.QtGui import QColor
from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.shell import edit_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.app.shell.local_time import local_time
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_layout, resize_dialog
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.tables import PlainTable
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.records import Edit
from semblance.core.limits import size_text
from semblance.core.workflows.library import undo_edits
from semblance.core.workflows.library.edit_kinds import describe_edit
from semblance.core.workflows.library.undo_edits import EditHistory

_COLUMNS = (tr("When"), tr("By"), tr("Edit"))
_WIDTHS = (150, 110)


class EditHistoryDialog(Dialog):
    """Follows the open library. Undone edits are grey until the next edit takes their place."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setWindowTitle(tr("Edit history"))
        resize_dialog(self, 640, 420)
        self._summary = WrappedLabel()
        self.table = PlainTable(_COLUMNS, tr("Edits of the library"))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme().px(width))
        self.undo_button = QPushButton(tr("Undo"))
        self.undo_button.clicked.connect(lambda: edit_operations.undo(context))
        self.redo_button = QPushButton(tr("Redo"))
        self.redo_button.clicked.connect(lambda: edit_operations.redo(context))
        self.free_button = QPushButton()
        self.free_button.setToolTip(
            tr(
                "Remove the files of deleted feature sets and metrics for good. Their deletion can no longer be undone."
            )
        )
        self.free_button.clicked.connect(self._free)
        layout = dialog_layout(self)
        layout.addWidget(self._summary)
        layout.addWidget(self.table, 1)
        layout.addLayout(closing_row(self, self.undo_button, self.redo_button, self.free_button))
        context.state.on_change(Change.LIBRARY | Change.CASES, self, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the edits of the open library."""
        library = self._context.state.library
        edits = library.edits if library is not None else ()
        in_force = sum(not edit.undone for edit in edits)
        writable = self._context.state.can_edit
        self._summary.setText(
            tr_n("{n} edit, newest first.", "{n} edits, newest first.", len(edits))
            if edits
            else tr("Nothing has been changed by hand in this library.")
        )
        self.table.fill([_cells(edit) for edit in reversed(edits)])
        for row, edit in enumerate(reversed(edits)):
            for column in range(len(_COLUMNS) if edit.undone else 0):
                if (item := self.table.item(row, column)) is not None:
                    item.setForeground(QColor(theme().disabled))
        self.undo_button.setEnabled(writable and in_force > 0)
        self.redo_button.setEnabled(writable and in_force < len(edits))
        self.free_button.hide()
        if library is not None and self.isVisible():
            self._read_size()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        self._read_size()

    def _read_size(self) -> None:
        path = self._context.state.path
        if path is None:
            return
        job = self._context.jobs.run(
            "", undo_edits.read_history, path, lane=Lane.READ, channel="edit history", quiet=True
        )
        job.done.connect(self._show_size)

    def _show_size(self, history: EditHistory) -> None:
        self.free_button.setText(tr("Free {size}", size=size_text(history.deleted_bytes)))
        self.free_button.setVisible(history.deleted_bytes > 0)
        self.free_button.setEnabled(self._context.state.can_edit)

    def _free(self) -> None:
        path = self._context.state.path
        if path is None:
            return
        job = self._context.jobs.run(
            tr("Removing deleted files"), undo_edits.forget_deleted, path, lane=Lane.READ, quiet=True
        )

        def done(size: int) -> None:
            from semblance.app.shell import library_operations

            self._context.messages.info(tr("{size} are free again.", size=size_text(size)))
            library_operations.renew(self._context)

        self._context.follow(job, done)


def _cells(edit: Edit) -> tuple[str, str, str]:
    text = translate(describe_edit(edit.kind, edit.summary))
    when = local_time(edit.time, seconds=True)
    return when, edit.author, tr("{edit} (undone)", edit=text) if edit.undone else text
