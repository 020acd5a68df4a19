"""Extract feature sets in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QTimer

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.features.registry import extractor_class
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.library.location import LibraryLocation
from semblance.core.parameters import Value
from semblance.core.workflows.features import extract_features
from semblance.core.workflows.features.extract_features import ExtractResult


def extract(
    context: Context,
    extractor: str,
    settings: Mapping[str, Value] | None = None,
    name: str | None = None,
    then: Callable[[], None] | None = None,
) -> Job | None:
    """Extract the features of all cases of the open library in a job."""
    path = context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Extracting {name}", name=extractor),
        extract_features.extract_features,
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
                tr(
                    "Semblance could not extract {name} features of {failed:,} cases: {reason}",
                    failed=len(result.failed),
                    name=extractor,
                    reason=result.failed[0]["reason"],
                ),
                tr("The other {cases:,} cases have features.", cases=result.cases),
            )
        else:
            context.messages.info(
                tr_n(
                    "{n} case has {name} features.",
                    "{n} cases have {name} features.",
                    result.cases,
                    name=extractor,
                ),
                _left_out(result),
            )

        def update_search() -> None:
            metric = context.state.metric
            if metric is not None and metric.features == result.features:
                # Cases without features could not be ranked before.
                search_operations.rank(context)
            if then is not None:
                then()

        library_operations.renew(context, update_search)

    context.state.set_extracting(tr_name(extractor_class(extractor).title))
    # A second extraction cancels the first, so set the name after that.
    job.ended.connect(lambda: context.state.set_extracting(""))
    context.follow(job, show)

    def report_cancelled() -> None:
        if context.state.path != path:
            return
        library_operations.renew(context)
        if any(one.function == extraction for one in context.jobs.active):
            # Another extraction took its place.
            return
        context.messages.info(
            tr("The extraction of {name} features was cancelled.", name=name or extractor),
            tr("The cases that are measured stay measured and can be searched. The others are left out."),
            [(tr("Resume"), partial(_resume, context, path, extractor, settings, name, then))],
        )

    extraction = job.function
    # Later, because an extraction that takes the place of this one is not active yet.
    job.cancelled.connect(lambda: QTimer.singleShot(0, context.state, report_cancelled))
    return job


def _left_out(result: ExtractResult) -> str:
    """The clinical columns that are not used, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in result.left_out:
        reasons.setdefault(translate(one["reason"]), []).append(one["column"])
    columns = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
    return tr("Columns not used: {columns}.", columns=columns) if columns else ""


def _resume(
    context: Context,
    path: LibraryLocation,
    extractor: str,
    settings: Mapping[str, Value] | None,
    name: str | None,
    then: Callable[[], None] | None,
) -> None:
    """Extract what a cancelled extraction left out, if its library is still open."""
    if context.state.path == path:
        extract(context, extractor, settings, name, then)
