"""The dialog that exports a teaching collection: as what, with what of its cases, and into which file."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QCheckBox, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import (
    choose_target,
    choose_target_folder,
    report_failures,
    report_saved_file,
)
from semblance.app.widgets.clean_pixels import clean_pixels_box
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form, widen
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import tr, tr_n
from semblance.core.workflows.teaching.export_collection import (
    CollectionExport,
    ExportedCollection,
    export_collection,
)

_WIDTH = 480
_FOLDER = ""
_KINDS = (
    (".pdf", tr("Slides (PDF)")),
    (".zip", tr("Teaching set, findings covered (ZIP)")),
    (_FOLDER, tr("Teaching set, findings covered (folder)")),
    (".dcm", tr("DICOM key objects")),
)
_HIDDEN = tr("Cases are numbered. Patient ids and names of files are left out.")
_IDENTIFIED = tr("The file contains the ids of cases and patients. Share it with care.")
_NOTES = tr("Notes and headers may name the patient: read them before you send the file.")
_IMAGES = tr("Text in images stays.")
_CLEANED = tr("Text in images is searched for and blacked out. Small or faint text may be missed.")
_KEYS = tr("The object refers to the images of the cases and holds none of them.")
_KEYS_HIDDEN = tr("It refers to the files of a de-identified export of this library.")


class ExportCollectionDialog(Dialog):
    """De-identified unless the user says otherwise. ``name``: of the collection."""

    def __init__(self, context: Context, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._name = context, name
        self.setWindowTitle(tr("Export a collection"))
        self.kind = NoWheelComboBox()
        self.kind.setAccessibleName(tr("Format"))
        for ending, text in _KINDS:
            self.kind.addItem(text, ending)
        self.notes = QCheckBox(tr("Include notes and free text"))
        self.marks = QCheckBox(tr("Draw measurements with their results"))
        self.clean_pixels = clean_pixels_box(context.settings)
        self._can_clean = self.clean_pixels.isEnabled()
        self.identified = QCheckBox(tr("Include patient identifiers"))
        self.note = WrappedLabel(role="small")
        self.export_button = accept_button(tr("Export…"))
        self.export_button.clicked.connect(lambda _=False: self.export())
        rows = form()
        for title, field in (
            (tr("Format"), self.kind),
            ("", self.notes),
            ("", self.marks),
            ("", self.clean_pixels),
            ("", self.identified),
            ("", self.note),
        ):
            rows.addRow(title, field)
        layout = dialog_layout(self)
        layout.addLayout(rows)
        layout.addLayout(action_row(self, self.export_button))
        self.kind.currentIndexChanged.connect(lambda _place: self._update())
        for tick in (self.notes, self.clean_pixels, self.identified):
            tick.toggled.connect(lambda _on: self._update())
        widen(self, _WIDTH)
        self.export_button.setFocus()
        self._update()

    def options(self) -> CollectionExport:
        """What is chosen."""
        has_images = self.kind.currentData() != ".dcm"
        return CollectionExport(
            self.identified.isChecked(),
            self.notes.isChecked() and has_images,
            self.clean_pixels.isChecked() and has_images,
            self.marks.isChecked() and has_images,
        )

    def export(self) -> None:
        """Ask for the file or the folder, export in the background and close."""
        ending, context = str(self.kind.currentData()), self._context
        if ending == _FOLDER:
            out = choose_target_folder(self, tr("Choose an empty folder"))
        else:
            filters = f"{self.kind.currentText()} (*{ending})"
            out, _ = choose_target(self, self.windowTitle(), f"{tr('collection')}{ending}", filters)
            if out is not None and out.suffix.lower() != ending:
                out = out.with_name(out.name + ending)
        if out is None:
            return
        job = context.jobs.run(
            tr("Exporting {name}", name=self._name),
            export_collection,
            context.state.location,
            self._name,
            out,
            self.options(),
        )
        report_saved_file(context, job, out)
        job.done.connect(partial(_report_left_out, context))
        self.accept()

    def _update(self) -> None:
        """Say what the export holds and what it does not."""
        is_keys, identified = self.kind.currentData() == ".dcm", self.identified.isChecked()
        for box in (self.notes, self.marks):
            box.setEnabled(not is_keys)
        self.clean_pixels.setEnabled(self._can_clean and not is_keys)
        said = [_IDENTIFIED if identified else _HIDDEN]
        if is_keys:
            said = [_KEYS, *([] if identified else [_KEYS_HIDDEN])]
        else:
            said += [_CLEANED if self.clean_pixels.isChecked() else _IMAGES]
            said += [_NOTES] if self.notes.isChecked() else []
        self.note.setText(" ".join(said))


def _report_left_out(context: Context, result: ExportedCollection) -> None:
    n, name = len(result.failed), result.files[0].name
    text = tr_n("{n} case is left out of {name}.", "{n} cases are left out of {name}.", n, name=name)
    report_failures(context, text, result.failed)
