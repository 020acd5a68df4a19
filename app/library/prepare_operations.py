"""Making a library of what was dropped on the window: import, measure, rank, train, without a dialog."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.messages import Action
from semblance.core.language import tr
from semblance.core.searches.query import Query
from semblance.core.workflows.library import prepare_library
from semblance.core.workflows.library.import_source import ImportResult
from semblance.core.workflows.library.prepare_library import Preparation


def import_and_prepare(
    context: Context,
    source: Path,
    library: Path,
    kind: str,
    *,
    identified: bool = False,
    actions: tuple[Action, ...] = (),
) -> Job:
    """Import ``source`` into ``library``, show it while it grows, and prepare it for searching.

    ``actions`` are offered beside the message that says what was imported, and the one that follows it.
    """

    def prepare(result: ImportResult) -> None:
        if result.cases > 1:
            prepare_for_searching(context, library, actions=actions)
        else:
            _end_preparing(context, library)
            if result.cases:
                context.messages.info(
                    tr("{name} has one case: there is nothing to compare it with.", name=library.stem),
                    tr("Choose File > Add a folder to this library… to add more."),
                )

    job = library_operations.import_source(
        context, source, library, kind, prepare, identified=identified, actions=actions
    )
    context.state.set_preparing(library)
    for end in (job.failed, job.cancelled):
        end.connect(lambda *_: _end_preparing(context, library))
    return job


def prepare_for_searching(
    context: Context, library: Path | None = None, *, actions: tuple[Action, ...] = ()
) -> Job | None:
    """Measure the cases of ``library`` (the open one), rank them as they are measured, and train a metric.

    The trained metric becomes current only if it is better on held-out patients; a message says so. Cancelling
    the job keeps what is finished, and the next call continues there. ``actions`` are offered beside that message,
    which replaces the one on the import.
    """
    path = library or context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Preparing {name}", name=path.stem),
        prepare_library.prepare_library,
        path,
        channel=f"prepare {path}",
    )
    preparation = _PreparationView(context, path, job, actions)
    job.partial.connect(preparation.show)
    job.done.connect(preparation.finish)
    job.failed.connect(context.messages.error)
    job.cancelled.connect(preparation.report_cancelled)
    context.state.set_preparing(path)
    job.ended.connect(lambda: _end_preparing(context, path))
    return job


def _end_preparing(context: Context, library: Path) -> None:
    if context.state.preparing == library:
        context.state.set_preparing(None)


class _PreparationView(QObject):
    """Shows one preparation in the window: the growing ranking, then the metric that it made current."""

    def __init__(self, context: Context, path: Path, job: Job, actions: tuple[Action, ...]) -> None:
        super().__init__(job)
        self._context, self._path, self._actions = context, path, actions
        #: What the window shows, and what it is to show once the library was read again.
        self._shown: Preparation | None = None
        self._next: Preparation | None = None
        self._is_reading = False

    @property
    def _is_open(self) -> bool:
        return self._context.state.path == self._path

    def show(self, preparation: Preparation) -> None:
        """Show that more cases can be ranked, or that another metric is current."""
        before = self._next or self._shown
        news = (preparation.current, preparation.extracted, len(preparation.metrics))
        if preparation.current and (
            before is None or news != (before.current, before.extracted, len(before.metrics))
        ):
            self._next = preparation
            self._read()

    def finish(self, preparation: Preparation) -> None:
        """Show the last state and say which metric is current and why."""
        self._next = preparation
        self._read()
        plain = preparation.metrics[0].name if preparation.metrics else ""
        actions: list[Action] = []
        if plain and preparation.current != plain:
            actions.append((tr("Use {metric}", metric=plain), partial(self._select, plain)))
        self._context.messages.info(
            preparation.message,
            preparation.details,
            [*actions, *self._actions],
            topic=library_operations.NEW_LIBRARY,
        )

    def report_cancelled(self) -> None:
        """Say what a cancelled preparation left, and how to continue it."""
        if self._is_open:
            library_operations.renew(self._context)
        self._context.messages.info(
            tr("The preparation of {name} was cancelled.", name=self._path.stem),
            tr("What was measured is kept. Metric > Prepare for searching continues it."),
            [(tr("Continue"), partial(prepare_for_searching, self._context, self._path))],
        )

    def _read(self) -> None:
        """Read the library again, unless that is under way: then once more after it."""
        if self._is_reading or not self._is_open:
            return
        self._is_reading = True
        library_operations.renew(self._context, self._rank)

    def _rank(self) -> None:
        self._is_reading = False
        preparation, self._next = self._next, None
        if preparation is None or not self._is_open:
            return
        state = self._context.state
        before = self._shown.current if self._shown else ""
        self._shown = preparation
        # A metric that a person chose meanwhile stays.
        if state.metric is None or before in ("", state.metric.name):
            state.set_metric(preparation.current)
        if state.query is None and len(state.columns):
            search_operations.submit_query(self._context, Query(case=state.columns.ids[0]))
        elif state.metric is not None and state.metric.name == preparation.current:
            search_operations.rank(self._context)

    def _select(self, metric: str) -> None:
        """Rank by ``metric`` from now on."""
        if self._is_open:
            self._context.state.set_metric(metric)
            search_operations.rank(self._context)
