"""Which of two cases is like the query: fetch questions, save answers, and the section that asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.search.feedback import mark_cards
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.widgets.buttons import ImageButton
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import HLine, fill, hbox, vbox
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.feedback.questions import QuestionAnswer, answer_judgements
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.feedback import next_question
from semblance.core.workflows.searches.feedback.next_question import CaseQuestion

#: Library, metric, excluded groups, query and ledger of the questions. If one changes, a new session starts.
_Key = tuple[LibraryLocation | None, str, tuple[str, ...], Query | None, str]

#: Keys of the answers, here and on the full-size page.
KEYS: dict[int, QuestionAnswer | None] = {
    Qt.Key.Key_Left: QuestionAnswer.FIRST,
    Qt.Key.Key_Right: QuestionAnswer.SECOND,
    Qt.Key.Key_B: QuestionAnswer.BOTH,
    Qt.Key.Key_N: QuestionAnswer.NEITHER,
    Qt.Key.Key_Space: None,
}


def fetch_question(
    context: Context,
    then: Callable[[CaseQuestion | None], None],
    failed: Callable[[SemblanceError], None],
    *,
    skipped: Sequence[str] = (),
    query: str | None = None,
    across_queries: bool = False,
) -> Job | None:
    """Fetch the next question about the query; with ``across_queries`` about any query, preferably ``query``."""
    state = context.state
    if state.location is None or state.search is None:
        return None
    function = next_question.next_question_anywhere if across_queries else next_question.next_question
    job = context.jobs.run(
        tr("Ask me next"),
        function,
        state.location,
        state.search,
        list(skipped),
        about=query,
        pool=WorkerPool.SEARCH,
        channel=mark_cards.QUESTION.format(across_queries),
        quiet=True,
    )
    job.done.connect(then)
    job.failed.connect(failed)
    return job


def save_answer(context: Context, question: CaseQuestion, answer: QuestionAnswer) -> Job | None:
    """Save the two judgements of an answer and rank again."""
    return mark_cards.save_judgements(
        context, answer_judgements(answer, question.query, question.first, question.second)
    )


@dataclass(frozen=True)
class NoQuestion:
    """Why there is no question."""

    title: str
    text: str = ""
    error: SemblanceError | None = None


class QuestionSession(QObject):
    """``changed``: there is another question, or none. ``prepared``: the next question is ready too.

    The next question is fetched while the current one is shown, so it does not depend on the current answer.
    """

    changed = Signal()
    prepared = Signal()

    def __init__(self, context: Context, *, across_queries: bool, parent: QObject | None = None) -> None:
        """``moves_on``: to other queries where they teach more."""
        super().__init__(parent)
        self._context, self._state, self._across_queries = context, context.state, across_queries
        self._key: _Key = (None, "", (), None, "")
        self._job: Job | None = None
        self._answered: list[tuple[CaseQuestion, bool]] = []
        self._skipped: list[str] = []
        self._exhausted = False
        self.question: CaseQuestion | None = None
        self.next: CaseQuestion | None = None
        self.problem: NoQuestion | None = None

    @property
    def answered(self) -> int:
        """Number of questions answered in this session, without the skipped ones."""
        return sum(answered_it for _, answered_it in self._answered)

    @property
    def can_undo(self) -> bool:
        return bool(self._answered)

    @property
    def waiting(self) -> bool:
        """Whether a question is being fetched and none is shown."""
        return self.question is None and self._job is not None

    def start(self) -> None:
        """Start a session for the current search, or continue it if the search is the same."""
        key = self._current_key()
        if key != self._key or (self.question is None and self._job is None):
            self._reset(key)
            self._fetch()
        self._drop_judged()

    def answer(self, answer_given: QuestionAnswer | None) -> None:
        """Save an answer, or skip the question for ``None``, and show the next."""
        question = self.question
        if question is None or self._current_key() != self._key:
            return
        if answer_given is None:
            self._skipped += [question.first, question.second]
        elif save_answer(self._context, question, answer_given) is None:
            return
        self._answered.append((question, answer_given is not None))
        self.question, self.next = self.next, None
        if self.question is None and self._exhausted:
            self._show_end()
        self._fetch()
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last answer and ask its question again."""
        if not self._answered:
            return
        question, answered_it = self._answered.pop()
        if answered_it:
            mark_cards.undo(self._context)
        else:
            self._skipped = [case for case in self._skipped if case not in (question.first, question.second)]
        self.next = self.question
        self.question, self.problem = question, None
        if self.next is None:
            self._exhausted = False
            self._fetch()
        self.changed.emit()

    def _current_key(self) -> _Key:
        search = self._state.search
        if search is None:
            return self._state.location, "", (), None, ""
        return self._state.location, search.metric, search.without, search.query, search.ledger

    def _reset(self, key: _Key) -> None:
        if self._job is not None:
            self._job.cancel()
        self._key, self._job = key, None
        self.question = self.next = None
        self._answered, self._skipped, self._exhausted = [], [], False
        self.problem = self._find_problem()
        self.changed.emit()

    def _find_problem(self) -> NoQuestion | None:
        state = self._state
        if state.library is not None and not state.can_write:
            return NoQuestion(tr("Answers cannot be saved"), state.why_not_written)
        if state.refusal is not None:
            return NoQuestion(state.refusal.message, state.refusal.hint)
        if state.search is None:
            return NoQuestion(
                tr("Search with a case first"), tr("The questions ask which cases are like the query.")
            )
        query = state.search.query
        if not self._across_queries and (query.case is None or query.region is not None):
            return NoQuestion(
                tr("Questions need a whole case of the library"),
                tr(
                    "The query is a region, or an image that is not in the library. Ask me next asks about "
                    "cases of the library."
                ),
            )
        return None

    def _fetch(self) -> None:
        """Fetch the question to show, or the next one."""
        if self.problem is not None or self._exhausted or self._job is not None or self.next is not None:
            return
        key, shown = self._key, self.question
        skipped = [*self._skipped, *((shown.first, shown.second) if shown else ())]
        query = shown.query if shown else (self._answered[-1][0].query if self._answered else None)
        job = fetch_question(
            self._context,
            lambda found: self._receive(found) if self._key == key else None,
            lambda error: self._fail(error) if self._key == key else None,
            skipped=skipped,
            query=query if self._across_queries else None,
            across_queries=self._across_queries,
        )
        self._job = job
        if job is not None:
            job.ended.connect(lambda: self._clear_job(job))

    def _clear_job(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            # The question was answered in the meantime: fetch the next one.
            self._fetch()

    def _receive(self, found: CaseQuestion | None) -> None:
        if found is None:
            self._exhausted = True
            if self.question is None:
                self._show_end()
                self.changed.emit()
        elif self.question is None:
            self.question = found
            self.changed.emit()
        else:
            self.next = found
            self.prepared.emit()

    def _show_end(self) -> None:
        self.problem = NoQuestion(
            tr("All cases were marked") if self._state.judgement_count else tr("No questions left"),
            tr("Questions use training data of patients other than the query's."),
        )

    def _fail(self, error: SemblanceError) -> None:
        self._exhausted = True
        if self.question is None:
            self.problem = NoQuestion(error.message, error.hint, error)
            self.changed.emit()

    def _drop_judged(self) -> None:
        """Drop a question about a case that was judged elsewhere in the meantime."""
        ranked_search, shown = self._state.ranked_search, self.question
        if ranked_search is None or shown is None or self._job is not None:
            return
        judged = {
            entry.judgement.case
            for entry in ranked_search.entries
            if entry.undone is None and entry.judgement.query == shown.query
        }
        if judged & {shown.first, shown.second}:
            self.question, self.next = None, None
            self._exhausted = False
            self._fetch()
            self.changed.emit()


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
        fill(vbox(self), content, HLine())

    def _connect(self) -> None:
        answers = (
            (self.first, QuestionAnswer.FIRST),
            (self.second, QuestionAnswer.SECOND),
            (self.both, QuestionAnswer.BOTH),
        )
        for button, given in (*answers, (self.neither, QuestionAnswer.NEITHER), (self.skip, None)):
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
            index = columns.index_of_id(case)
            button.setEnabled(index >= 0)
            if index < 0:
                button.show_image(None)
                continue
            row = int(columns.case_row[index])
            image = self._thumbnails.get(row)
            button.show_image(image, self._thumbnails.problem(row) or columns.name(index))
