"""The window in which a reader reads the cases of a reader study, by mouse or by keyboard alone.

It shows neither the arm, the patient, the file nor the finding of the case.
"""

from __future__ import annotations

import string
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QGridLayout,
    QLabel,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.dialog import Dialog, dialog_layout, resize_dialog
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tab_order import enable_widgets
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage
from semblance.core.workflows.research import reader_study
from semblance.core.workflows.research.reader_study import NextCase

#: The channel of the jobs on reader studies.
CHANNEL = "reader study"
_SIZE = (1280, 860)
_CONFIDENCE_TEXTS = (tr("1 Guess"), tr("2 Unsure"), tr("3 Fairly sure"), tr("4 Sure"), tr("5 Certain"))
#: Findings in one line of buttons.
_IN_LINE = 6


class ReadingDialog(Dialog):
    """The cases of one reader, one after the other. ``answered``: an answer was stored.

    Letters choose the finding, 1 to 5 the confidence, Enter saves the answer, Space pauses, Esc ends. A saved answer
    cannot be changed. Time runs while the image is shown and the reading is not paused.
    """

    answered = Signal()

    def __init__(
        self,
        context: Context,
        thumbnails: ThumbnailSource | None,
        name: str,
        reader: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context, self._library = context, context.state.location or Path()
        self._name, self._reader = name, reader
        self._case: NextCase | None = None
        self._image_job: Job | None = None
        self._saving = False
        #: Seconds before the last pause, and when the clock was started (monotonic); ``None`` while it stands.
        self._seconds = 0.0
        self._started: float | None = None
        self.setWindowTitle(tr("{name}, reader {reader}", name=name, reader=reader))
        resize_dialog(self, *_SIZE)
        self.pane = ImagePane(context.jobs, settings=context.settings)
        self.pane.view.editable = False
        self.similar = CaseGrid()
        if thumbnails is not None:
            self.similar.set_source(thumbnails)
        self.similar.setAccessibleName(tr("Similar cases with their findings"))
        self._unaided = EmptyState(
            tr("No similar cases for this reading"), tr("Answer from the image alone."), icon="image"
        )
        self.message = EmptyState()
        self._place = QLabel()
        set_look(self._place, role="title")
        self._error = ErrorLine()
        self._findings = QButtonGroup(self)
        self._confidence = QButtonGroup(self)
        self._finding_grid = QGridLayout()
        self._finding_grid.setSpacing(8)
        for level, text in enumerate(_CONFIDENCE_TEXTS, start=1):
            self._confidence.addButton(_choice(text), level)
        self.save_button = QPushButton(tr("Save and next (Enter)"))
        set_look(self.save_button, primary=True)
        self.save_button.clicked.connect(self.save)
        self.pause_button = QPushButton(tr("Pause (Space)"))
        self.pause_button.setCheckable(True)
        self.pause_button.toggled.connect(self._pause)
        self._end_button = QPushButton(tr("End (Esc)"))
        self._end_button.clicked.connect(self.reject)
        for button in (self.save_button, self.pause_button, self._end_button):
            button.setAutoDefault(False)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        for group in (self._findings, self._confidence):
            group.buttonToggled.connect(self._show_choice)
        self._make_layout()
        context.state.on_change(Change.LIBRARY, self, self.reject)
        self._load()

    def _make_layout(self) -> None:
        aid = QWidget()
        fill(vbox(aid, spacing=8), SectionHeader(tr("Similar cases")), (self.similar, 1))
        self._sides = QStackedWidget()
        self._sides.addWidget(aid)
        self._sides.addWidget(self._unaided)
        self._reading = QWidget()
        fill(hbox(self._reading, spacing=12), (self.pane, 3), (self._sides, 2))
        self._pages = QStackedWidget()
        self._pages.addWidget(self._reading)
        self._pages.addWidget(self.message)
        layout = dialog_layout(self)
        top = fill(hbox(spacing=8), (self._place, 1), self.pause_button, self._end_button)
        layout.addLayout(top)
        layout.addWidget(self._pages, 1)
        layout.addWidget(self._error)
        confidence = hbox(spacing=8)
        for button in self._confidence.buttons():
            confidence.addWidget(button)
        confidence.addStretch(1)
        confidence.addWidget(self.save_button)
        answers = QGridLayout()
        answers.setHorizontalSpacing(16)
        answers.setVerticalSpacing(8)
        answers.addWidget(QLabel(tr("Finding")), 0, 0, Qt.AlignmentFlag.AlignTop)
        answers.addLayout(self._finding_grid, 0, 1, Qt.AlignmentFlag.AlignLeft)
        answers.addWidget(QLabel(tr("Confidence")), 1, 0)
        answers.addLayout(confidence, 1, 1)
        answers.setColumnStretch(1, 1)
        layout.addLayout(answers)

    # The next case

    def _load(self) -> None:
        job = self._run(tr("Opening the next case"), reader_study.next_case, self._reader)
        job.done.connect(self._show_case)
        job.failed.connect(self._fail)

    def _run(self, title: str, workflow: Callable[..., Any], *values: object) -> Job:
        """Run a ``workflow`` of the study that is read."""
        return self._context.jobs.run(
            title,
            workflow,
            self._library,
            self._name,
            *values,
            pool=WorkerPool.READ,
            channel=CHANNEL,
            quiet=True,
        )

    def _show_case(self, case: NextCase) -> None:
        self._case = case
        self._seconds, self._started = 0.0, None
        self._make_finding_buttons(case)
        for group in (self._findings, self._confidence):
            _uncheck(group)
        if case.finished or case.opens is not None:
            self._show_end(case)
            return
        columns = self._context.state.columns
        order = [at for row in case.similar_rows if (at := columns.index_of_row(row)) >= 0]
        # Without ranks and distances: they would reveal the arm.
        self.similar.set_model(CaseModel(columns, np.array(order, dtype=np.intp)))
        self._sides.setCurrentIndex(0 if order else 1)
        self._place.setText(
            tr(
                "Case {place} of {total} · session {session} of {sessions}",
                place=case.answered + 1,
                total=case.total,
                session=case.session + 1,
                sessions=case.sessions,
            )
        )
        self.pane.show_nothing()
        self._image_job = self._context.jobs.run(
            tr("Opening the image"),
            view_images.view_case,
            self._library,
            case.row,
            pool=WorkerPool.READ,
            channel="reading",
            quiet=True,
        )
        self._image_job.done.connect(self._show_image)
        self._image_job.failed.connect(self._fail)
        self._update_buttons()

    def _make_finding_buttons(self, case: NextCase) -> None:
        if self._findings.buttons():
            return
        for place, finding in enumerate(case.findings):
            letter = string.ascii_uppercase[place] if place < len(string.ascii_uppercase) else ""
            button = _choice(f"{letter} {finding}".strip())
            self._findings.addButton(button, place)
            self._finding_grid.addWidget(button, place // _IN_LINE, place % _IN_LINE)

    def _show_image(self, viewed: ViewedImage) -> None:
        case = self._case
        if case is None:
            return
        self.pane.show_viewed(viewed, self._library, case.row, viewed.region)
        self.pane.view.set_notes([])
        self.pane.view.setAccessibleName(self._place.text())
        self.pane.go_to_slice_of(viewed.region)
        self._error.set_error(None)
        if not self.pause_button.isChecked():
            self._started = time.monotonic()
            self._pages.setCurrentWidget(self._reading)
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._update_buttons()

    def _show_end(self, case: NextCase) -> None:
        self._place.setText(tr("{n} of {total} answered", n=case.answered, total=case.total))
        if case.finished:
            self.message.show_message(tr("All cases are read"), tr("Thank you. Every answer is saved."))
        else:
            opens = QDateTime.fromString(case.opens or "", Qt.DateFormat.ISODate).toLocalTime()
            self.message.show_message(
                tr("This session is finished"),
                tr(
                    "Every answer is saved. The next session opens on {date}.",
                    date=QLocale().toString(opens, QLocale.FormatType.ShortFormat),
                ),
            )
        self._pages.setCurrentWidget(self.message)
        self._update_buttons()

    # Answers

    @property
    def is_reading(self) -> bool:
        """Whether an image is shown and its time runs."""
        return self._started is not None

    @property
    def seconds(self) -> float:
        """How long the case has been shown, without pauses."""
        return self._seconds + (0.0 if self._started is None else time.monotonic() - self._started)

    def choose_finding(self, place: int) -> None:
        """Choose the finding at ``place`` of the answers."""
        button = self._findings.button(place)
        if button is not None and button.isEnabled():
            button.setChecked(True)

    def choose_confidence(self, level: int) -> None:
        """Choose a confidence of 1 to 5."""
        button = self._confidence.button(level)
        if button.isEnabled():
            button.setChecked(True)

    def save(self) -> None:
        """Save the answer and go on to the next case."""
        case = self._case
        if case is None or not self.save_button.isEnabled():
            return
        answer = (
            self._reader,
            case.number,
            case.findings[self._findings.checkedId()],
            self._confidence.checkedId(),
            self.seconds,
        )
        self._seconds, self._started, self._saving = self.seconds, None, True
        self._update_buttons()
        job = self._run(tr("Saving the answer"), reader_study.record_answer, *answer)
        job.done.connect(lambda _: self._saved())
        job.failed.connect(self._fail_to_save)

    def _saved(self) -> None:
        self._saving = False
        self.answered.emit()
        self._load()

    def _fail_to_save(self, error: SemblanceError) -> None:
        self._saving = False
        self._started = time.monotonic()
        self._error.set_error(error)
        self._update_buttons()

    def _pause(self, paused: bool) -> None:
        if paused and self._started is not None:
            self._seconds, self._started = self.seconds, None
            self.message.show_message(
                tr("Paused"), tr("The time is stopped."), tr("Continue"), self.pause_button.toggle
            )
            self._pages.setCurrentWidget(self.message)
        elif not paused and self._case is not None and self.pane.view.image is not None:
            self._started = time.monotonic()
            self._pages.setCurrentWidget(self._reading)
        self._update_buttons()

    # Showing

    def _fail(self, error: SemblanceError) -> None:
        self.message.show_error(error, "", tr("Try again"), self._load)
        self._pages.setCurrentWidget(self.message)

    def _update_buttons(self) -> None:
        reading = self.is_reading and not self._saving
        chosen = self._findings.checkedId() >= 0 and self._confidence.checkedId() >= 1
        case = self._case
        open_case = case is not None and not case.finished and case.opens is None
        enable_widgets(
            {
                **dict.fromkeys((*self._findings.buttons(), *self._confidence.buttons()), reading),
                self.save_button: reading and chosen,
                self.pause_button: open_case and (reading or self.pause_button.isChecked()),
            }
        )
        if reading and not chosen:
            self.save_button.setToolTip(tr("Choose a finding and a confidence first"))
        else:
            self.save_button.setToolTip("")

    def _show_choice(self, button: QAbstractButton, chosen: bool) -> None:
        set_look(button, primary=chosen)
        self._update_buttons()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, text = event.key(), event.text().upper()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.save()
        elif key == Qt.Key.Key_Space:
            if self.pause_button.isEnabled():
                self.pause_button.toggle()
        elif len(text) == 1 and text in string.ascii_uppercase:
            self.choose_finding(string.ascii_uppercase.index(text))
        elif text in tuple("12345"):
            self.choose_confidence(int(text))
        else:
            super().keyPressEvent(event)


def _choice(text: str) -> QPushButton:
    button = QPushButton(text)
    button.setCheckable(True)
    button.setAutoDefault(False)
    # Keys stay with the window, which has one for every choice.
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return button


def _uncheck(group: QButtonGroup) -> None:
    group.setExclusive(False)
    for button in group.buttons():
        button.setChecked(False)
    group.setExclusive(True)
