"""The index on a server that finds candidates for the searches of a metric, where it is up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.library.feature_sets import features_stamp
from semblance.core.library.records import EmbeddingIndex, FeatureSet, MetricRecord
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.index import Index

if TYPE_CHECKING:
    from semblance.core.library.library import Library


@dataclass(frozen=True)
class FoundCandidates:
    """An index that is up to date: its description ``index``, and the cases ``rows`` (n,) that it has, ascending."""

    index: EmbeddingIndex
    rows: npt.NDArray[np.int64]

    def open(
        self, library: Library, rows: npt.NDArray[np.int64], exact: Callable[[], Index]
    ) -> CandidateIndex:
        """The index of ``rows`` (n,), some of its cases; ``exact`` as :class:`CandidateIndex` takes it."""
        from semblance.core.library.server.library import ServerLibrary

        assert isinstance(library, ServerLibrary)
        candidates = self.index.candidates
        assert candidates is not None
        return CandidateIndex(library.embedding(self.index), rows, self.index.dimensions, candidates, exact)


def can_have_candidates(metric: Metric) -> bool:
    """Whether an index of vectors finds the nearest cases of ``metric``."""
    return metric.distance.embeds and not metric.distance.ties


def find_candidates(
    library: Library, record: MetricRecord, metric: Metric, feature_set: FeatureSet
) -> FoundCandidates | None:
    """The index of a metric; ``None`` where there is none, where it is older than the features, or where it did not
    reach the required recall."""
    if not can_have_candidates(metric):
        return None
    index = next((one for one in library.embedding_indexes() if one.metric == record.file.stem), None)
    if index is None or index.candidates is None:
        return None
    chunks = library.features.chunk_rows(feature_set)
    if features_stamp(chunks) != index.features:
        return None
    rows = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()]))
    return FoundCandidates(index, rows[rows >= 0])
