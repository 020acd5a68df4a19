"""Extracting feature sets in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.context import Context
from app.jobs import Job
from app.operations import library
from core.parameters import Value
from core.workflows import extracting
from core.workflows.extracting import ExtractResult


def extract(
    context: Context,
    extractor: str,
    settings: Mapping[str, Value] | None = None,
    name: str | None = None,
    then: Callable[[], None] | None = None,
) -> Job | None:
    """Give every case of the open library its numbers."""
    path = context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        f"Extracting {extractor}",
        extracting.extract_features,
        path,
        extractor,
        settings=settings,
        name=name,
        channel=f"extract {path}",
    )

    def show(result: ExtractResult) -> None:
        if context.state.path == path:
            context.state.set_features(result.features)
        if result.failed:
            context.messages.warning(
                f"{len(result.failed):,} cases gave no {extractor} features: {result.failed[0]['reason']}",
                f"The other {result.cases:,} have theirs.",
            )
        else:
            context.messages.info(f"{result.cases:,} cases have {extractor} features.")
        library.renew(context, then)

    job.done.connect(show)
    job.failed.connect(context.messages.error)
    job.cancelled.connect(lambda: library.renew(context))
    return job
