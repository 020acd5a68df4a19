"""The dialog that makes a report: its format and contents beside a preview, and the file it is saved in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QKeySequence, QPalette, QPixmap, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.file_dialogs import choose_target_folder, target_folder
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.settings import AUTHOR, REPORT_CLINIC, REPORT_LOGO, REPORT_PAGE
from semblance.app.shell.theme import colour, set_look, theme
from semblance.app.widgets.clean_pixels import clean_pixels_box
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    action_row,
    dialog_button,
    dialog_layout,
    form,
    resize_dialog,
)
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import STRETCH, PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n
from semblance.core.reports.options import ACCEPTED, ASSESSMENT, PAGES, REJECTED, ReportOptions, read_logo
from semblance.core.reports.write_report import WRITERS, report_endings
from semblance.core.workflows.reports.write_reports import ReportPreview, preview_report

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
_SIZE, _FORM_WIDTH = (1120, 820), 380
_FORMAT = "report_form"
PREVIEW_CHANNEL = "report preview"
#: The preview waits so long for further typing, in ms.
_PAUSE_MS = 250
_MARGIN = 12
_LEAST_WIDTH = 240


@dataclass(frozen=True)
class QuerySelection:
    """A choice of queries: its text, and the ids of the cases, one report each. No ids: the present query."""

    text: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportRequest:
    """``suffix`` of the files with its dot; the file ``target`` of the present query, or the folder for the reports on
    ``cases``."""

    suffix: str
    options: ReportOptions
    target: Path
    cases: tuple[str, ...] = ()


class ReportDialog(Dialog):
    """Enter saves. Read :attr:`request` after it was accepted."""

    def __init__(
        self, context: Context, queries: Sequence[QuerySelection], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._context, self._settings, self._queries = context, context.settings, queries
        self.request: ReportRequest | None = None
        self._made = datetime.now()
        self._letterhead_shown = self._letterhead_now()
        #: The path and the content of the logo that was read last.
        self._logo: tuple[str, bytes | None] = ("", None)
        #: The file that is replaced when Save is pressed again.
        self._replaces: Path | None = None
        self.setWindowTitle(tr("Report"))
        resize_dialog(self, *_SIZE)
        self.preview = ReportPreviewView(context)
        self._make_fields()
        self._make_layout()
        self._connect_fields()
        self._propose_name()
        self._update(at_once=True)

    # Layout

    def _make_fields(self) -> None:
        self.query_box = _combo(
            tr("Cases to report"), [(one.text, place) for place, one in enumerate(self._queries)]
        )
        plug_ins = [ending.lstrip(".") for ending in report_endings() if ending not in WRITERS]
        formats = [*FORMATS, *((name, tr("{name}, by a plug-in", name=name.upper())) for name in plug_ins)]
        self.format_box = _combo(tr("Format of the report"), [(name, key) for key, name in formats])
        self.format_box.setCurrentIndex(max(0, self.format_box.findData(self._settings.text(_FORMAT, "pdf"))))
        self.estimate = _combo(tr("What you say of the estimate"), [(name, word) for word, name in ESTIMATES])
        self.comment = QPlainTextEdit()
        self.comment.setPlaceholderText(tr("your own comment, printed after the query"))
        self.comment.setAccessibleName(tr("Comment"))
        self.comment.setTabChangesFocus(True)
        self.comment.setFixedHeight(theme().px(88))
        self.identified = QCheckBox(tr("Include patient identifiers"))
        self.free_text = QCheckBox(tr("Include free text"))
        self.clean_pixels = clean_pixels_box(self._settings)
        self._privacy = WrappedLabel(role="small")
        self.name = QLineEdit()
        self.name.setAccessibleName(tr("Name of the file"))
        self.folder = Path(target_folder())
        self._folder_label = ElidedLabel(role="second", mode=Qt.TextElideMode.ElideMiddle)
        self._folder_button = dialog_button(tr("Folder…"), self._choose_folder)
        self._letterhead = dialog_button(
            tr("Page and letterhead…"),
            self._context.actions["settings"].trigger,
            tr("Page size, clinic and logo are in the settings"),
        )
        set_look(self._letterhead, link=True)
        self._error = ErrorLine()
        self.warning = WrappedLabel(role="error")
        self.warning.hide()
        self.create_button = accept_button(tr("Save"))

    def _make_layout(self) -> None:
        self._rows = form()
        patients = vbox(spacing=4)
        for box in (self.identified, self.free_text, self.clean_pixels):
            patients.addWidget(box)
        folder = fill(hbox(spacing=8), (self._folder_label, 1), self._folder_button)
        for title, field in (
            (tr("Format"), self.format_box),
            (tr("Query"), self.query_box),
            (tr("Estimate"), self.estimate),
            (tr("Comment"), self.comment),
        ):
            self._rows.addRow(title, field)
        self._rows.addRow(tr("Patients"), patients)
        self._rows.addRow("", self._privacy)
        link = fill(hbox(), self._letterhead, STRETCH)
        self._rows.addRow("", link)
        self._rows.addRow(tr("File"), self.name)
        self._rows.addRow(tr("Folder"), folder)
        fields = QWidget()
        fill(vbox(fields, spacing=12, margins=(0, 0, 12, 0)), self._rows, STRETCH)
        area = PanelScrollArea(fields, tr("Report"))
        side = QWidget()
        side.setFixedWidth(theme().px(_FORM_WIDTH))
        below = vbox(side, spacing=8)
        below.addWidget(area, 1)
        for line in (self.warning, self._error):
            below.addWidget(line)
        row = fill(hbox(spacing=16), (self.preview, 1), side)
        layout = dialog_layout(self)
        layout.addLayout(row, 1)
        layout.addLayout(action_row(self, self.create_button))
        self.create_button.setFocus()

    def _connect_fields(self) -> None:
        self.create_button.clicked.connect(lambda _=False: self.save())
        for keys in ("Ctrl+Return", "Ctrl+S"):
            QShortcut(QKeySequence(keys), self, self.save)
        self.name.textEdited.connect(lambda _text: self._warn(None))
        for box in (self.format_box, self.query_box):
            box.currentIndexChanged.connect(lambda _place: self._propose_name())
            box.currentIndexChanged.connect(lambda _place: self._update())
        self.estimate.currentIndexChanged.connect(lambda _place: self._update())
        for tick in (self.identified, self.free_text, self.clean_pixels):
            tick.toggled.connect(lambda _on: self._update())
        self.comment.textChanged.connect(self._update)

    def changeEvent(self, event: object) -> None:
        super().changeEvent(event)  # type: ignore[arg-type]
        # Back from the settings, the letterhead may be another one.
        if self.isVisible() and self.isActiveWindow() and self._letterhead_now() != self._letterhead_shown:
            self._update(at_once=True)

    # What is asked for

    def cases(self) -> tuple[str, ...]:
        """The cases used as queries, one report each. Empty for the present query."""
        return self._queries[self.query_box.currentIndex()].cases

    def file_suffix(self) -> str:
        """The suffix of the files, without the dot."""
        chosen = str(self.format_box.currentData())
        return "dcm" if chosen in DICOM_FORMS else chosen

    def options(self) -> ReportOptions:
        """The options that are chosen, with the letterhead of the settings.

        Raises:
            SemblanceError: the logo cannot be read, or the comment is too long.
        """
        chosen, (page, clinic, logo) = str(self.format_box.currentData()), self._letterhead_now()
        is_assessed = chosen == ASSESSMENT and not self.cases()
        if logo != self._logo[0]:
            self._logo = logo, read_logo(Path(logo).expanduser()) if logo else None
        return ReportOptions(
            page if page in PAGES else PAGES[0],
            clinic,
            self._logo[1],
            self.comment.toPlainText().strip(),
            self.identified.isChecked(),
            self.free_text.isChecked(),
            chosen if chosen in DICOM_FORMS else "pdf",
            self.clean_pixels.isChecked() and chosen not in WITHOUT_IMAGES,
            str(self.estimate.currentData()) if is_assessed else "",
            self._settings.text(AUTHOR),
        )

    def target(self) -> Path:
        """The file, or the folder for several reports."""
        name = self.name.text().strip() or self._free_name()
        suffix = f".{self.file_suffix()}"
        is_whole = bool(self.cases()) or name.lower().endswith(suffix)
        return self.folder / (name if is_whole else f"{name}{suffix}")

    def save(self) -> None:
        """Accept what is chosen. A file that exists is replaced when this is called again."""
        try:
            options = self.options()
        except SemblanceError as error:
            self._error.set_error(error)
            return
        target = self.target()
        if target.exists() and self._replaces != target:
            self._warn(target)
            return
        self.request = ReportRequest(f".{self.file_suffix()}", options, target, self.cases())
        self._settings.set_text(_FORMAT, str(self.format_box.currentData()))
        self.accept()

    def _letterhead_now(self) -> tuple[str, str, str]:
        settings = self._settings
        return settings.text(REPORT_PAGE, PAGES[0]), settings.text(REPORT_CLINIC), settings.text(REPORT_LOGO)

    def _warn(self, exists: Path | None) -> None:
        """Say that a file or folder exists."""
        self._replaces = None if self.cases() else exists
        text = ""
        if exists is not None:
            text = (
                tr("The folder {name} exists. Enter another name.", name=exists.name)
                if self.cases()
                else tr("{name} exists. Save again to replace it.", name=exists.name)
            )
        self.warning.setText(text)
        self.warning.setVisible(bool(text))

    def _free_name(self) -> str:
        """A name that no file has and that says nothing of a patient."""
        stem = f"{tr('reports') if self.cases() else tr('report')} {self._made:%Y-%m-%d %H.%M}"
        suffix = "" if self.cases() else f".{self.file_suffix()}"
        names = (f"{stem}{suffix}", *(f"{stem} {n}{suffix}" for n in range(2, 1000)))
        return next((name for name in names if not (self.folder / name).exists()), names[0])

    def _propose_name(self) -> None:
        self.name.setText(self._free_name())
        self._folder_label.setText(str(self.folder))
        self._warn(None)

    def _choose_folder(self) -> None:
        if folder := choose_target_folder(self, tr("Folder for the report"), begin=str(self.folder)):
            self.folder = folder
            self._propose_name()

    # State

    def _update(self, *, at_once: bool = False) -> None:
        chosen = self.format_box.currentData()
        with_images, is_assessment = chosen not in WITHOUT_IMAGES, chosen == ASSESSMENT
        hides_text = with_images and self.clean_pixels.isChecked()
        identified = self.identified.isChecked()
        warning = [IDENTIFIED if identified else DE_IDENTIFIED]
        if with_images and (hides_text or not identified):
            warning.append(TEXT_HIDDEN if hides_text else TEXT_STAYS)
        warning += [FREE_TEXT] if self.free_text.isChecked() else []
        warning = [ASSESSED, *warning] if is_assessment else warning
        # The estimate of one query is assessed.
        self._rows.setRowVisible(self.estimate, is_assessment and not self.cases())
        self._rows.setRowVisible(self.query_box, len(self._queries) > 1)
        self.clean_pixels.setVisible(with_images)
        self._privacy.setText(" ".join(warning))
        self._letterhead_shown = self._letterhead_now()
        try:
            options = self.options()
        except SemblanceError as error:
            self._error.set_error(error)
            self.preview.cancel()
            return
        self._error.set_error(None)
        request = ReportRequest(f".{self.file_suffix()}", options, self.target(), self.cases())
        self.preview.show_request(request, at_once=at_once)

    def done(self, result: int) -> None:
        self.preview.cancel()
        super().done(result)


def _combo(name: str, entries: Sequence[tuple[str, object]]) -> QComboBox:
    box = NoWheelComboBox()
    box.setAccessibleName(name)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    for text, data in entries:
        box.addItem(text, data)
    return box


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


class ReportPreviewView(QWidget):
    """The pages of a report, or the beginning of its text, as they will be in the file. The newest request wins.

    :meth:`show_request` draws what is asked for in another process and leaves what was there until it is done."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._request: ReportRequest | None = None
        self._key = uuid4().hex
        self._pause = one_shot(self, self._start)
        self.status = ElidedLabel(role="second")
        self.pages: list[QLabel] = []
        self._inner = QWidget()
        self._column = vbox(self._inner, spacing=_MARGIN, margins=(_MARGIN, _MARGIN, _MARGIN, _MARGIN))
        self._column.addStretch(1)
        self._area = QScrollArea()
        self._area.setAccessibleName(tr("Preview of the report"))
        self._area.setWidget(self._inner)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # White paper is set off from a white window.
        self._inner.setAutoFillBackground(True)
        palette = self._inner.palette()
        palette.setColor(QPalette.ColorRole.Window, colour(theme().image_well))
        self._inner.setPalette(palette)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName(tr("Preview of the report"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.notice = EmptyState()
        self.views = QStackedWidget()
        for view in (self._area, self.text, self.notice):
            self.views.addWidget(view)
        fill(vbox(self, spacing=6), (self.views, 1), self.status)

    def show_request(self, request: ReportRequest, *, at_once: bool = False) -> None:
        """Show the report of ``request``; after a pause in the typing, unless ``at_once``."""
        self._request = request
        self.status.setText(tr("Drawing the preview…"))
        self._pause.start(0 if at_once else _PAUSE_MS)

    def cancel(self) -> None:
        """Draw no more."""
        self._pause.stop()
        self._context.jobs.cancel_channel(PREVIEW_CHANNEL)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _start(self) -> None:
        request, state = self._request, self._context.state
        if request is None or state.location is None or state.search is None:
            return
        width = round(self._page_width() * self.devicePixelRatioF())
        job = self._context.jobs.run(
            "",
            preview_report,
            state.location,
            state.search,
            request.suffix,
            request.options,
            width,
            case=request.cases[0] if request.cases else None,
            dialog=self._key,
            window_level=None if request.cases else state.window_level,
            pool=WorkerPool.SEARCH,
            channel=PREVIEW_CHANNEL,
            quiet=True,
        )
        job.done.connect(self._show)
        job.failed.connect(self._show_error)

    def _page_width(self) -> int:
        bar = self._area.verticalScrollBar().sizeHint().width()
        return max(theme().px(_LEAST_WIDTH), self._area.width() - bar - 2 * _MARGIN)

    def _show(self, preview: ReportPreview) -> None:
        if not preview.pages:
            self.text.setPlainText(preview.text)
            if preview.text:
                self.views.setCurrentWidget(self.text)
            else:
                self.notice.show_message("", tr("Files of this format cannot be shown here."))
                self.views.setCurrentWidget(self.notice)
            self.status.setText("")
            return
        for page in self.pages:
            self._column.removeWidget(page)
            page.deleteLater()
        self.pages = []
        for number, content in enumerate(preview.pages, start=1):
            page = QLabel()
            page.setAccessibleName(tr("Page {number}", number=number))
            page.setScaledContents(True)
            page.setPixmap(QPixmap.fromImage(QImage.fromData(content)))
            self.pages.append(page)
            self._column.insertWidget(number - 1, page, 0, Qt.AlignmentFlag.AlignHCenter)
        self._fit()
        self.views.setCurrentWidget(self._area)
        shown = len(preview.pages)
        self.status.setText(
            tr_n("{n} page", "{n} pages", preview.count)
            if shown == preview.count
            else tr("The first {shown} of {n} pages", shown=shown, n=preview.count)
        )

    def _show_error(self, error: SemblanceError) -> None:
        self.notice.show_error(error, tr("There is no preview"))
        self.views.setCurrentWidget(self.notice)
        self.status.setText("")

    def _fit(self) -> None:
        """Scale the pages that are shown to the width."""
        width = self._page_width()
        for page in self.pages:
            size = page.pixmap().size()
            page.setFixedSize(width, round(width * size.height() / max(1, size.width())))
