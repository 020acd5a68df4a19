"""Ask me next as a conversation: the question now, the one after it, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from semblance.app.search.feedback import question_operations, refine_metric
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.query import Query
from semblance.core.searches.questions import Answer
from semblance.core.workflows.searches.next_question import CaseQuestion

#: Library, metric, groups left out, query and ledger that questions are about; others begin anew.
_Key = tuple[Path | None, str, tuple[str, ...], Query | None, str]


@dataclass(frozen=True)
class Nothing:
    """Why there is no question, in words."""

    title: str
    text: str = ""


class QuestionSession(QObject):
    """``changed``: another question is there, or none. ``prepared``: so is the one after it.

    The next question is fetched while a person looks at this one, so it knows the answers but the last.
    """

    changed = Signal()
    prepared = Signal()

    def __init__(self, context: Context, *, across_queries: bool, parent: QObject | None = None) -> None:
        """``moves_on``: to other queries where they teach more."""
        super().__init__(parent)
        self._context, self._state, self._moves_on = context, context.state, across_queries
        self._key: _Key = (None, "", (), None, "")
        self._job: Job | None = None
        self._answered: list[tuple[CaseQuestion, bool]] = []
        self._passed: list[str] = []
        self._ended = False
        self.question: CaseQuestion | None = None
        self.next: CaseQuestion | None = None
        self.problem: Nothing | None = None

    @property
    def answered(self) -> int:
        """Questions answered since it began; those passed over do not count."""
        return sum(said for _, said in self._answered)

    @property
    def can_undo(self) -> bool:
        return bool(self._answered)

    @property
    def waiting(self) -> bool:
        """Whether a question is on its way and none is there."""
        return self.question is None and self._job is not None

    def begin(self) -> None:
        """Follow what is asked now; goes on where it was if that is the same."""
        key = self._now()
        if key != self._key or (self.question is None and self._job is None):
            self._reset(key)
            self._fetch()
        self._leave_judged()

    def answer(self, given: Answer | None) -> None:
        """Keep an answer, or pass the question over, and show the next."""
        asked = self.question
        if asked is None or self._now() != self._key:
            return
        if given is None:
            self._passed += [asked.first, asked.second]
        elif question_operations.answer(self._context, asked, given) is None:
            return
        self._answered.append((asked, given is not None))
        self.question, self.next = self.next, None
        if self.question is None and self._ended:
            self._tell_end()
        self._fetch()
        self.changed.emit()

    def undo(self) -> None:
        """Take the last answer back and ask that question again."""
        if not self._answered:
            return
        asked, said = self._answered.pop()
        if said:
            refine_metric.undo(self._context)
        else:
            self._passed = [case for case in self._passed if case not in (asked.first, asked.second)]
        self.next = self.question
        self.question, self.problem = asked, None
        if self.next is None:
            self._ended = False
            self._fetch()
        self.changed.emit()

    def _now(self) -> _Key:
        search = self._state.search
        if search is None:
            return self._state.path, "", (), None, ""
        return self._state.path, search.metric, search.without, search.query, search.ledger

    def _reset(self, key: _Key) -> None:
        if self._job is not None:
            self._job.cancel()
        self._key, self._job = key, None
        self.question = self.next = None
        self._answered, self._passed, self._ended = [], [], False
        self.problem = self._why_not()
        self.changed.emit()

    def _why_not(self) -> Nothing | None:
        state = self._state
        if state.library is not None and not state.library.writable:
            return Nothing(
                tr("This library is read-only"),
                tr("Answers cannot be saved, because of another window or the permissions of the folder."),
            )
        if state.refusal is not None:
            return Nothing(state.refusal.message, state.refusal.hint)
        if state.search is None:
            return Nothing(
                tr("Search with a case first"), tr("The questions ask which cases are like the query.")
            )
        query = state.search.query
        if not self._moves_on and (query.case is None or query.region is not None):
            return Nothing(
                tr("Questions need a whole case of the library"),
                tr(
                    "The query is a region, or an image that is not in the library. Ask me next asks about "
                    "cases of the library."
                ),
            )
        return None

    def _fetch(self) -> None:
        """The question to show, or the one after it."""
        if self.problem is not None or self._ended or self._job is not None or self.next is not None:
            return
        key, shown = self._key, self.question
        passed = [*self._passed, *((shown.first, shown.second) if shown else ())]
        about = shown.query if shown else (self._answered[-1][0].query if self._answered else None)
        job = question_operations.ask(
            self._context,
            lambda found: self._take(found) if self._key == key else None,
            lambda error: self._fail(error) if self._key == key else None,
            passed=passed,
            about=about if self._moves_on else None,
            across_queries=self._moves_on,
            channel=f"question {self._moves_on}",
        )
        self._job = job
        if job is not None:
            job.ended.connect(lambda: self._over(job))

    def _over(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            # Answered while it was on its way: now the one after it.
            self._fetch()

    def _take(self, found: CaseQuestion | None) -> None:
        if found is None:
            self._ended = True
            if self.question is None:
                self._tell_end()
                self.changed.emit()
        elif self.question is None:
            self.question = found
            self.changed.emit()
        else:
            self.next = found
            self.prepared.emit()

    def _tell_end(self) -> None:
        self.problem = Nothing(
            tr("All cases were judged") if self._state.judgement_count else tr("No questions left"),
            tr("Questions use training data of patients other than the query's."),
        )

    def _fail(self, error: SemblanceError) -> None:
        self._ended = True
        if self.question is None:
            self.problem = Nothing(error.message, error.hint)
            self.changed.emit()

    def _leave_judged(self) -> None:
        """A case asked about that was judged otherwise meanwhile is asked about no more."""
        asked, shown = self._state.ranked_search, self.question
        if asked is None or shown is None or self._job is not None:
            return
        judged = {
            entry.judgement.case
            for entry in asked.entries
            if entry.undone is None and entry.judgement.query == shown.query
        }
        if judged & {shown.first, shown.second}:
            self.question, self.next = None, None
            self._ended = False
            self._fetch()
            self.changed.emit()
