"""Ask me next: fetch questions and save answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semblance.app.search.feedback import refine_metric as judgements
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.feedback.questions import Answer, answer_judgements
from semblance.core.workflows.searches.feedback import next_question
from semblance.core.workflows.searches.feedback.next_question import CaseQuestion


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
    if state.path is None or state.search is None:
        return None
    function = next_question.next_question_anywhere if across_queries else next_question.next_question
    job = context.jobs.run(
        tr("Ask me next"),
        function,
        state.path,
        state.search,
        list(skipped),
        about=query,
        lane=Lane.SEARCH,
        channel=judgements.QUESTION.format(across_queries),
        quiet=True,
    )
    job.done.connect(then)
    job.failed.connect(failed)
    return job


def save_answer(context: Context, question: CaseQuestion, answer: Answer) -> Job | None:
    """Save the two judgements of an answer and rank again."""
    return judgements.judge(
        context, answer_judgements(answer, question.query, question.first, question.second)
    )
