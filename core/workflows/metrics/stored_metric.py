"""A library's metric, read from its file."""

from __future__ import annotations

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.records import MetricRecord
from semblance.core.metrics.metric import Metric, load_metric


def stored_metric(record: MetricRecord) -> Metric:
    """The metric of ``record``.

    Raises:
        BadInput: its file is missing or damaged, or contains another metric than the catalogue says.
    """
    metric = load_metric(record.file)
    if record.card.get("content_hash", metric.card.content_hash) != metric.card.content_hash:
        raise BadInput(
            tr_lazy(
                "The file of the metric '{name}' ({file}) holds another metric.",
                name=record.name,
                file=record.file,
            ),
            "Restore a backup, or train the metric again; `semblance doctor LIB --repair` looks for its "
            "file.",
        )
    return metric
