"""The dialog that exports the images of several cases into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import (
    choose_target_folder,
    report_failures,
    report_saved_file,
    target_folder,
)
from semblance.app.widgets.clean_pixels import clean_pixels_box
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    action_row,
    dialog_button,
    dialog_layout,
    form,
    widen,
)
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import line_with_buttons
from semblance.app.widgets.message_lines import ErrorLine
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr, tr_lazy
from semblance.core.workflows.imaging import export_images as workflow
from semblance.core.workflows.imaging.export_images import FULL, SCREEN, ImageExport, ImageExportOptions

_WIDTH = 520
_KINDS = (
    ("png", tr("PNG")),
    ("jpeg", tr("JPEG")),
    ("tiff", tr("TIFF")),
    ("dicom", tr("DICOM files")),
)
_NUMBERED = tr(
    "Files are numbered. Names and headers identify nobody; look at the images before you send them."
)
_CLEANED = tr("Text in images is searched for and blacked out. Small or faint text may be missed.")
_IDENTIFIED = tr("Files are named by their cases, and DICOM files keep their headers. Share them with care.")


class ExportImagesDialog(Dialog):
    """``choices``: texts with the ids of their cases."""

    def __init__(
        self, context: Context, choices: Mapping[str, Sequence[str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._context = context
        self.setWindowTitle(tr("Export images"))
        self.cases = NoWheelComboBox()
        self.cases.setAccessibleName(tr("Cases"))
        for text, ids in choices.items():
            self.cases.addItem(tr("{what}: {n:,}", what=text, n=len(ids)), tuple(ids))
        self.kind, self.image_size = NoWheelComboBox(), NoWheelComboBox()
        for box, name, entries in (
            (self.kind, tr("Format"), _KINDS),
            (
                self.image_size,
                tr("Size"),
                ((SCREEN, tr("for the screen, up to 1,024 pixels")), (FULL, tr("all pixels"))),
            ),
        ):
            box.setAccessibleName(name)
            for key, text in entries:
                box.addItem(text, key)
        self.marks = QCheckBox(tr("Draw regions and measurements"))
        self.clean_pixels = clean_pixels_box(context.settings)
        self.identified = QCheckBox(tr("Include patient identifiers"))
        self.note = WrappedLabel(role="small")
        stem = Path(target_folder()) / f"{tr('images')} {datetime.now():%Y-%m-%d %H.%M.%S}"
        self.folder = QLineEdit(str(stem))
        self.folder.setAccessibleName(tr("Into the new folder"))
        self.error = ErrorLine()
        self.export_button = accept_button(tr("Export"))
        self.export_button.clicked.connect(lambda _=False: self.export())
        self._rows = form()
        for title, field in (
            (tr("Cases"), self.cases),
            (tr("Format"), self.kind),
            (tr("Size"), self.image_size),
            ("", self.marks),
            ("", self.clean_pixels),
            ("", self.identified),
            ("", self.note),
        ):
            self._rows.addRow(title, field)
        choose = dialog_button(tr("Choose…"), self._choose_folder)
        self._rows.addRow(tr("New folder"), line_with_buttons(self.folder, choose))
        layout = dialog_layout(self)
        layout.addLayout(self._rows)
        layout.addWidget(self.error)
        layout.addLayout(action_row(self, self.export_button))
        for box in (self.cases, self.kind):
            box.currentIndexChanged.connect(lambda _place: self._update())
        for tick in (self.clean_pixels, self.identified):
            tick.toggled.connect(lambda _on: self._update())
        widen(self, _WIDTH)
        self.export_button.setFocus()
        self._update()

    def options(self) -> ImageExportOptions:
        """What is chosen."""
        kind = str(self.kind.currentData())
        is_dicom, identified = kind == "dicom", self.identified.isChecked()
        return ImageExportOptions(
            kind,
            FULL if is_dicom else str(self.image_size.currentData()),
            self.marks.isChecked() and not is_dicom,
            self.clean_pixels.isChecked() and not (is_dicom and identified),
            identified,
        )

    def export(self) -> None:
        """Export in the background and close."""
        context, out = self._context, Path(self.folder.text().strip()).expanduser()
        library, cases = context.state.location, self.cases.currentData()
        try:
            if library is None or not cases:
                raise BadArguments(tr_lazy("There are no cases to export."), tr_lazy("Select some first."))
            if not out.is_absolute():
                raise BadArguments(
                    tr_lazy("'{folder}' is not the whole path of a folder.", folder=out),
                    tr_lazy("Choose the folder, or write its path from the top."),
                )
            workflow.check_export(cases, out)
        except SemblanceError as error:
            self.error.set_error(error)
            return
        job = context.jobs.run(
            tr("Exporting images into {name}", name=out.name),
            workflow.export_images,
            library,
            list(cases),
            out,
            self.options(),
            window_level=context.state.window_level,
        )
        job.done.connect(partial(_report_failures, context))
        cancelled = tr("The export was cancelled. What was finished is in {folder}.", folder=out)
        job.cancelled.connect(partial(context.messages.info, cancelled))
        report_saved_file(context, job, out)
        self.accept()

    def _choose_folder(self) -> None:
        name = Path(self.folder.text()).name
        if folder := choose_target_folder(self, tr("Folder for the images")):
            self.folder.setText(str(folder / name))

    def _update(self) -> None:
        is_dicom, identified = self.kind.currentData() == "dicom", self.identified.isChecked()
        self._rows.setRowVisible(self.image_size, not is_dicom)
        self._rows.setRowVisible(self.marks, not is_dicom)
        self._rows.setRowVisible(self.clean_pixels, not (is_dicom and identified))
        cleans = self.options().clean_pixels
        self.note.setText(
            " ".join([_IDENTIFIED if identified else _NUMBERED, *([_CLEANED] if cleans else [])])
        )
        self.error.set_error(None)


def _report_failures(context: Context, result: ImageExport) -> None:
    text = tr("{n:,} cases have no image in {folder}.", n=len(result.failed), folder=result.folder.name)
    report_failures(context, text, result.failed)
