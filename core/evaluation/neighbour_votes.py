"""The votes of the nearest cases of every held-out case, as in a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.calibration import NeighbourVotes
from semblance.core.evaluation.query_sample import query_limit
from semblance.core.retrieval.index import Index, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery, rank_many
from semblance.core.retrieval.scan_index import ScanIndex
from semblance.core.tasks import SILENT, Reporter

VOTERS = 10


def neighbour_votes(
    index: Index | ScanIndex,
    coordinates: npt.NDArray[np.floating],
    ties: npt.NDArray[np.floating] | None,
    *,
    findings: Sequence[str | None],
    patients: npt.NDArray[np.object_],
    keys: Rows,
    rows: npt.NDArray[np.int64],
    queries: npt.NDArray[np.intp],
    measured_on: str,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> NeighbourVotes | None:
    """The votes of the :data:`VOTERS` nearest of the ``queries``, row numbers in the index.

    ``coordinates`` (n, m) and ``ties`` (n, d) are what ``index`` holds; ``findings`` (n,), ``None`` for a
    case without; ``patients`` (n,) "" where unknown; ``keys`` (n,) as in
    :func:`semblance.core.retrieval.ranking.rank`; ``rows`` (n,) ids of the cases. ``None`` if there are fewer than
    two findings, or no queries.

    Raises:
        Cancelled: the reporter asked for it.
    """
    names = sorted({finding for finding in findings if finding})
    queries = np.array([place for place in queries.tolist() if findings[place]], dtype=np.intp)
    if len(names) < 2 or not len(queries):
        return None
    limit = query_limit(len(findings))
    if len(queries) > limit:
        queries = np.sort(np.random.default_rng(seed).choice(queries, limit, replace=False))
    numbers: dict[object, int] = {}
    # Numbers compare much faster than names.
    patient_numbers = np.array([numbers.setdefault(name, len(numbers)) for name in patients.tolist()])
    finding = names[-1] if len(names) == 2 else None
    votes, voters, truth = (np.zeros(len(queries), dtype=np.int64) for _ in range(3))
    asked = (
        EmbeddedQuery(
            np.asarray(coordinates[place], dtype=np.float64),
            None if ties is None else np.asarray(ties[place], dtype=np.float64),
            place,
            int(patient_numbers[place]) if patients[place] else None,
            int(keys[place]),
        )
        for place in queries.tolist()
    )
    ranked = rank_many(index, asked, VOTERS, patients=patient_numbers, keys=keys)
    for position, (place, nearest) in enumerate(zip(queries.tolist(), ranked, strict=True)):
        if position % 64 == 0:
            reporter.check_cancelled()
            reporter.progress(position, len(queries), "Calibrating the estimate")
        counts = Counter(name for neighbour in nearest.rows.tolist() if (name := findings[neighbour]))
        voted_finding = (
            finding if finding is not None else max(counts, key=lambda name: counts[name], default=names[0])
        )
        votes[position], voters[position] = counts[voted_finding], sum(counts.values())
        truth[position] = findings[place] == voted_finding
    patient_names = [patients[place] for place in queries.tolist()]
    codes: dict[object, int] = {}
    units = [codes.setdefault(name or ("", index), len(codes)) for index, name in enumerate(patient_names)]
    return NeighbourVotes(
        rows[queries],
        votes,
        voters,
        truth.astype(np.bool_),
        np.array(units, dtype=np.intp) if any(patient_names) else None,
        finding,
        measured_on,
    )
