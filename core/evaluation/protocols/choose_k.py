"""The number of neighbours, chosen on the training part alone: by leave-one-out under the learnt metric."""

from __future__ import annotations

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import EmbeddedDistances, ScannedDistances, distances_after_steps
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.scores import Matrix, Rows, mean_over_findings, mean_over_queries, votes
from semblance.core.evaluation.splits import patient_codes

MAX_K = 25
#: Training cases that ask, at most; the rest only answer.
_ASKING = 2000


class TrainingQueries:
    """Some training cases asking all others: ``asked`` (q,) rows of the training part, evenly spread.

    ``distances`` are those from ``asked`` to the training part; ``findings`` (n,) and ``patients`` (n,) are
    the training part's. Where patients are unknown every case is one of its own, so none answers itself.
    """

    def __init__(self, trial: Trial, findings: Rows) -> None:
        data, train = trial.data, trial.split.train
        rows = trial.metric.transform(data.X[train])
        self.asked: Rows = np.arange(0, len(train), -(-len(train) // _ASKING))
        self.findings = findings[train]
        self.patients = own_patients(data)[train]
        self.distances: EmbeddedDistances | ScannedDistances = distances_after_steps(
            trial.metric.distance, rows[self.asked], rows
        )

    def correct(self, trial: Trial, n_findings: int) -> Matrix:
        """(q, K) credit of the vote of the 1, 2, ... K nearest, as :func:`semblance.core.evaluation.scores.votes`."""
        found = votes(
            self.distances,
            self.findings,
            self.findings[self.asked],
            n_findings,
            k=1,
            max_k=MAX_K,
            query_patients=self.patients[self.asked],
            gallery_patients=self.patients,
            reporter=trial.reporter,
        )
        # A vote of all there are may end with the case itself, which has no say.
        return found.correct[:, : max(1, len(self.findings) - 1)]

    def best_k(self, correct: Matrix) -> tuple[int, int]:
        """k with the least plain and the least balanced error; of equal ones the smallest."""
        plain = mean_over_queries(correct)
        balanced = mean_over_findings(correct, self.findings[self.asked])
        return int(plain.argmax()) + 1, int(balanced.argmax()) + 1


def own_patients(data: EvaluationData) -> Rows:
    """(n,) a number for each patient; each case is one where none is known."""
    known = patient_codes(data.units, data.n_cases)
    return np.arange(data.n_cases) if known is None else known
