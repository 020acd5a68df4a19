"""The votes of the nearest cases of every held-out case, as in a search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.calibration import NeighbourVotes
from semblance.core.evaluation.search_rankings import SearchRankings

VOTERS = 10


def neighbour_votes(
    rankings: SearchRankings, rows: npt.NDArray[np.int64], measured_on: str
) -> NeighbourVotes | None:
    """The votes of the :data:`VOTERS` nearest of each query of ``rankings``.

    ``rows`` (n,) are the ids of the cases of its gallery. ``None`` if these have fewer than two findings, or there are
    no queries.
    """
    gallery, queries = rankings.gallery, rankings.queries
    if len(gallery.names) < 2 or not len(queries):
        return None
    two = len(gallery.names) == 2
    voters = min(VOTERS, rankings.nearest.shape[1])
    counts = rankings.votes(voters)
    # With two findings the estimate is for the last by name, with more for that with most votes.
    voted = np.ones(len(queries), dtype=np.intp) if two else np.maximum(rankings.voted()[:, voters - 1], 0)
    patients = gallery.patients[queries]
    units = np.where(patients >= 0, patients, len(gallery.patients) + np.arange(len(queries)))
    return NeighbourVotes(
        rows[queries],
        counts[np.arange(len(queries)), voted].astype(np.int64),
        counts.sum(axis=1).astype(np.int64),
        rankings.findings == voted,
        np.unique(units, return_inverse=True)[1].astype(np.intp) if (patients >= 0).any() else None,
        gallery.names[1] if two else None,
        measured_on,
    )
