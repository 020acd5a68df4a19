"""Extract feature sets in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.features.registry import extractor_class
from semblance.core.language import tr, tr_n, tr_name
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
                )
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
    job.cancelled.connect(lambda: library_operations.renew(context))
    return job
