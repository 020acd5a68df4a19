"""What each judgement does to the ranking on screen: the ranks with it and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from semblance.core.searches.leave_one_out import LeaveOneOut
from semblance.core.searches.ledger import Entry
from semblance.core.searches.relevance_feedback import Coordinates, learn
from semblance.core.tasks import SILENT, Reporter

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Influence:
    """Of the judgement ``entry`` on the first ``k`` ranks.

    ``mean_shift``: how many ranks these cases stand elsewhere without it, on average, and ``moved`` how many
    of them do. ``most_moved``: the place, among the candidates, of the case it moved most, ``rank`` its rank
    (from 1) and ``shift``, its rank without the judgement less its rank with it: above 0 the judgement
    brought it forward.
    """

    entry: int
    mean_shift: float
    moved: int
    most_moved: int
    rank: int
    shift: int


def influences(
    entries: Sequence[Entry],
    coordinates: Coordinates,
    candidates: Matrix,
    query: Matrix,
    *,
    k: int = 20,
    strength: float = 1.0,
    beginning: InitialWeights | None = None,
    reporter: Reporter = SILENT,
) -> list[Influence]:
    """One for each of the ``entries`` in force, learnt anew without it.

    ``candidates`` (c, m): the cases that may come to stand among the first ``k``, such as the nearest
    500 now; ``query`` (m,); ``beginning`` as for :func:`semblance.core.searches.relevance_feedback.learn`.
    """
    judgements = [entry.judgement for entry in entries]
    differences = candidates - query
    now = _ranks(learn(judgements, coordinates, len(query), strength, beginning), differences)
    shown = np.flatnonzero(now < k)
    out = []
    # One at a time, so that a cancelled job stops learning.
    without = LeaveOneOut(judgements, coordinates, len(query), strength, beginning).forms()
    for place, entry in enumerate(entries):
        reporter.check_cancelled()
        reporter.progress(place, len(entries), "Influence of each judgement")
        shift = _ranks(next(without), differences) - now
        if not len(shown):
            out.append(Influence(entry.id, 0.0, 0, 0, 0, 0))
            continue
        of_shown = np.abs(shift[shown])
        most = int(shown[of_shown.argmax()])
        moved = int(np.count_nonzero(of_shown))
        out.append(
            Influence(entry.id, float(of_shown.mean()), moved, most, int(now[most]) + 1, int(shift[most]))
        )
    return out


def _ranks(form: FeedbackForm, differences: Matrix) -> Rows:
    ranks = np.empty(len(differences), dtype=np.int64)
    ranks[np.argsort(form.squared(differences), kind="stable")] = np.arange(len(differences))
    return ranks
