"""The cases of a library that a metric may be scored on: those it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.language import tr_lazy
from semblance.core.retrieval.index import Rows
from semblance.core.workflows.metrics.leakage import IdentityIndex, contents_elsewhere

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import MetricRecord


@dataclass(frozen=True, eq=False)
class HeldOutCases:
    """What a metric is scored on: the rows ``test`` of ``cases``, answered by the rows ``train``.

    ``everything``: all cases of the library, including those without a finding; ``training``: ids of the cases the
    metric was trained on; ``findings_map`` renames findings as in training; ``trained_elsewhere``: contents of cases
    it was trained on in other libraries.
    """

    cases: EvaluationData
    train: Rows
    test: Rows
    everything: EvaluationData
    training: npt.NDArray[np.int64]
    findings_map: Mapping[str, str] | None
    trained_elsewhere: tuple[str, ...] = ()


def held_out_cases(library: Library, metric: MetricRecord) -> HeldOutCases:
    """The cases of ``library`` that a stored metric was not trained on, nor on their patients or images.

    Raises:
        BadInput: none of the cases it was trained on is in the library, or its feature set is not.
    """
    feature_set = library.features.of_metric(metric)
    written = metric.card.get("findings_map") or ""
    findings_map = parse_findings_map(written) if written else None
    everything = library_data(library, feature_set)
    cases = prepare(everything, findings=findings_map)
    assert cases.case_rows is not None
    trained = np.isin(cases.case_rows, metric.training)
    if not trained.any():
        raise BadInput(
            tr_lazy(
                "{opened} has none of the cases that '{name}' was trained on.",
                opened=library.name,
                name=metric.name,
            ),
            "It compares with these cases, so it can be scored only in the library it came from.",
        )
    # Of all cases of the library, because a case may have lost its finding or its features since it was trained on.
    trained_elsewhere = contents_elsewhere(metric.card)
    unseen = np.isin(cases.case_rows, IdentityIndex(library).unseen(metric.training, trained_elsewhere))
    return HeldOutCases(
        cases,
        np.flatnonzero(trained),
        np.flatnonzero(unseen),
        everything,
        metric.training,
        findings_map,
        trained_elsewhere,
    )
