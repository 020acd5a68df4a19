"""What the nearest cases of every held-out case vote, asked as a search asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.calibration import NeighbourVotes
from semblance.core.retrieval.index import Index, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from semblance.core.retrieval.scan_index import ScanIndex
from semblance.core.tasks import SILENT, Reporter

#: Held-out cases asked at most; more change nothing that can be seen.
MOST = 4000
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
    asked: npt.NDArray[np.intp],
    measured_on: str,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> NeighbourVotes | None:
    """The votes of the :data:`VOTERS` nearest of the cases ``asked``, places in the index.

    ``coordinates`` (n, m) and ``ties`` (n, d) are what ``index`` holds; ``findings`` (n,), ``None`` for a
    case without; ``patients`` (n,) "" where unknown; ``keys`` (n,) as in
    :func:`semblance.core.retrieval.ranking.rank`; ``rows`` (n,) ids of the cases. ``None`` where there are fewer than
    two findings, or no one to ask.

    Raises:
        Cancelled: asked for by the reporter.
    """
    names = sorted({finding for finding in findings if finding})
    asked = np.array([place for place in asked.tolist() if findings[place]], dtype=np.intp)
    if len(names) < 2 or not len(asked):
        return None
    if len(asked) > MOST:
        asked = np.sort(np.random.default_rng(seed).choice(asked, MOST, replace=False))
    finding = names[-1] if len(names) == 2 else None
    votes, voters, truth = (np.zeros(len(asked), dtype=np.int64) for _ in range(3))
    for number, place in enumerate(asked.tolist()):
        if number % 64 == 0:
            reporter.check_cancelled()
            reporter.progress(number, len(asked), "Calibrating the vote")
        query = EmbeddedQuery(
            np.asarray(coordinates[place], dtype=np.float64),
            None if ties is None else np.asarray(ties[place], dtype=np.float64),
            place,
            patients[place] or None,
            int(keys[place]),
        )
        found = rank(index, query, VOTERS, patients=patients, keys=keys).rows.tolist()
        said = Counter(name for near in found if (name := findings[near]))
        told = finding if finding is not None else max(said, key=lambda name: said[name], default=names[0])
        votes[number], voters[number] = said[told], sum(said.values())
        truth[number] = findings[place] == told
    known = [patients[place] for place in asked.tolist()]
    codes: dict[object, int] = {}
    units = [codes.setdefault(name or ("", at), len(codes)) for at, name in enumerate(known)]
    return NeighbourVotes(
        rows[asked],
        votes,
        voters,
        truth.astype(np.bool_),
        np.array(units, dtype=np.intp) if any(known) else None,
        finding,
        measured_on,
    )
