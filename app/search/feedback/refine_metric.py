"""Judging ranked cases, taking judgements back, and what they made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr
from semblance.core.library.records import account
from semblance.core.searches.influence import Influence
from semblance.core.searches.judgement import Judgement
from semblance.core.searches.search import new_ledger
from semblance.core.workflows.metrics import score_metric
from semblance.core.workflows.searches import refine_metric
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.refinement_session import HeldOutScore

#: Where the user's name is kept; empty while the one of the system is used.
AUTHOR = "author"
_INFLUENCE, _SCORE = "influence", "held-out score"
#: Jobs that keep clicks.
_clicks: WeakSet[Job] = WeakSet()


def author(context: Context) -> str:
    """Whose judgements these are: the name given, or that of the system's user."""
    return context.settings.text(AUTHOR) or account()


def judge(context: Context, judgements: Sequence[Judgement], instead: Sequence[int] = ()) -> Job | None:
    """Keep these clicks, made together, and follow them; ``instead``: earlier ones they take the place of."""
    return _change(context, refine_metric.judge, judgements, instead=instead, author=author(context))


def undo(context: Context, ids: Sequence[int] = ()) -> Job | None:
    """Take judgements back; without ``ids`` the newest."""
    return _change(context, refine_metric.undo, ids)


def redo(context: Context, ids: Sequence[int] = ()) -> Job | None:
    """Put judgements in force again; without ``ids`` those taken back last."""
    return _change(context, refine_metric.redo, ids)


def reset(context: Context) -> Job | None:
    """Take every judgement of the search back."""
    return _change(context, refine_metric.reset)


def set_strength(context: Context, strength: float) -> None:
    """How far the clicks are followed, 0 to 1."""
    before = context.state.search
    context.state.change_search(strength=strength)
    if context.state.search != before:
        search_operations.rank(context)


def _change(context: Context, function: Callable[..., RankedSearch], *args: Any, **more: Any) -> Job | None:
    """A change of the ledger and the ranking after it. A click is never dropped for a later one."""
    state, search = context.state, context.state.search
    path = state.path
    if path is None or search is None:
        return None
    for channel in (_INFLUENCE, _SCORE, search_operations.PRELOAD):
        context.jobs.cancel_channel(channel)
    job = context.jobs.run(
        tr("Saving a judgement"),
        function,
        path,
        search,
        *args,
        k=search_operations.MAX_RESULTS,
        lane=Lane.SEARCH,
        quiet=True,
        **more,
    )
    _clicks.add(job)

    def show(asked: RankedSearch) -> None:
        # Where something else is asked by now, its own ranking comes or is there already.
        if state.path == path and state.search == asked.search:
            state.set_ranked_search(asked)

    def fail(error: SemblanceError) -> None:
        context.messages.error(error)
        if state.path == path:
            # What was shown as judged is not.
            state.set_ranked_search(state.ranked_search)

    job.done.connect(show)
    job.failed.connect(fail)
    return job


def finish(context: Context) -> None:
    """Wait for clicks that are still being kept; the program is about to end."""
    for job in list(context.jobs.active):
        if job in _clicks:
            context.jobs.wait(job)


def check_metric(context: Context) -> None:
    """Find out whether clicks can refine the current metric, for :attr:`semblance.app.shell.state.State.refusal`."""
    state = context.state
    if state.path is None or state.metric is None:
        return
    path, metric = state.path, state.metric.name

    def told(refusal: BadInput | None) -> None:
        if state.path == path and state.metric is not None and state.metric.name == metric:
            state.set_refusal(refusal)

    # A metric that cannot even be opened has failed to rank, and that was told.
    context.jobs.run(
        "", refine_metric.refusal, path, metric, lane=Lane.SEARCH, channel="refusal", quiet=True
    ).done.connect(told)


def fetch_influence(context: Context, then: Callable[[list[Influence]], None], k: int = 20) -> Job | None:
    """What each judgement does to the first ``k`` ranks."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Influence of each judgement"),
        refine_metric.influence,
        state.path,
        state.search,
        k=k,
        lane=Lane.SEARCH,
        channel=_INFLUENCE,
    )
    return context.follow(job, then)


def fetch_score(context: Context, then: Callable[[HeldOutScore | None], None]) -> Job | None:
    """How the refined metric does on cases nobody trained on or judged."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        "",
        refine_metric.held_out_score,
        state.path,
        state.search,
        lane=Lane.SEARCH,
        channel=_SCORE,
        quiet=True,
    )
    job.done.connect(then)
    return job


def save_metric(context: Context, name: str, by: str) -> Job | None:
    """Keep the refined metric as ``name``, made ``by`` a person; then score it and choose it.

    Its judgements are part of it from then on: the search goes on with a new ledger.
    """
    state, search = context.state, context.state.search
    path = state.path
    if path is None or search is None or state.ranked_search is None:
        return None
    mine = author(context)
    context.settings.set_text(AUTHOR, "" if by == account() else by)
    said = {e.judgement.author for e in state.ranked_search.entries if e.undone is None}
    authors = sorted({by if one == mine else one for one in said} - {""})
    job = context.jobs.run(
        tr("Saving {name}", name=name),
        refine_metric.save_refined,
        path,
        search,
        name,
        authors=authors,
        lane=Lane.SEARCH,
    )

    def choose() -> None:
        if state.search == search:
            state.set_metric(name)
            # What was left out is left out of the metric: with all it has, its estimate holds.
            state.change_search(ledger=new_ledger(), strength=1.0, without=())
            search_operations.rank(context)
        _score(context, path, name)

    def show(_card: object) -> None:
        context.messages.info(
            tr("{name} is saved. It is being tested on cases not used for training.", name=name)
        )
        if state.path == path:
            library_operations.renew(context, choose)

    return context.follow(job, show)


def _score(context: Context, path: Path, name: str) -> None:
    job = context.jobs.run(
        tr("Scoring {name}", name=name), score_metric.score_metric, path, name, channel=f"score {name}"
    )

    def tell(error: SemblanceError) -> None:
        # A metric without a score is one all the same.
        context.messages.warning(
            tr("{name} has no score: {reason}", name=name, reason=error.message), error.hint
        )

    def show(_scores: object) -> None:
        if context.state.path == path:
            library_operations.renew(context, lambda: search_operations.rank_after_scoring(context, name))

    job.done.connect(show)
    job.failed.connect(tell)
