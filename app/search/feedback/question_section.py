"""The question above the judgements: which of two cases is like the query?"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.search.feedback.question_session import QuestionSession
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.state import Change
from semblance.app.widgets.copy_details_button import CopyDetailsButton
from semblance.app.widgets.image_button import ImageButton
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.line import HLine
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import tr
from semblance.core.searches.feedback.questions import Answer

#: Keys of the answers, here and on the full-size page.
KEYS: dict[int, Answer | None] = {
    Qt.Key.Key_Left: Answer.FIRST,
    Qt.Key.Key_Right: Answer.SECOND,
    Qt.Key.Key_B: Answer.BOTH,
    Qt.Key.Key_N: Answer.NEITHER,
    Qt.Key.Key_Space: None,
}


class QuestionSection(QWidget):
    """Asks about the current search. ``full_size_requested``: ask on the full-size page."""

    full_size_requested = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._state, self._thumbnails = context.state, thumbnails
        self.session = QuestionSession(context, across_queries=False, parent=self)
        self.setAccessibleName(tr("Which case is like the query?"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setProperty("ring", "inside")
        self.header = SectionHeader(tr("Which case is like the query?"), action=tr("Ask me next"))
        self.query = ImageButton(tr("Query"))
        self.query.set_inert()
        self.first = ImageButton(tr("Left"), "←")
        self.second = ImageButton(tr("Right"), "→")
        self.both = QPushButton(tr("Both"))
        self.neither = QPushButton(tr("Neither"))
        self.skip = QPushButton(tr("Skip"))
        self.message = WrappedLabel(role="second")
        self.copy_details = CopyDetailsButton()
        self._lay_out()
        # After the ranking is painted, because the user waits for that.
        self._refresh_timer = one_shot(self, self._refresh)
        self._connect()
        self._show()

    def _lay_out(self) -> None:
        tips = (
            (
                self.first,
                tr("Only the left case is like the query (Left)"),
                tr("The left case is like the query"),
            ),
            (
                self.second,
                tr("Only the right case is like the query (Right)"),
                tr("The right case is like the query"),
            ),
            (self.both, tr("Both are like the query (B)"), tr("Both are like the query")),
            (self.neither, tr("Neither is like the query (N)"), tr("Neither is like the query")),
            (self.skip, tr("Skip this question (Space)"), tr("Skip")),
        )
        for button, tip, name in tips:
            button.setToolTip(tip)
            button.setAccessibleName(name)
        self._images = QWidget()
        images = hbox(self._images, spacing=8)
        for one in (self.query, self.first, self.second):
            images.addWidget(one, 1, Qt.AlignmentFlag.AlignTop)
        self._answers = QWidget()
        answers = hbox(self._answers, spacing=6)
        for button in (self.both, self.neither, self.skip):
            answers.addWidget(button, 1)
        content = vbox(spacing=8, margins=(12, 8, 12, 10))
        for widget in (self.header, self._images, self._answers, self.message, self.copy_details):
            content.addWidget(widget)
        column = vbox(self)
        column.addLayout(content)
        column.addWidget(HLine())

    def _connect(self) -> None:
        answers = ((self.first, Answer.FIRST), (self.second, Answer.SECOND), (self.both, Answer.BOTH))
        for button, given in (*answers, (self.neither, Answer.NEITHER), (self.skip, None)):
            button.clicked.connect(lambda _=False, given=given: self.session.answer(given))
        self.header.action_requested.connect(self.full_size_requested)
        self.session.changed.connect(self._show)
        self._thumbnails.ready.connect(lambda _rows: self._draw() if self.isVisible() else None)
        state = self._state
        state.on_change(Change.RANKING | Change.REFUSAL | Change.SEARCH, self, self._schedule_refresh)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._schedule_refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._refresh_timer.stop()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in KEYS and self.session.question is not None:
            self.session.answer(KEYS[event.key()])
        else:
            super().keyPressEvent(event)

    def _schedule_refresh(self) -> None:
        if self.isVisible():
            self._refresh_timer.start()

    def _refresh(self) -> None:
        if self._state.ranking is not None:
            self.session.start()
        self._show()

    def _show(self) -> None:
        question, problem = self.session.question, self.session.problem
        self._images.setVisible(question is not None or self.session.waiting)
        self._answers.setVisible(question is not None)
        text = "" if problem is None else f"{problem.title}. {problem.text}".replace("..", ".")
        self.message.setText(text)
        self.message.setVisible(bool(text))
        self.copy_details.set_error(None if problem is None else problem.error)
        self._draw()

    def _draw(self) -> None:
        question = self.session.question
        cases = (question.query, question.first, question.second) if question else (None, None, None)
        columns = self._state.columns
        for button, case in zip((self.query, self.first, self.second), cases, strict=True):
            index = -1 if case is None else columns.index_of_id(case)
            button.setEnabled(index >= 0)
            if index < 0:
                button.show_image(None)
                continue
            row = int(columns.case_row[index])
            image = self._thumbnails.get(row)
            button.show_image(image, self._thumbnails.problem(row) or columns.name(index))
