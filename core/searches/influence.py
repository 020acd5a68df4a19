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
    out = []
    # One at a time, so that a cancelled job stops learning.
    without = LeaveOneOut(judgements, coordinates, len(query), strength, initial_weights).forms()
    for place, entry in enumerate(entries):
        reporter.check_cancelled()
        reporter.progress(place, len(entries), "Influence of each judgement")
        out.append(influence_of(entry.id, now, _ranks(next(without), differences), k))
    return out


def influence_of(entry: int, now: Rows, without: Rows, k: int) -> Influence:
    """Of ``entry``, by the ranks (c,) of the candidates ``now`` and ``without`` it, from 0."""
    shown = np.flatnonzero(now < k)
    if not len(shown):
        return Influence(entry, 0.0, 0, 0, 0, 0)
    shift = without - now
    of_shown = np.abs(shift[shown])
    most = int(shown[of_shown.argmax()])
    moved = int(np.count_nonzero(of_shown))
    return Influence(entry, float(of_shown.mean()), moved, most, int(now[most]) + 1, int(shift[most]))


def ranks_of(values: Matrix) -> Rows:
    """(c,) the rank of each, from 0; the smallest is first, equal ones stay in their order."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def _ranks(form: FeedbackForm, differences: Matrix) -> Rows:
    return ranks_of(form.squared(differences))
