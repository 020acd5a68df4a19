"""Create, read, analyse and export reader studies of the open library in jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.workflows.research import reader_study
from semblance.core.workflows.research.reader_study import StudyRequest

_CHANNEL = "reader study"


def create(context: Context, library: Path, request: StudyRequest, then: Callable[[Any], object]) -> Job:
    """Create a study; ``then`` is called with its status."""
    job = context.jobs.run(
        tr("Creating the reader study {name}", name=request.name),
        reader_study.create_study,
        library,
        request,
        channel=_CHANNEL,
    )
    return _follow(job, then)


def load_studies(context: Context, library: Path, then: Callable[[Any], object]) -> Job:
    """``then`` is called with the status of every study."""
    return _run(context, tr("Reading the reader studies"), then, reader_study.studies, library)


def load_results(context: Context, library: Path, name: str, then: Callable[[Any], object]) -> Job:
    """``then`` is called with the analysis of a study, ``None`` while no reader has finished."""
    return _run(context, tr("Analysing the reader study"), then, reader_study.analyse_study, library, name)


def load_next_case(
    context: Context, library: Path, name: str, reader: str, then: Callable[[Any], object]
) -> Job:
    """``then`` is called with what ``reader`` reads next."""
    return _run(context, tr("Opening the next case"), then, reader_study.next_case, library, name, reader)


def record_answer(
    context: Context,
    library: Path,
    name: str,
    answer: tuple[str, int, str, int, float],
    then: Callable[[Any], object],
) -> Job:
    """Store (reader, number, finding, confidence, seconds)."""
    return _run(context, tr("Saving the answer"), then, reader_study.record_answer, library, name, *answer)


def delete_study(context: Context, library: Path, name: str, then: Callable[[Any], object]) -> Job:
    """Delete a study with its answers."""
    return _run(context, tr("Deleting the reader study"), then, reader_study.delete_study, library, name)


def export_study(
    context: Context, library: Path, name: str, folder: Path, then: Callable[[Any], object]
) -> Job:
    """Write the files of a study; ``then`` is called with their paths."""
    return _run(
        context, tr("Exporting the reader study"), then, reader_study.export_study, library, name, folder
    )


def _run(
    context: Context, title: str, then: Callable[[Any], object], function: Callable[..., Any], *values: object
) -> Job:
    return _follow(
        context.jobs.run(title, function, *values, lane=Lane.READ, channel=_CHANNEL, quiet=True), then
    )


def _follow(job: Job, then: Callable[[Any], object]) -> Job:
    job.done.connect(then)
    return job
