"""Ask me next: fetching questions, keeping answers, and the score that follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semblance.app.search.feedback import refine_metric as judging
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.questions import Answer, judgements_of
from semblance.core.workflows.searches import next_question, refine_metric
from semblance.core.workflows.searches.next_question import CaseQuestion
from semblance.core.workflows.searches.refinement_session import HeldOutScore


def ask(
    context: Context,
    then: Callable[[CaseQuestion | None], None],
    failed: Callable[[SemblanceError], None],
    *,
    passed: Sequence[str] = (),
    about: str | None = None,
    across_queries: bool = False,
    channel: str = "question",
) -> Job | None:
    """The next question about the query, or ``about`` another; it ``moves_on`` where that teaches more."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    function = next_question.next_question_anywhere if across_queries else next_question.next_question
    job = context.jobs.run(
        tr("Ask me next"),
        function,
        state.path,
        state.search,
        list(passed),
        about=about,
        lane=Lane.SEARCH,
        channel=channel,
        quiet=True,
    )
    job.done.connect(then)
    job.failed.connect(failed)
    return job


def answer(context: Context, asked: CaseQuestion, given: Answer) -> Job | None:
    """Keep the two judgements that an answer is, and follow them."""
    return judging.judge(context, judgements_of(given, asked.query, asked.first, asked.second))


def fetch_curve_score(context: Context, then: Callable[[HeldOutScore | None], None]) -> Job | None:
    """A point of the curve of clicks: how the refined metric does on what nobody trained on or judged."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        "",
        refine_metric.held_out_score,
        state.path,
        state.search,
        lane=Lane.SEARCH,
        channel="curve of clicks",
        quiet=True,
    )
    job.done.connect(then)
    return job
