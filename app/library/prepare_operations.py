"""Making a library of what was dropped on the window: import, measure, rank, train, without a dialog."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.edit_operations import EDIT_TOPIC
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.messages import Action
from semblance.app.shell.state import Change
from semblance.core.errors import SemblanceError
from semblance.core.language import count_label, join_texts, tr, tr_n, tr_name, translate
from semblance.core.library.importers.registry import get_importer
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.library.records import NO_FINDING
from semblance.core.workflows.features.measuring_order import measure_first
from semblance.core.workflows.library import import_and_prepare as import_workflow
from semblance.core.workflows.library import prepare_library
from semblance.core.workflows.library.import_and_prepare import PreparedImport
from semblance.core.workflows.library.import_source import ImportResult
from semblance.core.workflows.library.prepare_library import Preparation
from semblance.core.workflows.metrics.stored_metric import set_current_metric

#: Findings whose numbers of cases are named after an import.
MAX_FINDINGS = 3
#: The topic of the messages on a new library, what was imported, then which metric is current: the last is enough.
NEW_LIBRARY = "new library"


def import_and_prepare(
    context: Context,
    source: Path,
    library: LibraryLocation,
    kind: str,
    *,
    settings: Sequence[str] = (),
    identified: bool = False,
    actions: Sequence[Action] = (),
) -> Job:
    """Import ``source`` into ``library``, show the library while it grows, and prepare it for searching.

    The cases are measured and ranked while others are read. Afterwards a metric is trained; it becomes current only
    if it is better on held-out patients, and a message says so. ``settings``: how a table is written. ``identified``:
    keep patient ids. ``actions`` are offered beside the message about what was imported, the one that replaces it, and
    an error.
    """
    job = context.jobs.run(
        tr("Preparing {name}", name=library_name(library)),
        import_workflow.import_and_prepare,
        source,
        library,
        kind=kind,
        settings=tuple(settings),
        identified=identified,
        must_exist=context.state.location == library,
        metric_in_use=_metric_in_use(context, library),
        channel=f"prepare {library}",
    )
    view = PreparationView(context, library, job, actions)

    def show_part(part: ImportResult | Preparation) -> None:
        if isinstance(part, ImportResult):
            _report_import(context, source, library, part, actions)
        else:
            view.show(part)

    def finish(result: PreparedImport) -> None:
        view.finish(result.prepared, result.error)

    job.partial.connect(show_part)
    job.done.connect(finish)
    job.failed.connect(lambda error: context.messages.error(error, actions))
    return job


def prepare_for_searching(context: Context, library: LibraryLocation | None = None) -> Job | None:
    """Measure the cases of ``library`` (the open one) that are not measured yet, rank them, and train a metric, as
    :func:`import_and_prepare` does. Cancelling keeps what is finished, and the next call continues there."""
    path = library or context.state.location
    if path is None:
        return None
    job = context.jobs.run(
        tr("Preparing {name}", name=library_name(path)),
        prepare_library.prepare_library,
        path,
        metric_in_use=_metric_in_use(context, path),
        channel=f"prepare {path}",
    )
    view = PreparationView(context, path, job, ())
    job.partial.connect(view.show)
    return context.follow(job, view.finish)


def _metric_in_use(context: Context, library: LibraryLocation) -> str:
    """The metric that the window searches ``library`` with; "" where it shows another library."""
    state = context.state
    return state.metric.name if state.metric is not None and state.location == library else ""


def measure_visible(context: Context, rows: Sequence[int]) -> None:
    """Measure the cases with these catalogue rows next, because they are on screen. Quick."""
    if context.state.location is not None:
        context.jobs.run(
            "",
            measure_first,
            context.state.location,
            list(rows),
            pool=WorkerPool.READ,
            channel="measure",
            quiet=True,
        )


class PreparationView(QObject):
    """Shows one preparation in the window: the growing library and ranking, then the metric that is current."""

    def __init__(self, context: Context, path: LibraryLocation, job: Job, actions: Sequence[Action]) -> None:
        super().__init__(job)
        self._context, self._path, self._actions = context, path, actions
        #: What the window shows, and what it is to show once the library was read again.
        self._shown: Preparation | None = None
        self._next: Preparation | None = None
        self._is_reading = self._is_finished = False
        #: Whether the window shows the library, or did so before the user opened another.
        self.was_opened = context.state.location == path
        self._is_new = not self.was_opened
        context.state.on_change(Change.QUERY, self, self._measure_query)
        job.cancelled.connect(self.report_cancelled)
        job.ended.connect(self._end)
        context.state.set_preparing(path)

    @property
    def _is_open(self) -> bool:
        return self._context.state.location == self._path

    def show(self, preparation: Preparation) -> None:
        """Show that there are more cases, that more can be ranked, or that another metric is current."""
        before = self._next or self._shown
        if before is None or _progress_of(preparation) != _progress_of(before):
            self._next = preparation
            self._read()

    def finish(self, preparation: Preparation | None, error: SemblanceError | None = None) -> None:
        """Show all cases, and say which metric is current and why, or why the library could not be prepared."""
        if error is not None:
            self._context.messages.error(error)
        if preparation is None:
            if self._is_open:
                library_operations.renew(self._context)
            return
        self._next, self._is_finished = preparation, True
        self._read()
        plain = preparation.metrics[0].name if preparation.metrics else ""
        actions: list[Action] = []
        if plain and preparation.current != plain:
            actions.append(
                (tr("Use {metric}", metric=plain), partial(_select_metric, self._context, self._path, plain))
            )
        self._context.messages.info(
            preparation.message,
            preparation.details,
            [*actions, *self._actions],
            topic=NEW_LIBRARY,
            library=self._path,
        )
        if self._is_open:
            # What the last edit made out of date is trained again.
            self._context.messages.close(EDIT_TOPIC)

    def report_cancelled(self) -> None:
        """Say what a cancelled preparation left, and how to continue it."""
        if not self.was_opened:
            return
        if self._is_open:
            library_operations.renew(self._context)
        self._context.messages.info(
            tr("The preparation of {name} was cancelled.", name=library_name(self._path)),
            tr(
                "What was imported and measured is kept. Research > Metric > Prepare for searching continues with it."
            ),
            [(tr("Continue"), partial(prepare_for_searching, self._context, self._path))],
            library=self._path,
        )

    def _read(self) -> None:
        """Read the library again, unless that is under way: then once more after it."""
        if self._is_reading:
            return
        if not self.was_opened:
            self.was_opened = self._is_reading = True
            library_operations.open_library(self._context, self._path, self._rank)
        elif self._is_open:
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
        # A metric that a person chose or trained meanwhile stays. In a new library there is none before.
        is_automatic = state.metric is None or state.metric.name == before or (self._is_new and not before)
        if preparation.current and is_automatic:
            state.set_metric(preparation.current)
        if state.query is None and len(state.columns):
            search_operations.submit_first_query(self._context)
        elif state.metric is not None and (self._is_finished or state.metric.name == preparation.current):
            # At the end the new cases are measured for the metric in use too, whichever it is.
            search_operations.rank(self._context)

    def _measure_query(self) -> None:
        """Measure the case that is the query before the others."""
        state = self._context.state
        if self._is_open and state.query_row >= 0:
            measure_visible(self._context, [state.query_row])

    def _end(self) -> None:
        if self._context.state.preparing == self._path:
            self._context.state.set_preparing(None)


def _progress_of(preparation: Preparation) -> tuple[int, int, str, int]:
    return (
        preparation.imported,
        preparation.extracted if preparation.current else 0,
        preparation.current,
        len(preparation.metrics),
    )


def _report_import(
    context: Context, source: Path, library: LibraryLocation, result: ImportResult, actions: Sequence[Action]
) -> None:
    """Say what was recognised and imported, and how many files could not be read."""
    title = tr_name(get_importer(result.kind).title)
    known = (
        tr("patients unknown")
        if result.patients is None
        else tr_n("{n} patient", "{n} patients", result.patients)
    )
    findings = sorted(
        ((finding, n) for finding, n in result.findings.items() if finding != NO_FINDING),
        key=lambda item: -item[1],
    )
    counts = [count_label(n, finding) for finding, n in findings[:MAX_FINDINGS]]
    if len(findings) > MAX_FINDINGS:
        counts.append(tr("{n} more findings", n=len(findings) - MAX_FINDINGS))
    if counts and (without := result.findings.get(NO_FINDING, 0)):
        counts.append(tr("{n:,} not given", n=without))
    facts = [title, known]
    if result.added != result.cases:
        facts.append(
            tr("{added:,} added, {unchanged:,} unchanged", added=result.added, unchanged=result.unchanged)
        )
    what = tr(
        "Imported {cases}: {findings}.",
        cases=tr_n("{n} case", "{n} cases", result.cases),
        findings=join_texts(counts) if counts else tr("no findings"),
    )
    if result.label_conflicts:
        actions = [*actions, (tr("Data check…"), context.actions["data_check"].trigger)]
    notes = " ".join([f"{source.name}: {'; '.join(facts)}.", *map(translate, result.notes)])
    if result.failed:
        unreadable = tr_n(
            "{n} file could not be read. File > Files that could not be read… gives the reason.",
            "{n} files could not be read. File > Files that could not be read… lists each with its reason.",
            len(result.failed),
        )
        notes = f"{unreadable} {notes}"
    if result.failed or result.label_conflicts:
        # Without the topic: it stays until it is read, also when the preparation is done.
        context.messages.warning(what, notes, actions, library=library)
    else:
        context.messages.info(what, notes, actions, topic=NEW_LIBRARY, library=library)


def _select_metric(context: Context, library: LibraryLocation, metric: str) -> None:
    """Rank by ``metric`` from now on, also after the next preparation."""
    if context.state.location != library:
        return
    job = context.jobs.run("", set_current_metric, library, metric, pool=WorkerPool.READ, quiet=True)
    job.failed.connect(context.messages.error)
    context.state.set_metric(metric)
    search_operations.rank(context)
