"""Commands that correct the open library: findings, patients, removal of cases, undo, redo and history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import QDialog, QMenu, QPushButton, QWidget

from semblance.app.library.findings_panel import FindingsPanel
from semblance.app.library.label_dialogs import ImportLabelsDialog, SetLabelDialog
from semblance.app.library.list_panel import ListPanel
from semblance.app.shell import edit_operations, library_operations
from semblance.app.shell.actions import available
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.local_time import local_time
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme
from semblance.app.widgets.finding_chips import chip_pixmap
from semblance.core.language import format_number, tr, tr_n, translate, visible
from semblance.core.library.case_columns import Indices, Rows
from semblance.core.library.records import Edit
from semblance.core.limits import size_text
from semblance.core.workflows.library import import_labels, undo_edits
from semblance.core.workflows.library.edit_cases import EditResult, remove_cases, set_finding, set_patient
from semblance.core.workflows.library.edit_kinds import describe_edit
from semblance.core.workflows.library.edit_lesions import join_lesions, split_lesions
from semblance.core.workflows.library.import_labels import LabelImport
from semblance.core.workflows.library.undo_edits import EditHistory

#: Findings that the menu lists; others are typed.
_LISTED = 20


class EditCommands(QObject):
    """``selected_cases`` returns the catalogue rows of the selected cases in the focused panel.
    ``list_requested(name, panel)``: show a list beside the images."""

    list_requested = Signal(str, object)

    def __init__(self, context: Context, parent: QWidget, selected_cases: Callable[[], Rows]) -> None:
        super().__init__(parent)
        self._context, self._parent, self._selected_cases = context, parent, selected_cases
        self._findings: FindingsPanel | None = None
        self._history: EditHistoryPanel | None = None
        #: The preview that was opened last.
        self._labels: ImportLabelsDialog | None = None
        self.commands: dict[str, Callable[[], object]] = {
            "undo_edit": partial(edit_operations.undo, context),
            "redo_edit": partial(edit_operations.redo, context),
            "edit_history": self.show_history,
            "import_labels": self.choose_labels,
            "findings": self.show_findings,
            "set_finding": lambda: self.ask_finding(self._selected_cases()),
            "set_patient": lambda: self.ask_patient(self._selected_cases()),
            "detect_lesions": partial(edit_operations.detect_groups, context),
            "join_lesions": lambda: self.join(self._selected_cases()),
            "split_lesions": lambda: self.split(self._selected_cases()),
            "remove_cases": lambda: self.remove(self._selected_cases()),
        }

        context.state.on_change(Change.LIBRARY | Change.CASES, self, self._name_edits)
        context.state.on_change(Change.LIBRARY | Change.CASES | Change.RANKING, self, self._give_undo_key)
        self._name_edits()
        self._give_undo_key()

    def _give_undo_key(self) -> None:
        """Ctrl+Z undoes what was done last, an edit or a judgement."""
        state = self._context.state
        self._context.actions.give_undo_key(
            undoes_edit=state.edit_is_newest,
            redoes_edit=state.last_undone_edit is not None and "undone judgements" not in available(state),
        )

    def _name_edits(self) -> None:
        """Say in the menus what will be undone and redone."""
        state, actions = self._context.state, self._context.actions
        for command, text, edit in (
            ("undo_edit", tr("Undo: {edit}"), state.last_edit),
            ("redo_edit", tr("Redo: {edit}"), state.last_undone_edit),
        ):
            described = "" if edit is None else translate(describe_edit(edit.kind, edit.summary))
            actions.set_text(command, text.format(edit=described) if described else "")

    def fill_menu(self, menu: QMenu, case_row: int) -> None:
        """Add the entries for the case of the menu and the cases selected with it."""
        rows = self._selected_cases()
        rows = rows if case_row in rows else np.array([case_row], dtype=np.int64)
        if not self._context.state.can_edit:
            return
        one, n = len(rows) == 1, format_number(len(rows), ",")
        menu.addSeparator()
        self._fill_findings(
            menu.addMenu(tr("Set finding") if one else tr("Set finding of {n} cases", n=n)), rows
        )
        menu.addAction(
            tr("Set patient…") if one else tr("Set patient of {n} cases…", n=n),
            partial(self.ask_patient, rows),
        )
        self._fill_lesions(menu, rows)
        menu.addAction(
            tr("Remove from the library") if one else tr("Remove {n} cases from the library", n=n),
            partial(self.remove, rows),
        )
        if note := edit_operations.outdated_note(self._context):
            menu.addAction(note).setEnabled(False)

    def _fill_lesions(self, menu: QMenu, rows: Rows) -> None:
        state, one, n = self._context.state, len(rows) == 1, format_number(len(rows), ",")
        assert state.library is not None
        query_row = state.query_row
        if not one:
            menu.addAction(tr("Mark {n} cases as one lesion", n=n), partial(self.join, rows))
        elif query_row >= 0 and query_row not in (*rows, *self._lesion_of(rows[0])):
            both = np.array([query_row, rows[0]])
            menu.addAction(tr("Mark as the same lesion as the query"), partial(self.join, both))
        if self._are_grouped(rows).any():
            text = tr("Mark as another lesion") if one else tr("Mark {n} cases as other lesions", n=n)
            menu.addAction(text, partial(self.split, rows))

    def _lesion_of(self, row: int) -> tuple[int, ...]:
        """The cases of the same-lesion group of a case that is not alone in it."""
        library = self._context.state.library
        facts = None if library is None else library.lesions.get(row)
        return () if facts is None else facts.rows

    def _are_grouped(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """(k,) which cases are in a same-lesion group."""
        library = self._context.state.library
        lesions = {} if library is None else library.lesions
        return np.isin(rows, np.fromiter(lesions, dtype=np.int64, count=len(lesions)))

    def join(self, rows: Rows) -> None:
        """Make the cases one same-lesion group."""
        ids = self._ids(rows)
        if len(ids) > 1:
            edit_operations.edit(self._context, join_lesions, ids)
        elif ids:
            self._context.messages.info(tr("Select at least two cases to mark them as one lesion."))

    def split(self, rows: Rows) -> None:
        """Take the cases out of their same-lesion groups."""
        ids = self._ids(np.asarray(rows)[self._are_grouped(rows)])
        if ids:
            edit_operations.edit(self._context, split_lesions, ids)
        elif len(rows):
            self._context.messages.info(tr("No selected case is in a same-lesion group."))

    def _fill_findings(self, menu: QMenu, rows: Rows) -> None:
        columns = self._context.state.columns
        # The code of no finding is -1.
        counts = np.bincount(columns.finding[self._indices(rows)] + 1, minlength=len(columns.findings) + 1)
        present = {name for name, n in zip([None, *columns.findings], counts.tolist(), strict=True) if n}
        for code, name in enumerate(columns.findings[:_LISTED]):
            chip = QIcon(chip_pixmap(code, columns.letters[name], self._parent.devicePixelRatioF()))
            action = menu.addAction(
                chip, visible(name).replace("&", "&&"), partial(self.set_finding, rows, name)
            )
            # A check mark would hide the chip.
            font = action.font()
            font.setBold(present == {name})
            action.setFont(font)
        menu.addSeparator()
        menu.addAction(tr("No finding"), partial(self.set_finding, rows, None)).setEnabled(present != {None})
        menu.addAction(tr("Other finding…"), partial(self.ask_finding, rows))

    def set_finding(self, rows: Rows, finding: str | None) -> None:
        """Give the cases a finding, or none."""
        if ids := self._ids(rows):
            edit_operations.set_label(self._context, set_finding, ids, finding, self._findings_of(rows))

    def _findings_of(self, rows: Rows) -> list[str | None]:
        columns = self._context.state.columns
        # The code of no finding is -1.
        names = [*columns.findings, None]
        return [names[code] for code in columns.finding[self._indices(rows)].tolist()]

    def ask_finding(self, rows: Rows) -> None:
        """Ask for the finding of the cases."""
        columns = self._context.state.columns
        seen = self._findings_of(rows)
        self._ask(
            rows,
            tr("Set finding"),
            tr_n("Finding of {case}", "Finding of {n} cases", len(rows), case=self._first_name(rows)),
            columns.findings,
            seen,
            tr("No finding"),
            tr("“{name}” is a new finding."),
            set_finding,
        )

    def ask_patient(self, rows: Rows) -> None:
        """Ask for the patient of the cases."""
        columns = self._context.state.columns
        seen = [columns.patient_name(index) for index in self._indices(rows).tolist()]
        self._ask(
            rows,
            tr("Set patient"),
            tr_n("Patient of {case}", "Patient of {n} cases", len(rows), case=self._first_name(rows)),
            columns.patients,
            seen,
            tr("Patient not known"),
            tr("“{name}” is a new patient."),
            set_patient,
        )

    def _ask(
        self,
        rows: Rows,
        title: str,
        prompt: str,
        known: Sequence[str],
        seen: Sequence[str | None],
        removal: str,
        new_text: str,
        workflow: Callable[..., EditResult],
    ) -> None:
        ids, state = self._ids(rows), self._context.state
        if not ids or not state.can_edit:
            return
        common = seen[0] if len(set(seen)) == 1 else None
        note = edit_operations.outdated_note(self._context)
        dialog = SetLabelDialog(title, prompt, known, common or "", note, removal, new_text, self._parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            edit_operations.set_label(self._context, workflow, ids, dialog.label(), seen)
        dialog.deleteLater()

    def remove(self, rows: Rows) -> None:
        """Remove the cases from the library."""
        if ids := self._ids(rows):
            edit_operations.edit(self._context, remove_cases, ids)

    def choose_labels(self) -> None:
        """Choose a file of labels and show what it would change."""
        if self._context.state.location is None:
            return
        filters = f"{tr('Table')} (*.csv *.tsv *.txt);;{tr('All files (*)')}"
        if chosen := choose_file(self._parent, tr("Import labels"), filters):
            self.preview_labels(chosen)

    def preview_labels(self, file: Path) -> None:
        """Show what the labels of ``file`` would change, to apply them."""
        path = self._context.state.location
        if path is None:
            return
        job = self._context.jobs.run(
            tr("Reading {name}", name=file.name),
            import_labels.preview_labels,
            path,
            file,
            pool=WorkerPool.READ,
            channel="labels",
        )

        def show(preview: LabelImport) -> None:
            dialog = ImportLabelsDialog(file.name, preview, self._parent)
            dialog.accepted.connect(
                lambda: edit_operations.edit(self._context, import_labels.apply_labels, file)
            )
            dialog.finished.connect(dialog.deleteLater)
            self._labels = dialog
            dialog.open()

        self._context.follow(job, show, library=path)

    def show_findings(self) -> FindingsPanel | None:
        """Show the findings, to change them."""
        if self._context.state.library is None:
            return None
        if self._findings is None:
            self._findings = FindingsPanel(self._context)
        self.list_requested.emit("findings", self._findings)
        return self._findings

    def show_history(self) -> EditHistoryPanel | None:
        """Show the edits of the library."""
        if self._context.state.library is None:
            return None
        if self._history is None:
            self._history = EditHistoryPanel(self._context)
        self.list_requested.emit("history", self._history)
        return self._history

    def _indices(self, rows: Rows) -> Indices:
        indices = self._context.state.columns.indices_of_rows(np.asarray(rows, dtype=np.int64))
        return indices[indices >= 0]

    def _ids(self, rows: Rows) -> list[str]:
        return self._context.state.columns.ids_of_rows(np.asarray(rows, dtype=np.int64))

    def _first_name(self, rows: Rows) -> str:
        """The name of the first case, as lists show it."""
        columns = self._context.state.columns
        return columns.name(columns.index_of_row(int(rows[0]))) if len(rows) else ""


class EditHistoryPanel(ListPanel):
    """Follows the open library. Undone edits are grey until the next edit takes their place."""

    columns = (tr("When"), tr("By"), tr("Edit"))
    widths = (150, 110)
    list_name = tr("Edits of the library")

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
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
        self.complete(self.undo_button, self.redo_button, self.free_button)
        context.state.on_change_while_shown(Change.LIBRARY | Change.CASES, self, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the edits of the open library."""
        library = self._context.state.library
        edits = library.edits if library is not None else ()
        in_force = sum(not edit.undone for edit in edits)
        writable = self._context.state.can_edit
        self.summary.setText(
            tr_n("{n} edit, newest first.", "{n} edits, newest first.", len(edits))
            if edits
            else tr("Nothing has been changed by hand in this library.")
        )
        self.table.fill([_cells(edit) for edit in reversed(edits)])
        for row, edit in enumerate(reversed(edits)):
            for column in range(len(self.columns) if edit.undone else 0):
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
        path = self._context.state.location
        if path is None:
            return
        job = self._context.jobs.run(
            "", undo_edits.read_history, path, pool=WorkerPool.READ, channel="edit history", quiet=True
        )
        job.done.connect(self._show_size)

    def _show_size(self, history: EditHistory) -> None:
        self.free_button.setText(tr("Free {size}", size=size_text(history.deleted_bytes)))
        self.free_button.setVisible(history.deleted_bytes > 0)
        self.free_button.setEnabled(self._context.state.can_edit)

    def _free(self) -> None:
        path = self._context.state.location
        if path is None:
            return
        job = self._context.jobs.run(
            tr("Removing deleted files"), undo_edits.forget_deleted, path, pool=WorkerPool.READ, quiet=True
        )

        def done(size: int) -> None:
            self._context.messages.info(tr("{size} are free again.", size=size_text(size)))
            library_operations.renew(self._context)

        self._context.follow(job, done)


def _cells(edit: Edit) -> tuple[str, str, str]:
    text = translate(describe_edit(edit.kind, edit.summary))
    when = local_time(edit.time, seconds=True)
    return when, edit.author, tr("{edit} (undone)", edit=text) if edit.undone else text
