"""Edits of the open library in jobs, and undoing and redoing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.records import Reversal
from semblance.core.workflows.library import edit_lesions, undo_edits
from semblance.core.workflows.library.edit_cases import EditResult, LabelConflict
from semblance.core.workflows.library.edit_kinds import describe_edit
from semblance.core.workflows.library.edit_staleness import newly_outdated, outdated_text
from semblance.core.workflows.metrics.train_request import PREPARED

#: The message about the last edit takes the place of the one before.
EDIT_TOPIC = "edit"
_CONFLICT = "conflict"
#: Cases of a conflict that are named.
_LISTED = 5


def edit(
    context: Context,
    workflow: Callable[..., EditResult],
    *arguments: Any,
    then: Callable[[], object] | None = None,
    **keywords: Any,
) -> Job | None:
    """Run ``workflow(library, *arguments, **keywords)``, read the library again and offer to undo it.

    ``then`` is called when the library was read again.
    """
    path = context.state.location
    if path is None:
        return None
    # A person waits for it: it does not queue behind long work.
    job = context.jobs.run(
        tr("Saving the change"), workflow, path, *arguments, pool=WorkerPool.READ, quiet=True, **keywords
    )

    def done(result: EditResult) -> None:
        if context.state.location != path:
            # Undo would undo an edit of the library that is open by now.
            return
        actions = [(tr("Undo"), lambda: undo(context))]
        current = context.state.metric
        if current is not None and current.name in result.outdated:
            if PREPARED in current.card:
                actions.append((tr("Train again"), context.actions["prepare"].trigger))
            actions.append((tr("Evaluate again"), context.actions["score"].trigger))
        hint = (
            tr_n(
                "{n} metric and its scores are out of date now.",
                "{n} metrics and their scores are out of date now.",
                len(result.outdated),
            )
            if result.outdated
            else ""
        )
        context.messages.info(
            tr("Done: {edit}.", edit=translate(result.text)), hint, actions, topic=EDIT_TOPIC
        )
        _read_again(context, then)

    def fail(error: SemblanceError) -> None:
        if isinstance(error, LabelConflict) and context.state.location == path:
            _show_conflict(
                context, error, partial(edit, context, workflow, *arguments, then=then, **keywords)
            )
        else:
            context.messages.error(error)

    job.done.connect(done)
    job.failed.connect(fail)
    return job


def set_label(
    context: Context,
    workflow: Callable[..., EditResult],
    cases: Sequence[str],
    label: str | None,
    seen: Sequence[str | None],
) -> Job | None:
    """Give ``cases`` the ``label``, where they still have what the person has ``seen``; else let them choose."""
    return edit(context, workflow, list(cases), label, seen=list(seen))


def _show_conflict(context: Context, error: LabelConflict, again: Callable[..., object]) -> None:
    """Show what others wrote and what the person wants, and let them choose."""
    cases, wanted = again.args[2:4]  # type: ignore[attr-defined]
    seen = dict(zip(cases, again.keywords["seen"], strict=True))  # type: ignore[attr-defined]
    lines = []
    for one in error.changed[:_LISTED]:
        names = {"case": one.case_id, "current": one.current or tr("(none)"), "who": one.author}
        when = one.time[:16].replace("T", " ")
        lines.append(
            tr("{case}: now {current}, by {who} at {when} UTC.", **names, when=when)
            if one.author
            else tr("{case}: now {current}.", **names)
        )
    current = {one.case_id: one.current for one in error.changed}

    def use_mine() -> None:
        again(seen=[current.get(case, seen[case]) for case in cases])

    mine = wanted or tr("(none)")
    context.messages.warning(
        error.message,
        " ".join([*lines, tr("You chose {mine}. Nothing was changed yet.", mine=mine)]),
        [
            (tr("Set {mine} all the same", mine=mine), use_mine),
            (tr("Keep what others wrote"), partial(library_operations.renew, context)),
        ],
        topic=_CONFLICT,
        library=context.state.location,
    )


def detect_groups(context: Context) -> Job | None:
    """Detect the same-lesion groups of the open library, read it again and show what was found."""
    path = context.state.location
    if path is None:
        return None
    job = context.jobs.run(
        tr("Detecting same-lesion groups"), edit_lesions.detect_groups, path, channel="detect lesions"
    )

    def done(found: edit_lesions.Detection) -> None:
        hints = [
            tr_n(
                "{n} case has another group than before.",
                "{n} cases have another group than before.",
                found.changed,
            )
        ]
        if not found.parts:
            hints.append(tr("Parts of images are looked for when the features of the encoder are extracted."))
        context.messages.info(
            tr_n(
                "{n} same-lesion group with {cases:,} cases.",
                "{n} same-lesion groups with {cases:,} cases.",
                found.groups,
                cases=found.cases,
            ),
            " ".join(hints),
        )
        _read_again(context, None)

    return context.follow(job, done, library=path)


def undo(context: Context, then: Callable[[], object] | None = None) -> None:
    """Undo the newest edit of the open library."""
    _reverse(context, undo_edits.undo, tr("Undone: {edit}."), (tr("Redo"), lambda: redo(context)), then)


def redo(context: Context, then: Callable[[], object] | None = None) -> None:
    """Redo the edit that was undone last."""
    _reverse(context, undo_edits.redo, tr("Redone: {edit}."), (tr("Undo"), lambda: undo(context)), then)


def _reverse(
    context: Context,
    workflow: Callable[..., Reversal | None],
    text: str,
    action: tuple[str, Callable[[], object]],
    then: Callable[[], object] | None,
) -> None:
    path = context.state.location
    if path is None:
        return
    job = context.jobs.run(tr("Saving the change"), workflow, path, pool=WorkerPool.READ, quiet=True)

    def done(reversal: Reversal | None) -> None:
        if reversal is not None:
            description = translate(describe_edit(reversal.edit.kind, reversal.edit.summary))
            hint = translate(undo_edits.skipped_text(reversal.skipped))
            context.messages.info(text.format(edit=description), hint, [action], topic=EDIT_TOPIC)
        _read_again(context, then)

    # Elsewhere the message would offer to redo an edit of the library that is open by then.
    context.follow(job, done, library=path)


def outdated_note(context: Context) -> str:
    """What a change of findings, patients or cases makes out of date; empty for nothing."""
    library = context.state.library
    return "" if library is None else translate(outdated_text(len(newly_outdated(library.metrics))))


def _read_again(context: Context, then: Callable[[], object] | None) -> None:
    """Read the library again and rank again, because the similar cases may have changed."""

    def show() -> None:
        _follow_removed_cases(context)
        search_operations.rank(context)
        if then is not None:
            then()

    # It may be by a metric that was deleted or with a case that was removed.
    search_operations.cancel_ranking(context)
    library_operations.renew(context, show)


def _follow_removed_cases(context: Context) -> None:
    """Search no more with a case that was removed, and go on where it was restored before another one was the query."""
    state = context.state
    place = state.history.place
    if state.query is not None:
        if not state.has_case_of(state.query):
            state.set_query(None)
            state.set_ranked_search(None)
    elif place >= 0 and state.has_case_of(state.history.entries[place].search.query):
        search_operations.submit_past_query(context, place)
