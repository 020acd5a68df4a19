"""Measure relevance feedback inside one search: precision among the cases that were not marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.intervals import over_queries
from semblance.core.evaluation.protocols.protocol import MetricTrial, SplitProtocol, random_halves
from semblance.core.evaluation.query_records import ALL, QueryRecords
from semblance.core.evaluation.result import MeasuredScores, QueryScores
from semblance.core.evaluation.scores import Matrix, Rows
from semblance.core.evaluation.splits import HoldOut, patient_codes
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter
from semblance.core.retrieval.feedback import Feedback, FeedbackCases

#: Judged cases, and the rank to which precision is counted.
JUDGED, RANK = (0, 5, 10, 20), 20
SCORE = f"residual_precision@{RANK}"


class FeedbackProtocol(SplitProtocol):
    """Queries of the tested half search all cases; the nearest are judged by their findings (residual collection).

    ``residual_precision@20:N``: after the first N of the ranking by distance were judged, the share of the query's
    finding among the 20 that stand first of all cases not judged, in the order of
    :func:`semblance.core.retrieval.feedback_scores`. ``residual_precision@20:N:no_feedback``: the same cases by
    distance alone; ``gain@20:N`` is the difference. Where patients are known no case of the query's or of a judged
    patient is ranked. Only the query is held out: the cases it is compared with may be training cases, as in a
    library.
    """

    name: ClassVar[str] = "feedback"
    title: ClassVar[str] = "Marks inside a search"
    paper: ClassVar[str] = (
        "I. Ruthven, M. Lalmas, A survey on the use of relevance feedback for information access systems, "
        "The Knowledge Engineering Review 18(2), 2003 (residual collection)"
    )
    summary: ClassVar[str] = (
        "Simulated marks on the first 5, 10 and 20 of a ranking: precision among the 20 best cases that were "
        "not judged, with and without feedback; 50 queries, 3 repeats."
    )
    repeats: ClassVar[int] = 3
    compared: ClassVar[tuple[str, ...]] = tuple(f"{SCORE}:{n}" for n in JUDGED)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("queries", 50, "Queries in a repeat.", minimum=1, maximum=100_000),
        Parameter("cases", 45, "Cases that a query's finding has at least.", minimum=2, maximum=1_000_000),
        Parameter("wrong", 0.0, "Share of the marks that are wrong, at random.", minimum=0.0, maximum=0.5),
    )

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """A random half to train on in each repeat."""
        return random_halves(data, repeats, seed)

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """Precision in the residual collection after each number of judged cases."""
        wrong, most, cases = (self.settings[name] for name in ("wrong", "queries", "cases"))
        assert isinstance(wrong, float) and isinstance(most, int) and isinstance(cases, int)
        search = _SimulatedSearch(trial, wrong)
        queries = search.queries(most, cases)
        with_marks, without = np.empty((2, len(queries), len(JUDGED)))
        for place, query in enumerate(queries.tolist()):
            trial.reporter.check_cancelled()
            with_marks[place], without[place] = search.precision(query)
        scores: dict[str, float] = {}
        intervals = {}
        low_high = over_queries(with_marks, seed=trial.split.seed, groups=search.patients_of(queries))
        for place, n in enumerate(JUDGED):
            name = f"{SCORE}:{n}"
            scores[name] = float(with_marks[:, place].mean())
            intervals[name] = {"bootstrap": (float(low_high[1][place]), float(low_high[2][place]))}
            if n:
                scores[f"{name}:no_feedback"] = float(without[:, place].mean())
                scores[f"gain@{RANK}:{n}"] = scores[name] - scores[f"{name}:no_feedback"]
        columns = {f"{SCORE}:{n}": with_marks[:, place] for place, n in enumerate(JUDGED)} | {
            f"{SCORE}:{n}:no_feedback": without[:, place] for place, n in enumerate(JUDGED) if n
        }
        return MeasuredScores(
            scores,
            intervals=intervals,
            queries=QueryScores(f"{SCORE}:20", queries, with_marks[:, -1]),
            records=search.records(queries, columns) if trial.keeps_queries else None,
        )


class _SimulatedSearch:
    """Searches of one fitted metric among all cases, with a simulated user who marks by the findings."""

    def __init__(self, trial: MetricTrial, wrong: float) -> None:
        data, metric = trial.data, trial.metric
        self._trial, self._wrong = trial, wrong
        self._findings = np.unique(data.y, return_inverse=True)[1]
        self._patients = patient_codes(data.units, data.n_cases)
        self._rows = metric.transform(data.X)
        coordinates = metric.distance.embed(self._rows) if metric.distance.embeds else self._rows
        self._ties = self._rows if metric.distance.ties else None
        self._coordinates = coordinates
        # Ties are in random order, which does not depend on the order of the rows.
        self._shuffled = np.random.default_rng(trial.split.seed).permutation(data.n_cases)

    def patients_of(self, rows: Rows) -> Rows | None:
        """(q,) numbers of the patients of some cases; ``None`` where none is known."""
        return None if self._patients is None else self._patients[rows]

    def queries(self, most: int, cases: int) -> Rows:
        """At most so many tested cases of findings with at least so many ``cases``.

        Raises:
            BadInput: there is no such finding among the tested cases.
        """
        enough = np.bincount(self._findings) >= cases
        test = self._trial.split.test
        able = test[enough[self._findings[test]]]
        if not len(able):
            raise BadInput(
                tr_lazy("No finding has {cases} cases.", cases=cases),
                tr_lazy("Set protocol.cases to less than {cases}.", cases=cases),
            )
        rng = np.random.default_rng(self._trial.split.seed)
        chosen: Rows = np.sort(rng.permutation(able)[:most])
        return chosen

    def records(self, queries: Rows, columns: Mapping[str, Matrix]) -> QueryRecords:
        """What ``queries`` (q,) find before anything is marked; ``columns`` (q,) by name, after that."""
        nearest = np.full((len(queries), RANK), -1, dtype=np.intp)
        for place, query in enumerate(queries.tolist()):
            first = self._order(query, self._distances(query))[:RANK]
            nearest[place, : len(first)] = first
        there = nearest >= 0
        same = there & (self._findings[nearest] == self._findings[queries][:, None])
        units = np.arange(len(self._findings)) if self._patients is None else self._patients
        return QueryRecords(
            ALL,
            queries,
            (RANK,),
            same.sum(axis=1, dtype=np.float64)[:, None],
            there.sum(axis=1, dtype=np.intp)[:, None],
            nearest,
            units[queries],
            columns=columns,
        )

    def precision(self, query: int) -> tuple[Matrix, Matrix]:
        """For each number of judged cases, with the marks and by distance alone."""
        relevant = self._findings == self._findings[query]
        base = self._distances(query)
        order = self._order(query, base)
        rng = np.random.default_rng([self._trial.split.seed, query])
        liked = relevant[order] ^ (rng.random(len(order)) < self._wrong)
        cases = FeedbackCases(self._coordinates.__getitem__, self._coordinates.shape, base)
        with_marks, without = np.full((2, len(JUDGED)), np.nan)
        for place, n in enumerate(JUDGED):
            judged, rest = order[:n], self._residual(query, order, n)
            without[place] = relevant[rest[:RANK]].mean() if len(rest) else 0.0
            with_marks[place] = without[place]
            if n and len(rest):
                marks = Feedback(
                    cases, self._coordinates[query], np.sort(judged[liked[:n]]), np.sort(judged[~liked[:n]])
                )
                scores = marks.scores()
                first = rest[np.argsort(-scores[rest], kind="stable")[:RANK]]
                with_marks[place] = relevant[first].mean()
        return with_marks, without

    def _distances(self, query: int) -> Matrix:
        """(n,) squared distances of all cases from a query."""
        metric = self._trial.metric
        if not metric.distance.embeds:
            distances: Matrix = metric.distance.between(self._rows[query : query + 1], self._rows)[0]
            return distances
        apart = self._coordinates - self._coordinates[query]
        squared: Matrix = np.einsum("ij,ij->i", apart, apart)
        return squared

    def _order(self, query: int, base: Matrix) -> Rows:
        """The cases that may be ranked, from near to far."""
        keys = [self._shuffled, base]
        if self._ties is not None:
            apart = self._ties - self._ties[query]
            keys.insert(1, np.einsum("ij,ij->i", apart, apart))
        order = np.lexsort(keys)
        if self._patients is None:
            others = order != query
        else:
            others = self._patients[order] != self._patients[query]
        found: Rows = order[others]
        return found

    def _residual(self, query: int, order: Rows, n: int) -> Rows:
        """The cases left after the first ``n`` were judged, without other cases of their patients."""
        if self._patients is None:
            return order[n:]
        rest: Rows = order[n:][~np.isin(self._patients[order[n:]], self._patients[order[:n]])]
        return rest
