"""A session of Ask me next: the current question, the next one, and the answers so far."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from semblance.app.search.feedback import question_operations, refine_metric
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.feedback.questions import Answer
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.feedback.next_question import CaseQuestion

#: Library, metric, excluded groups, query and ledger of the questions. If one changes, a new session starts.
_Key = tuple[Path | None, str, tuple[str, ...], Query | None, str]


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

    def answer(self, answer_given: Answer | None) -> None:
        """Save an answer, or skip the question for ``None``, and show the next."""
        question = self.question
        if question is None or self._current_key() != self._key:
            return
        if answer_given is None:
            self._skipped += [question.first, question.second]
        elif question_operations.save_answer(self._context, question, answer_given) is None:
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
            refine_metric.undo(self._context)
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
            return self._state.path, "", (), None, ""
        return self._state.path, search.metric, search.without, search.query, search.ledger

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
        job = question_operations.fetch_question(
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
            tr("All cases were judged") if self._state.judgement_count else tr("No questions left"),
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
