"""The page "Ask me next": three images large, answered by keys, and the curve that grows as one clicks."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QKeyEvent, QKeySequence, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from semblance.app.search.feedback import question_operations
from semblance.app.search.feedback.learning_progress import LearningProgress
from semblance.app.search.feedback.question_section import KEYS
from semblance.app.search.feedback.question_session import QuestionSession
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.full_page import FullPage
from semblance.app.widgets.image_header import ImageHeader, side_by_side
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.line import HLine
from semblance.core.language import tr
from semblance.core.searches.questions import Answer
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage

_NAMES = (tr("Query"), tr("Left"), tr("Right"))


class QuestionsPage(FullPage):
    """Follows the search; ``closed`` when the person goes back to the ranking."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Ask me next"))
        self._context, self._state = context, context.state
        self.questions = QuestionSession(context, across_queries=True, parent=self)
        #: Images opened, or why there is none, by case.
        self._opened: dict[str, ViewedImage | str] = {}
        self._opening: dict[str, Job] = {}
        self._shown: list[str | None] = [None, None, None]
        self._ledger = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.panes = [ImagePane(context.jobs, share=1 / 3) for _ in _NAMES]
        for pane, name in zip(self.panes, _NAMES, strict=True):
            pane.view.setAccessibleName(name)
        self.headers = [_Head(name, key) for name, key in zip(_NAMES, ("", "←", "→"), strict=True)]
        self.buttons = {
            Answer.FIRST: QPushButton(tr("Left  ←")),
            Answer.BOTH: QPushButton(tr("Both  B")),
            Answer.NEITHER: QPushButton(tr("Neither  N")),
            None: QPushButton(tr("Skip  Space")),
            Answer.SECOND: QPushButton(tr("Right  →")),
        }
        self.undo = QPushButton(tr("Undo  Ctrl+Z"))
        self.undo.setIcon(icon("undo"))
        self.side = LearningProgress()
        self._empty = EmptyState()
        self._lay_out()
        self._soon = one_shot(self, self._follow)
        self._connect()
        self._show()

    def _lay_out(self) -> None:
        names = {
            Answer.FIRST: tr("The left case is like the query"),
            Answer.BOTH: tr("Both are like the query"),
            Answer.NEITHER: tr("Neither is like the query"),
            None: tr("Skip"),
            Answer.SECOND: tr("The right case is like the query"),
        }
        for pane in self.panes:
            pane.view.editable = False
            # Keys answer; the mouse still zooms and pans.
            pane.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            pane.histogram.hide()
        self._foot = QFrame()
        set_look(self._foot, role="bar")
        answers = hbox(self._foot, spacing=8, margins=(12, 8, 12, 8))
        answers.addStretch(1)
        for given, button in self.buttons.items():
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setAccessibleName(names[given])
            answers.addWidget(button)
        answers.addSpacing(16)
        self.undo.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.undo.setToolTip(tr("Undo the last answer and ask again (Ctrl+Z)"))
        set_look(self.undo, quiet=True)
        answers.addWidget(self.undo)
        answers.addStretch(1)
        question = QWidget()
        question.setLayout(side_by_side(self.headers, self.panes))
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(question)

        self._lay_out_page()

    def _lay_out_page(self) -> None:
        body = hbox()
        body.addWidget(self._pages, 1)
        body.addWidget(HLine(upright=True))
        body.addWidget(self.side)
        page = vbox(self)
        page.addWidget(self.header)
        page.addLayout(body, 1)
        page.addWidget(self._foot)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.side.set_room(self.width() * 36 // 100, self.height() * 28 // 100)

    def _connect(self) -> None:
        for given, button in self.buttons.items():
            button.clicked.connect(lambda _=False, given=given: self.questions.answer(given))
        self.undo.clicked.connect(self.questions.undo)
        self.questions.changed.connect(self._show)
        self.questions.prepared.connect(self._open_images)
        self._state.on_change(Change.RANKING | Change.REFUSAL, self, self._later)
        self._state.on_change(Change.LIBRARY, self, self._forget)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._follow()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._soon.stop()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Undo):
            self.questions.undo()
        elif event.key() in KEYS and not event.isAutoRepeat():
            self.questions.answer(KEYS[event.key()])
        elif event.key() not in KEYS:
            super().keyPressEvent(event)

    # Following

    def _later(self) -> None:
        if self.isVisible():
            self._soon.start()

    def _follow(self) -> None:
        if self._state.ranking is not None:
            self.questions.begin()
        if self._state.ledger != self._ledger:
            self._ledger = self._state.ledger
            self.side.clear()
        self._show()
        judged = self._state.judgement_count
        if self._state.can_judge:
            question_operations.fetch_curve_score(
                self._context, lambda score: self.side.show_score(judged, score)
            )

    def _forget(self) -> None:
        for job in list(self._opening.values()):
            job.cancel()
        self._opened.clear()
        self._shown = [None, None, None]
        self._ledger = ""
        self.side.clear()
        if self.isVisible():
            self.closed.emit()

    # Showing

    def _show(self) -> None:
        asked, problem = self.questions.question, self.questions.problem
        self.side.tell(self.questions.answered, self._state.judgement_count)
        self.undo.setEnabled(self.questions.can_undo)
        for button in self.buttons.values():
            button.setEnabled(asked is not None)
        if problem is not None:
            self._empty.say(problem.title, problem.text, tr("Similar cases"), self.closed.emit)
        elif asked is None:
            self._empty.say("", tr("Finding the most useful question…"))
        self._pages.setCurrentIndex(0 if asked is None else 1)
        if asked is None:
            return
        query = self._state.query
        own = query is not None and query.case == asked.query
        self.headers[0].set_title(tr("Query") if own else tr("Another query"))
        self.header.set_second(tr("Which case is like the query? Answer by what matters to you."))
        for place, case in enumerate((asked.query, asked.first, asked.second)):
            if self._shown[place] != case:
                self._shown[place] = case
                # A name may tell the finding, and so the answer.
                self.headers[place].tell(self._label(case) if place == 0 else "")
                self._draw(place)
        self._open_images()

    def _label(self, case: str) -> str:
        columns = self._state.columns
        index = columns.index_of_id(case)
        return columns.labels[index] if index >= 0 else case

    def _open_images(self) -> None:
        """Those on screen and those of the next question; others are forgotten."""
        wanted: list[str] = []
        for asked in (self.questions.question, self.questions.next):
            wanted += [] if asked is None else [asked.query, asked.first, asked.second]
        for case in [case for case in self._opened if case not in wanted]:
            del self._opened[case]
        columns, path = self._state.columns, self._state.path
        for case in dict.fromkeys(wanted):
            index = columns.index_of_id(case)
            if case in self._opened or case in self._opening or index < 0 or path is None:
                continue
            row = int(columns.case_row[index])
            job = self._context.jobs.run(
                tr("Opening the image"), view_images.view_case, path, row, lane=Lane.READ, quiet=True
            )
            self._opening[case] = job
            job.done.connect(lambda viewed, case=case: self._take(case, viewed))
            job.failed.connect(lambda error, case=case: self._take(case, str(error)))
            job.ended.connect(lambda case=case: self._opening.pop(case, None))

    def _take(self, case: str, found: ViewedImage | str) -> None:
        self._opened[case] = found
        for place, shown in enumerate(self._shown):
            if shown == case:
                self._draw(place)

    def _draw(self, place: int) -> None:
        case, pane = self._shown[place], self.panes[place]
        found = None if case is None else self._opened.get(case)
        problem = found if isinstance(found, str) else ""
        self.headers[place].tell_problem(problem)
        if isinstance(found, ViewedImage) and found.case is not None:
            pane.show_viewed(found, self._state.path, found.case.row, None)
            pane.go_to(found.region)
        else:
            pane.show_nothing()
            pane.view.problem = problem
        pane.histogram.hide()


class _Head(ImageHeader):
    """Above an image: which it is, its name, and the key that chooses it. No finding: it would answer."""

    def __init__(self, title: str, key: str) -> None:
        super().__init__(title)
        self._label = ""
        told = QLabel(key)
        set_look(told, role="second")
        self.add_action(told)

    def tell(self, name: str) -> None:
        self._label = name
        self.set_second(name)

    def tell_problem(self, problem: str) -> None:
        """Why there is no image, beside the name."""
        self.set_second(f"{self._label} {problem}".strip())
