"""Choose the number of neighbours on the training part, by leave-one-out under the learnt metric."""

from __future__ import annotations

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import EmbeddedDistances, ScannedDistances, distances_after_steps
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.scores import Matrix, Rows, mean_over_findings, mean_over_queries, votes
from semblance.core.evaluation.splits import patient_codes

MAX_K = 25
#: Maximum number of training cases that are queries.
_MAX_QUERIES = 2000


class TrainingQueries:
    """Training cases as queries of all others: ``queries`` (q,) rows of the training part, evenly spaced.

    ``distances`` are those from ``queries`` to the training part; ``findings`` (n,) and ``patients`` (n,) are
    of the training part. If patients are unknown, every case is its own patient, so none is retrieved for itself.
    """

    def __init__(self, trial: Trial, findings: Rows) -> None:
        data, train = trial.data, trial.split.train
        rows = trial.metric.transform(data.X[train])
        self.queries: Rows = np.arange(0, len(train), -(-len(train) // _MAX_QUERIES))
        self.findings = findings[train]
        self.patients = patient_numbers(data)[train]
        self.distances: EmbeddedDistances | ScannedDistances = distances_after_steps(
            trial.metric.distance, rows[self.queries], rows
        )

    def correct(self, trial: Trial, n_findings: int) -> Matrix:
        """(q, K) credit of the vote of the 1, 2, ... K nearest, as :func:`semblance.core.evaluation.scores.votes`."""
        found = votes(
            self.distances,
            self.findings,
            self.findings[self.queries],
            n_findings,
            k=1,
            max_k=MAX_K,
            query_patients=self.patients[self.queries],
            gallery_patients=self.patients,
            reporter=trial.reporter,
        )
        # With all cases the last neighbour is the query itself, which does not vote.
        return found.correct[:, : max(1, len(self.findings) - 1)]

    def best_k(self, correct: Matrix) -> tuple[int, int]:
        """The k with the smallest plain and the smallest balanced error; the smallest k of ties."""
        plain = mean_over_queries(correct)
        balanced = mean_over_findings(correct, self.findings[self.queries])
        return int(plain.argmax()) + 1, int(balanced.argmax()) + 1


def patient_numbers(data: EvaluationData) -> Rows:
    """(n,) a number for each patient; every case is its own patient if none is known."""
    known = patient_codes(data.units, data.n_cases)
    return np.arange(data.n_cases) if known is None else known
