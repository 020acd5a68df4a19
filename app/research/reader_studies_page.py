"""The page *Reader studies*: create, read, analyse and export the reader studies of the open library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QSplitter,
    QWidget,
)

from semblance.app.research.experiment_form import CheckList
from semblance.app.research.reading_dialog import CHANNEL, ReadingDialog
from semblance.app.research.result_page import ResultPage, ResultTable, p_value_text
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_target_folder
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_button, dialog_layout, form
from semblance.app.widgets.fields import NoWheelComboBox, spin_box
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import fill, vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tab_order import enable_widgets
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.research.reader_study.analysis import StudyAnalysis
from semblance.core.research.reader_study.export import result_rows, study_score_title
from semblance.core.workflows.research import reader_study
from semblance.core.workflows.research.reader_study import StudyRequest, StudyStatus


class NewStudyDialog(Dialog):
    """The form of a new study; :meth:`request` is what was entered."""

    def __init__(
        self, findings: Sequence[str], metrics: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("New reader study"))
        self.name = QLineEdit()
        self.positive: QComboBox = NoWheelComboBox()
        self.positive.addItems(list(findings))
        self.positive.setToolTip(
            tr("Sensitivity, specificity and the ROC are of this finding against the rest")
        )
        self.readers = QLineEdit()
        self.readers.setPlaceholderText("R1, R2, R3")
        self.readers.setToolTip(tr("Codes separated by commas, not names"))
        self.metrics = CheckList(tr("Metrics"), 4)
        for name in metrics:
            self.metrics.add(name, name, ticked=name == metrics[-1])
        self.unaided = QCheckBox(tr("Without similar cases"))
        self.unaided.setChecked(True)
        self.random = QCheckBox(tr("Cases drawn at random (control)"))
        self.n_cases = spin_box(4, 2000, 40)
        self.washout = spin_box(0, 365, 28, tr(" days"))
        self.seed = spin_box(0, 999_999, 0)
        fields = form()
        for label, field in (
            (tr("Name"), self.name),
            (tr("Positive finding"), self.positive),
            (tr("Readers"), self.readers),
            (tr("Arms"), self.unaided),
            (tr("Similar cases by"), self.metrics),
            ("", self.random),
            (tr("Cases"), self.n_cases),
            (tr("Washout"), self.washout),
            (tr("Seed"), self.seed),
        ):
            fields.addRow(label, field)
        create = accept_button(tr("Create"))
        create.clicked.connect(self.accept)
        self._create = create
        layout = dialog_layout(self)
        layout.addLayout(fields)
        layout.addWidget(
            WrappedLabel(
                tr(
                    "The cases are drawn at random, one of each patient, as many of each finding as possible. Cases "
                    "that a chosen metric was trained on are left out."
                ),
                "small",
            )
        )
        layout.addLayout(action_row(self, create))
        for changed in (self.name.textChanged, self.readers.textChanged, self.metrics.ticked_changed):
            changed.connect(self._update)
        for box in (self.unaided, self.random):
            box.toggled.connect(self._update)
        self._update()

    def request(self) -> StudyRequest:
        """What was entered."""
        return StudyRequest(
            self.name.text().strip(),
            self.positive.currentText(),
            tuple(dict.fromkeys(part for part in re.split(r"[,;\s]+", self.readers.text()) if part)),
            self.metrics.ticked(),
            n_cases=self.n_cases.value(),
            unaided=self.unaided.isChecked(),
            random=self.random.isChecked(),
            washout_days=self.washout.value(),
            seed=self.seed.value(),
        )

    def _update(self) -> None:
        request = self.request()
        has_arm = bool(request.unaided or request.metrics or request.random)
        missing = (
            tr("Enter a name")
            if not request.name
            else tr("Enter the readers' codes")
            if not request.readers
            else ""
            if has_arm
            else tr("Choose an arm")
        )
        self._create.setEnabled(not missing)
        self._create.setToolTip(missing)


class ReaderStudiesPage(ResultPage):
    """The studies with their readers above, the results of the selected study below."""

    title = tr("Reader studies")
    introduction = tr(
        "Every reader reads every case once in every arm, in counter-balanced order. The reading shows "
        "neither the arm, the patient nor the finding."
    )
    help_page = "reader_study"
    channel = CHANNEL

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__(context)
        self._thumbnails = thumbnails
        self._studies: tuple[StudyStatus, ...] = ()
        #: Study and reader of each row of the table.
        self._rows: list[tuple[StudyStatus, str]] = []
        self.table = ResultTable(tr("Reader studies and their readers"))
        self.table.currentCellChanged.connect(lambda *_: self._select())
        self.table.entered.connect(lambda _row: self.start_reading())
        self.results = ResultTable(tr("Results of the selected study"))
        self._facts = WrappedLabel(role="second")
        #: Why studies cannot be created, or not read either.
        self._why_not = WrappedLabel(role="second")
        self.new_button = dialog_button(tr("New study…"), self.new_study)
        self.read_button = dialog_button(tr("Read as this reader"), self.start_reading)
        set_look(self.read_button, primary=True)
        self.export_button = dialog_button(tr("Export…"), self._choose_folder)
        self.delete_button = dialog_button(tr("Delete study"), self.delete)
        self._make_layout()
        context.state.on_change(Change.CASES, self, self.update_buttons)

    def _make_layout(self) -> None:
        below = QWidget()
        fill(
            vbox(below, spacing=8, margins=(12, 0, 0, 0)),
            SectionHeader(tr("Results")),
            self._facts,
            (self.results, 1),
        )
        parts = QSplitter()
        parts.addWidget(self.table)
        parts.addWidget(below)
        parts.setStretchFactor(0, 2)
        parts.setStretchFactor(1, 3)
        parts.setChildrenCollapsible(False)
        self.content.addWidget(parts, 1)
        self.content.addWidget(self._why_not)
        self.complete(self.new_button, self.read_button, self.export_button, self.delete_button)

    # Commands

    def load(self) -> None:
        """Read the studies of the open library."""
        self.read(tr("Reading the reader studies"), self._show_studies, reader_study.studies)

    def new_study(self) -> None:
        """Enter a new study and create it."""
        columns, snapshot = self._context.state.columns, self._context.state.library
        if snapshot is None:
            return
        findings = [name for name in columns.findings if name]
        dialog = NewStudyDialog(findings, [metric.name for metric in snapshot.metrics], self)
        if dialog.exec():
            self.create_study(dialog.request())

    def create_study(self, request: StudyRequest) -> None:
        """Create the study of ``request`` in the background."""
        title = tr("Creating the reader study {name}", name=request.name)
        self.run(title, lambda _: self.load(), reader_study.create_study, request)

    def start_reading(self) -> None:
        """Read as the reader of the selected row."""
        selected = self._selected()
        if selected is None or not self._context.state.can_write:
            return
        reading = ReadingDialog(self._context, self._thumbnails, selected[0].name, selected[1], self)
        reading.finished.connect(lambda _: self.load())
        reading.open()

    def export(self, folder: Path) -> None:
        """Write the files of the selected study into ``folder``."""
        if selected := self._selected():
            self.read(
                tr("Exporting the reader study"),
                lambda files: self._report_exported(folder, files),
                reader_study.export_study,
                selected[0].name,
                folder,
            )

    def delete(self) -> None:
        """Delete the selected study, if it has no answers."""
        if selected := self._selected():
            title = tr("Deleting the reader study")
            self.read(title, lambda _: self.load(), reader_study.delete_study, selected[0].name)

    def _choose_folder(self) -> None:
        if folder := choose_target_folder(self, tr("Export the reader study into a folder")):
            self.export(folder)

    def _report_exported(self, folder: Path, files: Sequence[Path]) -> None:
        self._context.messages.info(
            tr_n(
                "{n} file of the reader study was written.",
                "{n} files of the reader study were written.",
                len(files),
            ),
            str(folder),
        )

    # Showing

    def _selected(self) -> tuple[StudyStatus, str] | None:
        row = self.table.currentRow()
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def _show_studies(self, studies: tuple[StudyStatus, ...] | None) -> None:
        before = self._selected()
        self._studies = studies = studies or ()
        self._rows = [(study, reader.reader) for study in studies for reader in study.readers]
        texts = [
            [
                study.name if place == 0 else "",
                reader.reader,
                tr("{n} of {total}", n=reader.answered, total=reader.total),
                tr("finished")
                if reader.answered == reader.total
                else tr("from {date}", date=reader.opens[:10])
                if reader.opens
                else tr("open"),
            ]
            for study in studies
            for place, reader in enumerate(study.readers)
        ]
        self.table.set_rows(
            [tr("study"), tr("reader"), tr("answered"), tr("next session")], texts, text_columns=4
        )
        keys = [(study.name, reader) for study, reader in self._rows]
        key = (before[0].name, before[1]) if before is not None else None
        if keys:
            self.table.setCurrentCell(keys.index(key) if key in keys else 0, 0)
        self._select()

    def _select(self) -> None:
        selected = self._selected()
        self.results.set_rows([tr("score"), tr("compared"), tr("mean (95 % interval)"), "p"], [])
        self.update_buttons()
        if selected is None:
            self._facts.setText(tr("Create a study to compare reading with and without similar cases."))
            return
        study = selected[0]
        self._facts.setText(
            tr(
                "{cases} cases, arms: {arms}. No reader has finished all sessions.",
                cases=len(study.design.cases),
                arms=", ".join(arm.name for arm in study.design.arms),
            )
        )
        if any(reader.answered == reader.total for reader in study.readers):
            self.read(
                tr("Analysing the reader study"),
                lambda found: self._show_results(study, found),
                reader_study.analyse_study,
                study.name,
            )

    def _show_results(self, study: StudyStatus, analysis: StudyAnalysis | None) -> None:
        selected = self._selected()
        if analysis is None or selected is None or selected[0].name != study.name:
            return
        rows = []
        for score, compared, *numbers, p_value in result_rows(study.design, analysis):
            mean, low, high = (format_number(float(str(number)), ".3f") for number in numbers)
            rows.append(
                [
                    translate(study_score_title(str(score), study.design.positive)),
                    str(compared),
                    tr("{mean} ({low} to {high})", mean=mean, low=low, high=high),
                    p_value_text(None if p_value is None else float(str(p_value))),
                ]
            )
        self.results.set_rows(
            [tr("score"), tr("compared"), tr("mean (95 % interval)"), "p"], rows, text_columns=2
        )
        text = tr_n(
            "{n} reader finished, {cases} cases of {units} patients or lesions.",
            "{n} readers finished, {cases} cases of {units} patients or lesions.",
            len(analysis.readers),
            cases=analysis.n_cases,
            units=analysis.n_units,
        )
        if len(analysis.readers) == 1:
            text += " " + tr("With one reader the intervals are over cases alone.")
        self._facts.setText(text)

    def update_buttons(self) -> None:
        selected, state = self._selected(), self._context.state
        answered = selected is not None and any(reader.answered for reader in selected[0].readers)
        enable_widgets(
            {
                self.new_button: state.can_edit and not self.running,
                self.read_button: state.can_write and selected is not None,
                self.export_button: not state.server_problem and selected is not None,
                self.delete_button: state.can_edit and selected is not None and not answered,
            }
        )
        why_not = state.why_not_edited
        self.new_button.setToolTip(why_not)
        self.read_button.setToolTip(state.why_not_written)
        self.export_button.setToolTip(why_not if state.server_problem else "")
        self.delete_button.setToolTip(
            why_not
            or (
                tr(
                    "The study has answers, so it is not deleted here. The help page Reader studies says how it is."
                )
                if answered
                else ""
            )
        )
        self._why_not.setText(why_not)
        self._why_not.setVisible(bool(why_not))
