"""Metrics in a library: store one, read one, and the one that searches use if none is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import MetricRecord
from semblance.core.metrics.metric import Metric, load_metric
from semblance.core.metrics.storage import save_metric
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_data import TrainingData

if TYPE_CHECKING:
    from semblance.core.library.library import Library


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


def current_metric(library: LibraryLocation, *, reporter: Reporter = SILENT) -> str:
    """The name of the current metric of ``library``: the recorded one, else the latest.

    Raises:
        BadInput: the library has no metric.
    """
    with open_library(library) as opened:
        record = opened.current_metric()
        if record is None:
            raise BadInput(
                tr_lazy("{library} has no metric yet.", library=opened.location.name),
                "Make one: semblance import SOURCE --library LIB --prepare, or semblance train.",
            )
        return record.name


def set_current_metric(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> None:
    """Record ``name`` as the current metric of ``library``: a person chose it.

    :func:`semblance.core.workflows.library.prepare_library.prepare_library` leaves it current from then on.

    Raises:
        BadArguments: no such metric.
    """
    with open_library(library, writable=True) as opened:
        opened.set_current_metric(name)
