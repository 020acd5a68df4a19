"""The dialog *De-identify DICOM files*: source, folder, what is kept, review of burnt-in text, and result."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QStackedWidget,
    QWidget,
)

from semblance.app.reports.text_review import TextReviewPage
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file, choose_folder, choose_target_folder
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    closing_row,
    dialog_button,
    dialog_layout,
    form,
    help_button,
    resize_dialog,
)
from semblance.app.widgets.fields import NoWheelComboBox, line_edit
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, PanelScrollArea, fill, hbox, line_with_buttons, vbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.errors import SemblanceError
from semblance.core.imaging.deidentification.profile import CODES, Option
from semblance.core.imaging.deidentification.project_key import project_folder
from semblance.core.imaging.text_detector import is_text_detector_installed
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import deidentify_files as workflow
from semblance.core.workflows.imaging.clean_burnt_in_text import BOXES, TextReview, write_boxes
from semblance.core.workflows.imaging.deidentify_files import DeidentifiedFiles

_SIZE = (860, 720)
LIBRARY, FILES = "library", "files"
#: What is done with dates, and the option that says so.
_DATES = (
    (tr("Remove all dates"), None),
    (tr("Move the dates of each patient by the same number of days"), Option.MODIFIED_DATES),
    (tr("Keep dates and times"), Option.FULL_DATES),
)
#: What can be kept, in groups: the title, and each option with what it keeps.
_GROUPS = (
    (
        tr("Keep: patient"),
        (
            (Option.PATIENT, tr("Sex, age, size and weight")),
            (Option.DESCRIPTORS, tr("Known words of descriptions")),
        ),
    ),
    (
        tr("Keep: site, device"),
        (
            (Option.INSTITUTION, tr("Name and address of the institution")),
            (Option.DEVICE, tr("Names and serial numbers of devices")),
        ),
    ),
    (
        tr("Keep: contents"),
        (
            (Option.UIDS, tr("UIDs, which link images and studies")),
            (Option.SAFE_PRIVATE, tr("Known safe values of manufacturers")),
            (Option.STRUCTURED, tr("Report contents that name nobody")),
            (Option.GRAPHICS, tr("Drawn shapes without text")),
        ),
    ),
)
#: Reasons that are listed.
_MOST_LISTED = 5


class DeidentifyDialog(Dialog):
    """Writes nothing before *De-identify*. ``help_requested``."""

    help_requested = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._job: Job | None = None
        self._is_searching = False
        self._result: DeidentifiedFiles | None = None
        #: The images under review, which show the patients' names.
        self._review_folder: TemporaryDirectory[str] | None = None
        self.setWindowTitle(tr("De-identify DICOM files"))
        resize_dialog(self, *_SIZE)
        self._make_fields()
        self.review_page = TextReviewPage()
        self.error = ErrorLine()
        self.note = WrappedLabel(selectable=True)
        self.folder_button = dialog_button(tr("Open folder"), self._open_folder)
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.back_button = dialog_button(tr("Back"), self._leave_review)
        self.run_button = accept_button(tr("De-identify"))
        self.run_button.clicked.connect(lambda _=False: self.run())
        self._make_layout()
        context.state.on_change(Change.LIBRARY, self, self._update)
        self._update()

    # Layout

    def _make_fields(self) -> None:
        self.kind: QComboBox = NoWheelComboBox()
        self.kind.setAccessibleName(tr("Source"))
        if self._context.state.location is not None:
            self.kind.addItem(tr("The DICOM files of the open library"), LIBRARY)
        self.kind.addItem(tr("A folder, a zip or a file"), FILES)
        self.source, self.out = line_edit(tr("Folder or file")), line_edit(tr("Into the new folder"))
        self.source_buttons = (
            dialog_button(tr("Folder…"), partial(self._choose, self.source, is_folder=True)),
            dialog_button(tr("File…"), partial(self._choose, self.source, is_folder=False)),
        )
        self.out_button = dialog_button(tr("Choose…"), partial(self._choose, self.out, is_folder=True))
        self.dates: QComboBox = NoWheelComboBox()
        self.dates.setAccessibleName(tr("Dates"))
        for text, option in _DATES:
            self.dates.addItem(text, option)
            self.dates.setItemData(self.dates.count() - 1, _standard(option), Qt.ItemDataRole.ToolTipRole)
        for combo in (self.kind, self.dates):
            # Else its longest entry sets the width of the dialog.
            combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.options = {option: QCheckBox(text) for _title, options in _GROUPS for option, text in options}
        self.pixels = QCheckBox(tr("Black out text burnt into images"))
        for option, box in (*self.options.items(), (Option.PIXELS, self.pixels)):
            box.setToolTip(_standard(option))
        self.removed = WrappedLabel(
            tr(
                "Names, addresses, birth dates and numbers of patients, the names of physicians and "
                "staff, free comments, and values of manufacturers that nobody knows to be safe. Patients get codes."
            ),
            role="second",
        )
        self.removed.setToolTip(tr("By the Basic Profile of DICOM PS3.15, annex E (113100)"))
        self.review = QCheckBox(tr("Let me review the text that is found first"))
        self.review.setChecked(True)
        self.review.toggled.connect(self._update)
        self.pixels.setChecked(self._context.settings.blacks_out_text)
        self.pixels_note = WrappedLabel(role="second")
        self.project = line_edit(tr("Project"), workflow.PROJECT)
        self._key_note = WrappedLabel(role="second")
        self.kind.currentIndexChanged.connect(self._update)
        self.pixels.toggled.connect(self._update)
        for line in (self.source, self.out, self.project):
            line.textChanged.connect(self._update)

    def _make_layout(self) -> None:
        self._form = form()
        self._source_row = line_with_buttons(self.source, *self.source_buttons)
        out_row = line_with_buttons(self.out, self.out_button)
        for title, field in (
            (tr("Source"), self.kind),
            (self.source.accessibleName(), self._source_row),
            (self.out.accessibleName(), out_row),
            (tr("Removed"), self.removed),
            (tr("Dates"), self.dates),
        ):
            self._form.addRow(title, field)
        for group, options in _GROUPS:
            boxes = vbox(spacing=4)
            for option, _text in options:
                boxes.addWidget(self.options[option])
            self._form.addRow(group, boxes)
        for title, field in (
            (tr("Text in images"), self.pixels),
            ("", self.review),
            ("", self.pixels_note),
            (tr("Project"), self.project),
            ("", self._key_note),
        ):
            self._form.addRow(title, field)
        self._fields = QWidget()
        column = vbox(self._fields, margins=(0, 0, 12, 0), spacing=12)
        column.addWidget(
            WrappedLabel(
                tr("Copies the files without what identifies patients. The originals stay as they are."),
                role="second",
            )
        )
        column.addLayout(self._form)
        column.addStretch(1)
        self.pages = QStackedWidget()
        self.pages.addWidget(PanelScrollArea(self._fields, self.windowTitle()))
        self.pages.addWidget(self.review_page)
        actions = fill(hbox(spacing=8), self.folder_button, STRETCH, self.back_button, self.run_button)
        layout = dialog_layout(self)
        layout.addWidget(self.pages, 1)
        for widget in (self.note, self.error, self.progress):
            layout.addWidget(widget)
        layout.addLayout(actions)
        layout.addLayout(closing_row(self, help_button(self, self.help_requested.emit)))
        self.run_button.setDefault(True)

    # What is asked for

    @property
    def is_running(self) -> bool:
        """Whether files are being searched or written."""
        return self._job is not None

    @property
    def is_reviewing(self) -> bool:
        """Whether the boxes are shown."""
        return self.pages.currentWidget() is self.review_page

    def chosen_options(self) -> frozenset[Option]:
        """The options of the profile."""
        options = {option for option, box in self.options.items() if box.isChecked()}
        if (dates := self.dates.currentData()) is not None:
            options.add(Option(dates))
        return frozenset(options | ({Option.PIXELS} if self.pixels.isChecked() else set()))

    def _source_path(self) -> LibraryLocation | None:
        if self.kind.currentData() == LIBRARY:
            return self._context.state.location
        text = self.source.text().strip()
        return Path(text).expanduser() if text else None

    def _project(self) -> str | None:
        return None if self.kind.currentData() == LIBRARY else self.project.text().strip()

    def _choose(self, line: QLineEdit, *, is_folder: bool) -> None:
        title, begin = line.accessibleName(), line.text()
        if line is self.out:
            chosen = choose_target_folder(self, title, begin=begin)
        elif is_folder:
            chosen = choose_folder(self, title, begin=begin)
        else:
            kinds = f"{tr('DICOM files and zips')} (*.dcm *.zip);;{tr('All files')} (*)"
            chosen = choose_file(self, title, kinds, begin=begin)
        if chosen:
            line.setText(str(chosen))

    # Work

    def run(self) -> None:
        """De-identify, or first look for text to review."""
        source = self._source_path()
        if source is None or self._job is not None:
            return
        if not self.is_reviewing and self.pixels.isChecked() and self.review.isChecked():
            self._find_text(source)
        else:
            self._write(source)

    def cancel(self) -> None:
        """Cancel what runs. Files that were written stay."""
        if self._job is not None:
            self._job.cancel()

    def _find_text(self, source: LibraryLocation) -> None:
        self._forget_review()
        self._review_folder = TemporaryDirectory(prefix="semblance-review-")
        job = self._context.jobs.run(
            tr("Looking for text in {name}", name=source.name),
            workflow.find_text_for_review,
            source,
            Path(self._review_folder.name) / "images",
            self.chosen_options(),
            self._project(),
        )
        job.done.connect(self._show_review)
        job.cancelled.connect(lambda: self.note.setText(tr("Cancelled. Nothing was written.")))
        self._follow(job)
        self._is_searching = True

    def _show_review(self, review: TextReview) -> None:
        self.review_page.show_review(review)
        if not review.images:
            # There is nothing to decide.
            self._job = None
            source = self._source_path()
            if source is not None:
                self._write(source)
            return
        self.pages.setCurrentWidget(self.review_page)
        self.review_page.list.setFocus()

    def _write(self, source: LibraryLocation) -> None:
        boxes: Path | None = None
        if self._review_folder is not None:
            boxes = Path(self._review_folder.name) / BOXES
            try:
                write_boxes(boxes, self.review_page.review)
            except SemblanceError as error:
                self._show_error(error)
                return
        job = self._context.jobs.run(
            tr("De-identifying {name}", name=source.name),
            workflow.deidentify_files,
            source,
            Path(self.out.text().strip()).expanduser(),
            self.chosen_options(),
            self._project(),
            boxes=boxes,
        )
        job.done.connect(self._show_result)
        job.cancelled.connect(
            lambda: self.note.setText(
                tr("Cancelled. The files that were finished are in the folder, with their receipt.")
            )
        )
        self._follow(job)

    def _follow(self, job: Job) -> None:
        self._job, self._is_searching, self._result = job, False, None
        self.error.set_error(None)
        self.note.setText("")
        job.changed.connect(partial(self._show_progress, job))
        job.failed.connect(self._show_error)
        job.ended.connect(partial(self._end, job))
        self.progress.show_job(job)
        self._update()

    def _show_progress(self, job: Job) -> None:
        if job is self._job:
            self.progress.show_job(job)

    def _end(self, job: Job) -> None:
        # After a search without text the next job may run already.
        if self._job is job:
            self._job, self._is_searching = None, False
        self._update()

    def _show_error(self, error: SemblanceError) -> None:
        error.message, error.hint = translate(error.message), translate(error.hint)
        self.error.set_error(error)
        self._update()

    def _show_result(self, result: DeidentifiedFiles) -> None:
        self._leave_review()
        self._result = result
        document = result.to_json()
        files = tr_n("{n} file was written", "{n} files were written", document["files"])
        patients = tr_n("of {n} patient.", "of {n} patients.", document["patients"])
        lines = [f"{files} {patients}"]
        hidden = document["burnt_in_text"]
        if hidden["boxes"]:
            lines[0] += " " + tr_n(
                "Text was blacked out in {n} image.", "Text was blacked out in {n} images.", hidden["frames"]
            )
        if result.unchecked:
            lines.append(
                tr_n(
                    "{n} file may have text burnt into its pixels: look at it.",
                    "{n} files may have text burnt into their pixels: look at them.",
                    result.unchecked,
                )
            )
        lines.append(tr("What was removed and by which rule: {file}", file=result.receipt_file))
        lines += [
            tr("Not written: {file}: {reason}", file=file, reason=translate(reason))
            for file, reason in result.failed[:_MOST_LISTED]
        ]
        rest = len(result.failed) - _MOST_LISTED
        if rest > 0:
            lines.append(tr_n("{n} more was not written.", "{n} more were not written.", rest))
        self.note.setText("\n".join(lines))
        self._forget_review()
        self._update()

    def _open_folder(self) -> None:
        if self._result is not None:
            folder = str(self._result.receipt_file.parent)
            QDesktopServices.openUrl(QUrl.fromLocalFile(folder))

    # Review

    def _leave_review(self) -> None:
        self.pages.setCurrentIndex(0)
        self._update()

    def _forget_review(self) -> None:
        """Delete the images under review."""
        if self._review_folder is not None:
            self._review_folder.cleanup()
            self._review_folder = None

    def done(self, result: int) -> None:
        """Close. Files that are being written are finished; a search for text and a review end."""
        if self._is_searching:
            self.cancel()
        if self._job is None:
            self._leave_review()
            self._forget_review()
        super().done(result)

    # State

    def _update(self) -> None:
        running, of_library = self.is_running, self.kind.currentData() == LIBRARY
        reviewing, installed = self.is_reviewing, is_text_detector_installed()
        self._form.setRowVisible(self._source_row, not of_library)
        self._form.setRowVisible(self.project, not of_library)
        hides_text = self.pixels.isChecked()
        self._form.setRowVisible(self.review, hides_text)
        if not installed:
            text = tr("What finds text is not installed. The help page Installation says how it is.")
        elif hides_text:
            text = tr("It takes about a second for each image. Small, faint and oblique text may be missed.")
        else:
            text = tr("Text burnt into images stays. Look at the images before you pass them on.")
        self.pixels_note.setText(text)
        if of_library:
            key = tr("Codes are made with the library's own key, which is never in the folder.")
        else:
            key = tr(
                "The same project gives the same codes, UIDs and moved dates again. Its key is in {folder}, never "
                "among the files.",
                folder=project_folder(),
            )
        self._key_note.setText(key)
        if reviewing:
            self.run_button.setText(tr("Black out and de-identify"))
        elif hides_text and self.review.isChecked():
            self.run_button.setText(tr("Look for text…"))
        else:
            self.run_button.setText(tr("De-identify"))
        complete = self._source_path() is not None and bool(self.out.text().strip())
        complete = complete and (of_library or bool(self.project.text().strip()))
        self.run_button.setToolTip("" if complete else tr("Choose the source and the new folder first"))
        self.back_button.setVisible(reviewing)
        self.folder_button.setVisible(self._result is not None)
        self.note.setVisible(bool(self.note.text()))
        self.progress.setVisible(running)
        enable_widgets(
            {
                self._fields: not running,
                self.review_page: not running,
                self.back_button: not running,
                self.pixels: installed or hides_text,
                self.run_button: complete and not running,
            }
        )


def _standard(option: Option | None) -> str:
    """What the standard calls an option, for a tooltip."""
    if option is None:
        return ""
    code, meaning = CODES[option]
    return tr("DICOM PS3.15: {meaning} ({code})", meaning=meaning, code=code)
