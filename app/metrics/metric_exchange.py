"""Write cards of metrics, and export and import metrics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from semblance.app.shell import exports, library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.language import tr, translate
from semblance.core.reports.card_document import UNVERIFIED
from semblance.core.workflows.metrics import metric_exchange
from semblance.core.workflows.reports import metric_cards


def write_card(context: Context, name: str, path: Path) -> Job | None:
    """Write the card of the metric ``name`` into ``path``."""
    return _run_export(context, metric_cards.write_metric_card, name, path)


def export_metric(context: Context, name: str, path: Path) -> Job | None:
    """Export the metric ``name`` into the file ``path``."""
    return _run_export(context, metric_exchange.export_metric, name, path)


def _run_export(context: Context, function: Callable[..., Path], name: str, path: Path) -> Job | None:
    if context.state.path is None:
        return None
    job = context.jobs.run(tr("Saving {name}", name=path.name), function, context.state.path, name, path)
    return exports.report_saved_file(context, job, path)


def import_metric(context: Context, file: Path) -> Job | None:
    """Import a metric into the open library and rank by it."""
    state = context.state
    path = state.path
    if path is None:
        return None
    job = context.jobs.run(tr("Importing {name}", name=file.name), metric_exchange.import_file, path, file)

    def show(imported: tuple[str, bool]) -> None:
        name, unverified = imported
        context.messages.info(
            tr("{name} is in the library.", name=name), translate(UNVERIFIED) if unverified else ""
        )

        def rank_by_metric() -> None:
            state.set_metric(name)
            search_operations.rank(context)

        if state.path == path:
            library_operations.renew(context, rank_by_metric)

    return context.follow(job, show)
