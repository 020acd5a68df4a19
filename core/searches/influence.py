"""The influence of each judgement on the ranking: the ranks with it and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from semblance.core.searches.leave_one_out import LeaveOneOut
from semblance.core.searches.ledger import LedgerEntry
from semblance.core.searches.relevance_feedback import Coordinates, learn
from semblance.core.tasks import SILENT, Reporter

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Influence:
    """The influence of the judgement ``entry`` on the first ``k`` ranks.

    ``mean_shift``: the mean change of their ranks without it, and ``moved`` the number of ranks that change.
    ``most_moved``: the index, among the candidates, of the case that moves most, ``rank`` its rank (from 1) and
    ``shift`` its rank without the judgement minus its rank with it. Above 0 the judgement improves its rank.
    """

    entry: int
    mean_shift: float
    moved: int
    most_moved: int
    rank: int
    shift: int


def influences(
    entries: Sequence[LedgerEntry],
    coordinates: Coordinates,
    candidates: Matrix,
    query: Matrix,
    *,
    k: int = 20,
    strength: float = 1.0,
    initial_weights: InitialWeights | None = None,
    reporter: Reporter = SILENT,
) -> list[Influence]:
    """The influence of each of the ``entries`` in force, by learning without it.

    ``candidates`` (c, m): the cases that may get one of the first ``k`` ranks, such as the nearest
    500; ``query`` (m,); ``initial_weights`` as for :func:`semblance.core.searches.relevance_feedback.learn`.
    """
    judgements = [entry.judgement for entry in entries]
    differences = candidates - query
    now = _ranks(learn(judgements, coordinates, len(query), strength, initial_weights), differences)
    shown = np.flatnonzero(now < k)
    out = []
    # One at a time, so that a cancelled job stops learning.
    without = LeaveOneOut(judgements, coordinates, len(query), strength, initial_weights).forms()
    for place, entry in enumerate(entries):
        reporter.check_cancelled()
        reporter.progress(place, len(entries), "Influence of each judgement")
        shift = _ranks(next(without), differences) - now
        if not len(shown):
            out.append(Influence(entry.id, 0.0, 0, 0, 0, 0))
            continue
        size = np.abs(shift[shown])
        most = int(shown[size.argmax()])
        moved = int(np.count_nonzero(size))
        out.append(Influence(entry.id, float(size.mean()), moved, most, int(now[most]) + 1, int(shift[most])))
    return out


def _ranks(form: FeedbackForm, differences: Matrix) -> Rows:
    ranks = np.empty(len(differences), dtype=np.int64)
    ranks[np.argsort(form.squared(differences), kind="stable")] = np.arange(len(differences))
    return ranks
