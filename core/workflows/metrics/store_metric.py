"""Store a trained metric in its library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from semblance.core.metrics.storage import save_metric
from semblance.core.tasks import Reporter
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_data import TrainingData

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric


def store_metric(
    library: Library,
    request: TrainRequest,
    metric: Metric,
    data: TrainingData,
    scores: Mapping[str, Any] | None,
    reporter: Reporter,
    **entries: Any,
) -> None:
    """Enter ``metric`` with its training cases and scores; ``entries`` go onto its card.

    A metric of the same name is replaced.

    Raises:
        Cancelled: the reporter was cancelled; nothing is stored.
    """
    reporter.check_cancelled()
    file = library.new_metric_file()
    save_metric(metric, file)
    card = {**metric.card.to_json(), **request.card_entries(), **entries}
    library.add_metric(
        request.name, request.learner, data.feature_set.id, file, card, data.training_ids, scores
    )
