"""Judgements: save, undo, redo and reset them, and save the refined metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

from PySide6.QtWidgets import QWidget

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.settings import AUTHOR
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import account
from semblance.core.searches.feedback.influence import Influence
from semblance.core.searches.feedback.judgements import Judgement, is_mark, likeness_judgement
from semblance.core.searches.search import new_ledger
from semblance.core.workflows.metrics import score_metric
from semblance.core.workflows.searches import refine_metric
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore
from semblance.core.workflows.searches.rank_cases import RankedSearch

_INFLUENCE, _SCORE = "influence", "held-out score"
#: Channel of the scores of the learning curve.
CURVE = "learning curve"
#: Channel of the questions about the query, or about any query.
QUESTION = "question {}"
#: Channels of the search process whose work a judgement does not wait for.
_GIVE_WAY = (
    _INFLUENCE,
    _SCORE,
    CURVE,
    QUESTION.format(False),
    QUESTION.format(True),
    search_operations.DIFFERENCES,
    search_operations.PRELOAD,
)
#: Jobs that save judgements.
_judgement_jobs: WeakSet[Job] = WeakSet()


def author(context: Context) -> str:
    """The author of the judgements: the name in the settings, or that of the system account."""
    return context.settings.text(AUTHOR) or account()


def judge(context: Context, judgements: Sequence[Judgement], replaced: Sequence[int] = ()) -> Job | None:
    """Save judgements that were made together, and rank again; ``replaced``: ids of judgements to undo."""
    return _change(context, refine_metric.judge, judgements, replaced=replaced, author=author(context))


def mark_cases(
    context: Context, cases: Sequence[str], *, positive: bool, shown: Sequence[str] = ()
) -> Job | None:
    """Mark ``cases``, ids or paths of images from outside, as more or as less like the query; an earlier mark on one of
    them is undone. ``shown``: ids of the cases on screen."""
    state = context.state
    if state.search is None or state.ranked_search is None or not state.can_judge or not cases:
        return None
    if state.search.strength == 0.0:
        # The order before the marks is on screen: a mark shows its effect.
        state.change_search(strength=1.0)
    search = state.search
    try:
        judgements = [likeness_judgement(search, case, positive, shown) for case in cases]
    except BadInput as error:
        context.messages.error(error)
        return None
    replaced = [
        entry.id
        for entry in state.ranked_search.entries
        if entry.undone is None and is_mark(entry.judgement, search.query) and entry.judgement.case in cases
    ]
    return judge(context, judgements, replaced)


def mark_image_file(context: Context, parent: QWidget) -> None:
    """Let the user choose an image that is not in the library, and mark it as more like the query."""
    title = tr("More like an image file")
    if chosen := choose_file(parent, title, search_operations.FILE_FILTER):
        mark_cases(context, [str(chosen.absolute())], positive=True)


def undo(context: Context, ids: Sequence[int] = ()) -> Job | None:
    """Undo judgements; without ``ids`` the newest."""
    return _change(context, refine_metric.undo, ids)


def redo(context: Context, ids: Sequence[int] = ()) -> Job | None:
    """Redo judgements; without ``ids`` those undone last."""
    return _change(context, refine_metric.redo, ids)


def reset(context: Context) -> Job | None:
    """Undo all judgements of the search."""
    return _change(context, refine_metric.reset)


def clear_marks(context: Context) -> Job | None:
    """Undo the marks of the current query."""
    return _change(context, refine_metric.clear_marks)


def set_strength(context: Context, strength: float) -> None:
    """Set how much the judgements count, 0 to 1."""
    before = context.state.search
    context.state.change_search(strength=strength)
    if context.state.search != before:
        search_operations.rank(context)


def use_other_marks(context: Context, *, on: bool) -> None:
    """Let the judgements on other queries refine the metric, or rank by the plain metric."""
    context.state.change_search(refined=on)
    search_operations.rank(context)


def use_marks_set_aside(context: Context) -> Job | None:
    """Mark the cases for the present query that are marked on another region of its image, or on the whole of it."""
    state, search = context.state, context.state.search
    if search is None:
        return None
    aside = state.marks_set_aside
    judgements = [
        likeness_judgement(search, case, is_liked)
        for is_liked, cases in ((True, aside.liked), (False, aside.disliked))
        for case in cases
    ]
    return judge(context, judgements) if judgements else None


def _change(
    context: Context, function: Callable[..., RankedSearch], *args: Any, **options: Any
) -> Job | None:
    """Change the ledger and rank again. A judgement is never dropped for a later one."""
    state, search = context.state, context.state.search
    path = state.path
    if path is None or search is None:
        return None
    job = context.jobs.run(
        tr("Saving a judgement"),
        function,
        path,
        search,
        *args,
        k=context.settings.similar_cases,
        pool=WorkerPool.SEARCH,
        quiet=True,
        **options,
    )
    _judgement_jobs.add(job)
    # Whatever is requested again when one of these ends comes after the judgement.
    for channel in _GIVE_WAY:
        context.jobs.cancel_channel(channel)

    def show(ranked_search: RankedSearch) -> None:
        # If the search changed in the meantime, its own ranking arrives.
        if state.path == path and state.search == ranked_search.search:
            state.set_ranked_search(ranked_search)

    def fail(error: SemblanceError) -> None:
        context.messages.error(error)
        if state.path == path:
            # Show the marks that are really saved.
            state.set_ranked_search(state.ranked_search)

    job.done.connect(show)
    job.failed.connect(fail)
    return job


def wait_for_judgements(context: Context) -> None:
    """Wait until all judgements are saved, before the program ends."""
    for job in list(context.jobs.active):
        if job in _judgement_jobs:
            context.jobs.wait(job)


def check_metric(context: Context) -> None:
    """Find out whether judgements can refine the current metric, for :attr:`State.refusal`."""
    state = context.state
    if state.path is None or state.metric is None:
        return
    path, metric = state.path, state.metric.name

    def set_refusal(refusal: BadInput | None) -> None:
        if state.path == path and state.metric is not None and state.metric.name == metric:
            state.set_refusal(refusal)

    # If the metric cannot be opened, ranking has failed and shown the error.
    context.jobs.run(
        "", refine_metric.refusal, path, metric, pool=WorkerPool.SEARCH, channel="refusal", quiet=True
    ).done.connect(set_refusal)


def fetch_influence(context: Context, then: Callable[[list[Influence]], None], k: int = 20) -> Job | None:
    """Compute how each judgement changes the first ``k`` ranks."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Influence of each judgement"),
        refine_metric.influence,
        state.path,
        state.search,
        k=k,
        pool=WorkerPool.SEARCH,
        channel=_INFLUENCE,
    )
    return context.follow(job, then)


