"""What a kept metric may be measured on: the cases of its library that it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.findings_map import parse_findings_map
from semblance.core.language import tr_lazy
from semblance.core.retrieval.index import Rows
from semblance.core.workflows.metrics.leakage import IdentityIndex, contents_elsewhere
from semblance.core.workflows.metrics.stored_metric import stored_metric

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import MetricRecord
    from semblance.core.metrics.metric import Metric


@dataclass(frozen=True, eq=False)
class HeldOutCases:
    """A metric with ``data``: ``trained`` and ``unseen`` are places in it. ``everything``: cases without a
    finding too; ``renamed``: how findings were renamed; ``seen``: images it saw in other libraries."""

    record: MetricRecord
    metric: Metric
    everything: EvaluationData
    data: EvaluationData
    renamed: Mapping[str, str] | None
    trained: Rows
    unseen: Rows
    seen: tuple[str, ...]


def held_out_cases(library: Library, name: str) -> HeldOutCases:
    """The metric called ``name`` and what it may be measured on.

    Raises:
        BadArguments: no such metric.
        BadInput: none of the cases it was trained on is in the library.
    """
    record = library.metric(name)
    feature_set = next(s for s in library.features.all() if s.id == record.feature_set)
    mapped = record.card.get("findings_map") or ""
    renamed = parse_findings_map(mapped) if mapped else None
    everything = library_data(library, feature_set)
    data = prepare(everything, findings=renamed)
    assert data.case_rows is not None
    trained = np.isin(data.case_rows, record.training)
    if not trained.any():
        raise BadInput(
            tr_lazy(
                "{opened} has none of the cases that '{name}' was trained on.", opened=library.name, name=name
            ),
            "Its vote asks them, so it can be scored only where they are: in the library it came from.",
        )
    # Of all cases of the library: one that lost its finding or its numbers was trained on all the same.
    seen = contents_elsewhere(record.card)
    unseen = np.isin(data.case_rows, IdentityIndex(library).unseen(record.training, seen))
    return HeldOutCases(
        record,
        stored_metric(record),
        everything,
        data,
        renamed,
        np.flatnonzero(trained),
        np.flatnonzero(unseen),
        seen,
    )
