"""The dialog before a report is created: its queries, format, letterhead and privacy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_file, choose_target, choose_target_folder
from semblance.app.shell.settings import AUTHOR, Settings
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.core.errors import SemblanceError
from semblance.core.imaging.text_detector import is_text_detector_installed
from semblance.core.language import tr
from semblance.core.reports.options import ACCEPTED, ASSESSMENT, PAGES, REJECTED, ReportOptions, read_logo

#: Formats of a report: suffix, or what a DICOM file is, and name.
FORMATS = (
    ("pdf", tr("PDF, to print and to file")),
    ("html", tr("HTML, one page for a browser")),
    ("json", tr("JSON, can be opened as a search")),
    ("csv", tr("CSV, the similar cases as a table")),
    ("dcm", tr("DICOM, a PDF for the image archive")),
    ("sr", tr("DICOM, a structured report")),
    ("kos", tr("DICOM, key objects")),
    ("seg", tr("DICOM, regions as segmentations")),
    ("all", tr("DICOM, all of these as one set")),
    (ASSESSMENT, tr("DICOM, your marks as an assessment")),
)
#: Formats that are DICOM files other than a PDF.
DICOM_FORMS = frozenset(("sr", "kos", "seg", "all", ASSESSMENT))
#: Formats without images.
WITHOUT_IMAGES = frozenset(("json", "csv"))
#: Assessments of the estimate to choose from.
ESTIMATES = (("", tr("not assessed")), (ACCEPTED, tr("accepted")), (REJECTED, tr("rejected")))
ASSESSED = tr(
    "Marks say which similar cases you accept and reject. The structured report that they are about is written "
    "beside them."
)
DE_IDENTIFIED = tr("Cases are numbered. Patient ids and names of files are left out.")
TEXT_STAYS = tr("Text in images stays.")
TEXT_HIDDEN = tr("Text in images is searched for and blacked out. Look at the images before you send them.")
IDENTIFIED = tr("The report contains patient IDs and file paths. Share it with care.")
FREE_TEXT = tr("Comments and body parts may name the patient: read them before you send the report.")


@dataclass(frozen=True)
class QuerySelection:
    """A choice of queries: its text, and the ids of the cases, one report each. No ids: the present query."""

    text: str
    cases: tuple[str, ...] = ()


class ReportDialog(Dialog):
    """Read :attr:`target`, :meth:`cases`, :meth:`file_suffix` and :attr:`options` after it was accepted."""

    def __init__(
        self, queries: list[QuerySelection], settings: Settings, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._queries, self._settings = queries, settings
        #: The file, or the folder for several reports. Set when the dialog is accepted.
        self.target = Path()
        self.options = ReportOptions()
        self.setWindowTitle(tr("Create report"))
        self.setMinimumWidth(theme().px(520))
        self._make_fields()
        self._rows = form()
        self._rows.addRow(tr("Query"), self.query_box)
        self._rows.addRow(tr("Format"), self.format_box)
        self._rows.addRow(tr("Estimate"), self.estimate)
        self._rows.addRow(tr("Page"), self.page)
        self._rows.addRow(tr("Clinic"), self.clinic)
        self._rows.addRow(tr("Logo"), self._logo_row())
        self._rows.addRow(tr("Comment"), self.comment)
        self._rows.addRow(tr("Patients"), self.identified)
        self._rows.addRow("", self.free_text)
        self._rows.addRow("", self.clean_pixels)
        self._rows.addRow("", self._privacy)
        self._error = ErrorLine()
        self.create_button = accept_button(tr("Create report…"))
        self.create_button.clicked.connect(self._accept_options)
        column = dialog_layout(self)
        column.addLayout(self._rows)
        column.addWidget(self._error)
        column.addLayout(action_row(self, self.create_button))
        self._update()

    def cases(self) -> tuple[str, ...]:
        """The cases used as queries, one report each. Empty for the present query."""
        return self._queries[self.query_box.currentIndex()].cases

    def file_suffix(self) -> str:
        """The suffix of the files, without the dot."""
        chosen = str(self.format_box.currentData())
        return "dcm" if chosen in DICOM_FORMS else chosen

    def _dicom_object(self) -> str:
        chosen = str(self.format_box.currentData())
        return chosen if chosen in DICOM_FORMS else "pdf"

    def _estimate_assessment(self) -> str:
        is_asked = self._dicom_object() == ASSESSMENT and not self.cases()
        return str(self.estimate.currentData()) if is_asked else ""

    def _make_fields(self) -> None:
        self.query_box = QComboBox()
        self.query_box.setAccessibleName(tr("Cases to report"))
        for queries in self._queries:
            self.query_box.addItem(queries.text)
        self.format_box = QComboBox()
        self.format_box.setAccessibleName(tr("Format of the report"))
        for suffix, name in FORMATS:
            self.format_box.addItem(name, suffix)
        self.estimate = QComboBox()
        self.estimate.setAccessibleName(tr("What you say of the estimate"))
        for word, name in ESTIMATES:
            self.estimate.addItem(name, word)
        self.page = QComboBox()
        self.page.setAccessibleName(tr("Size of the pages"))
        self.page.addItems(PAGES)
        self.clinic = QLineEdit(self._settings.text("report_clinic"))
        self.clinic.setPlaceholderText(tr("printed at the top (optional)"))
        self.clinic.setAccessibleName(tr("Name of the clinic"))
        self.logo = QLineEdit(self._settings.text("report_logo"))
        self.logo.setPlaceholderText(tr("PNG or JPEG file (optional)"))
        self.logo.setAccessibleName(tr("File of the logo"))
        self.comment = QPlainTextEdit()
        self.comment.setPlaceholderText(tr("your own comment, printed after the query"))
        self.comment.setAccessibleName(tr("Comment"))
        self.comment.setTabChangesFocus(True)
        self.comment.setFixedHeight(theme().px(88))
        self.identified = QCheckBox(tr("Include patient identifiers"))
        self.free_text = QCheckBox(tr("Include free text"))
        self.clean_pixels = QCheckBox(tr("Black out text in images"))
        self.clean_pixels.setChecked(self._settings.blacks_out_text)
        if is_text_detector_installed():
            self.clean_pixels.setToolTip(tr("Takes about a second for each image."))
        else:
            # If the settings ask for it, only the person can say that text stays.
            self.clean_pixels.setEnabled(self.clean_pixels.isChecked())
            self.clean_pixels.setToolTip(tr('Not installed. Run pip install "semblance-retrieval[ocr]"'))
        self._privacy = WrappedLabel(role="small")
        self.format_box.setCurrentIndex(
            max(0, self.format_box.findData(self._settings.text("report_form", "pdf")))
        )
        self.page.setCurrentText(self._settings.text("report_page", PAGES[0]))
        self.format_box.currentIndexChanged.connect(self._update)
        self.query_box.currentIndexChanged.connect(self._update)
        self.identified.toggled.connect(self._update)
        self.free_text.toggled.connect(self._update)
        self.clean_pixels.toggled.connect(self._update)

    def _logo_row(self) -> QHBoxLayout:
        choose_button = QPushButton(tr("Choose…"))
        choose_button.clicked.connect(self._choose_logo)
        row = hbox(spacing=8)
        row.addWidget(self.logo, 1)
        row.addWidget(choose_button)
        return row

    def _update(self) -> None:
        with_images = self.format_box.currentData() not in WITHOUT_IMAGES
        is_assessment = self.format_box.currentData() == ASSESSMENT
        hides_text = with_images and self.clean_pixels.isChecked()
        identified = self.identified.isChecked()
        warning = [IDENTIFIED if identified else DE_IDENTIFIED]
        if with_images and (hides_text or not identified):
            warning.append(TEXT_HIDDEN if hides_text else TEXT_STAYS)
        warning += [FREE_TEXT] if self.free_text.isChecked() else []
        warning = [ASSESSED, *warning] if is_assessment else warning
        # The estimate of one query is assessed.
        self._rows.setRowVisible(self.estimate, is_assessment and not self.cases())
        self._rows.setRowVisible(self.clean_pixels, with_images)
        self._privacy.setText(" ".join(warning))
        has_pages = self.format_box.currentData() in ("pdf", "dcm", "all")
        self._rows.setRowVisible(self.page, has_pages)
        self._error.set_error(None)

    def _choose_logo(self) -> None:
        if file := choose_file(self, tr("Logo"), f"{tr('Images')} (*.png *.jpg *.jpeg)"):
            self.logo.setText(str(file))

    def _accept_options(self) -> None:
        """Check the options, choose the target, and accept."""
        try:
            logo = self.logo.text().strip()
            self.options = ReportOptions(
                self.page.currentText(),
                self.clinic.text().strip(),
                read_logo(Path(logo).expanduser()) if logo else None,
                self.comment.toPlainText().strip(),
                self.identified.isChecked(),
                self.free_text.isChecked(),
                self._dicom_object(),
                self.clean_pixels.isChecked() and self.format_box.currentData() not in WITHOUT_IMAGES,
                self._estimate_assessment(),
                self._settings.text(AUTHOR),
            )
        except SemblanceError as error:
            self._error.set_error(error)
            return
        file = self._choose_target()
        if file:
            self.target = file
            for key, value in (
                ("report_form", str(self.format_box.currentData())),
                ("report_page", self.options.page),
                ("report_clinic", self.options.clinic),
                ("report_logo", logo),
            ):
                self._settings.set_text(key, value)
            self.accept()

    def _choose_target(self) -> Path | None:
        suffix = self.file_suffix()
        if self.cases():
            return choose_target_folder(self, tr("Folder for the reports"))
        name, kinds = f"{tr('report')}.{suffix}", f"{tr('Report')} (*.{suffix})"
        file, _ = choose_target(self, tr("Create report"), name, kinds)
        return file if file is None or file.suffix else file.with_name(f"{file.name}.{suffix}")


def query_selections(query_name: str, shown: list[str], held_out: list[str]) -> list[QuerySelection]:
    """The choices of queries: the present one, the cases shown in the library, and the held-out cases."""
    selections = ((tr("the cases shown in Library"), shown), (tr("held-out cases"), held_out))
    return [
        QuerySelection(tr("this query: {present}", present=query_name)),
        *(
            QuerySelection(tr("{what}: {n:,}, one report each", what=text, n=len(cases)), tuple(cases))
            for text, cases in selections
            if cases
        ),
    ]