def fetch_score(
    context: Context, then: Callable[[HeldOutScore | None], None], *, channel: str = _SCORE
) -> Job | None:
    """Score the refined metric on cases that are neither used for training nor judged."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        "",
        refine_metric.held_out_score,
        state.path,
        state.search,
        pool=WorkerPool.SEARCH,
        channel=channel,
        quiet=True,
    )
    job.done.connect(then)
    return job


def save_metric(context: Context, name: str, author_name: str) -> Job | None:
    """Save the refined metric as ``name`` by ``author_name``, then score and select it.

    Its judgements become part of it, so the search continues with a new ledger.
    """
    state, search = context.state, context.state.search
    path = state.path
    if path is None or search is None or state.ranked_search is None:
        return None
    own_name = author(context)
    context.settings.set_text(AUTHOR, "" if author_name == account() else author_name)
    authors_in_force = {
        entry.judgement.author for entry in state.ranked_search.entries if entry.undone is None
    }
    authors = sorted(
        {
            author_name if author_in_force == own_name else author_in_force
            for author_in_force in authors_in_force
        }
        - {""}
    )
    job = context.jobs.run(
        tr("Saving {name}", name=name),
        refine_metric.save_refined,
        path,
        search,
        name,
        authors=authors,
        pool=WorkerPool.SEARCH,
    )

    def choose() -> None:
        if state.search == search:
            state.set_metric(name)
            # The metric itself leaves out the excluded groups, so the search need not.
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


def _score(context: Context, path: LibraryLocation, name: str) -> None:
    job = context.jobs.run(
        tr("Scoring {name}", name=name), score_metric.score_metric, path, name, channel=f"score {name}"
    )

    def warn(error: SemblanceError) -> None:
        # The metric can be used without a score.
        context.messages.warning(
            tr("{name} has no score: {reason}", name=name, reason=error.message), error.hint
        )

    def show(_scores: object) -> None:
        if context.state.path == path:
            library_operations.renew(context, lambda: search_operations.rank_after_scoring(context, name))

    job.done.connect(show)
    job.failed.connect(warn)
