"""The pairs protocol: whether two test cases have the same finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances, tie_numbers
from semblance.core.evaluation.protocols.protocol import (
    MetricTrial,
    SplitProtocol,
    TrainingQueries,
    patient_numbers,
    random_halves,
)
from semblance.core.evaluation.result import MeasuredScores
from semblance.core.evaluation.roc import auc, roc
from semblance.core.evaluation.scores import Matrix, Rows, votes
from semblance.core.evaluation.splits import HoldOut

if TYPE_CHECKING:
    from semblance.core.metrics.metric import Metric

#: Maximum number of pairs of each kind.
MAX_PAIRS = 2000
#: The values of k for the marginalised k-NN.
K_CHOICES = (3, 5, 10, 20, 50, 100)
_COMPARED = ("auc_distance", "auc_marginal", "pair_accuracy_distance", "pair_accuracy_marginal")
BY_DISTANCE, BY_VOTES = "same, by distance", "same, by marginalised k-NN"


class PairSet(NamedTuple):
    """Rows ``i`` and ``j`` (p,), and whether they have the ``same`` (p,) finding."""

    i: Rows
    j: Rows
    same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class PairsProtocol(SplitProtocol):
    """Random halves; up to 2,000 pairs of either kind inside the tested half (boostmetric.txt 4.4).

    Two answers: the distance of the two cases (the smaller, the likelier the same), and the marginalised
    k-NN, P(same) = sum over findings of the shares both have of it among their k nearest training cases
    (Guillaumin et al. 2009). ``auc_distance``, ``auc_marginal``: area under the ROC curve.
    ``pair_accuracy_distance``, ``pair_accuracy_marginal``: at the best threshold on as many pairs of the
    training half, on which k in 3..100 is chosen too. Two cases of one patient are no pair.
    """

    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "Same or not (pairs)"
    paper: ClassVar[str] = (
        "C. Shen et al., Positive semidefinite metric learning using boosting-like algorithms, JMLR 13, 2012"
    )
    summary: ClassVar[str] = (
        "Random halves: whether two unseen cases have the same finding, by distance and by marginalised "
        "k-NN; ROC and AUC; 10 repeats."
    )
    repeats: ClassVar[int] = 10
    compared: ClassVar[tuple[str, ...]] = _COMPARED

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """A random half to train on in each repeat."""
        return random_halves(data, repeats, seed)

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """AUC and accuracy of separating pairs of one finding from pairs of two, by distance and by k-NN."""
        return _measure(trial)


def balanced_pairs(findings: Rows, patients: Rows, count: int, seed: int) -> PairSet:
    """Up to ``count`` different pairs of cases of one finding, and as many of two, drawn at random.

    Cases are rows of ``findings`` (n,) and ``patients`` (n,); two of one patient are no pair.

    Raises:
        BadInput: no pair of one of the kinds.
    """
    rng = np.random.default_rng(seed)
    n = len(findings)
    kinds = []
    for same in (True, False):
        keys: Rows = np.empty(0, dtype=np.intp)
        # Partners are drawn only among cases of the right findings; a few rounds find almost all pairs of a rare kind.
        for _ in range(20):
            i = rng.integers(n, size=4 * count)
            j = _partners(findings, i, same, rng)
            valid = (j >= 0) & (i != j) & (patients[i] != patients[j])
            i, j = i[valid], j[valid]
            keys = np.union1d(keys, np.minimum(i, j) * n + np.maximum(i, j))
            if len(keys) >= count:
                break
        kinds.append(rng.permutation(keys)[:count])
    n_pairs = min(len(kind) for kind in kinds)
    if n_pairs == 0:
        raise BadInput(
            "The cases make no pairs of one finding, or none of two.",
            "Cases of two findings, at least two of one, are needed in each half.",
        )
    keys = np.concatenate([kind[:n_pairs] for kind in kinds])
    return PairSet(keys // n, keys % n, np.repeat([True, False], n_pairs))


def _partners(findings: Rows, i: Rows, same: bool, rng: np.random.Generator) -> Rows:
    """For each row of ``i`` a random row of its finding, or of another one; -1 if there is none."""
    order = np.argsort(findings, kind="stable")
    sizes = np.bincount(findings)
    starts = np.cumsum(sizes) - sizes
    n_finding, start = sizes[findings[i]], starts[findings[i]]
    n_choices = n_finding if same else len(findings) - n_finding
    positions = (rng.random(len(i)) * n_choices).astype(np.intp)
    # Cases of other findings are all positions of the order without those of its own finding.
    positions = start + positions if same else positions + np.where(positions >= start, n_finding, 0)
    return np.where(n_choices > 0, order[np.minimum(positions, len(findings) - 1)], -1)


def _measure(trial: MetricTrial) -> MeasuredScores:
    data, split, reporter = trial.data, trial.split, trial.reporter
    names, findings = np.unique(data.y, return_inverse=True)
    patients = patient_numbers(data)
    test = balanced_pairs(findings[split.test], patients[split.test], MAX_PAIRS, split.seed)
    train = balanced_pairs(findings[split.train], patients[split.train], MAX_PAIRS, split.seed + 1)
    training = TrainingQueries(trial, findings)
    query_pairs = _pairs_of_queries(train, training.queries)
    k = _best_k(trial, training, query_pairs, len(names))
    shares = _shares(training, k, len(names), trial)
    test_shares = votes(
        metric_distances(trial.metric, data.X[split.test], data.X[split.train]),
        training.findings,
        findings[split.test],
        len(names),
        k=k,
        max_k=k,
        reporter=reporter,
    ).plain
    test_nearness = -_distances(trial.metric, data.X[split.test], test)
    test_likelihood = -_without_rounding(-test_nearness)
    training_nearness = -_distances(trial.metric, data.X[split.train], train)
    marginal = _marginal(test_shares, test)
    positions = np.searchsorted(training.queries, np.stack([query_pairs.i, query_pairs.j]))
    training_marginal = _marginal(shares, PairSet(positions[0], positions[1], query_pairs.same))
    return MeasuredScores(
        {
            "auc_distance": auc(test_likelihood, test.same),
            "auc_marginal": auc(marginal, test.same),
            "pair_accuracy_distance": _accuracy(
                test_nearness, test.same, _threshold(training_nearness, train.same)
            ),
            "pair_accuracy_marginal": _accuracy(
                marginal, test.same, _threshold(training_marginal, query_pairs.same)
            ),
            "chosen_k": float(k),
        },
        rocs={BY_DISTANCE: roc(test_likelihood, test.same), BY_VOTES: roc(marginal, test.same)},
    )


def _pairs_of_queries(pairs: PairSet, queries: Rows) -> PairSet:
    """The pairs of the training half of which both cases are queries."""
    is_query = np.isin(pairs.i, queries) & np.isin(pairs.j, queries)
    return PairSet(pairs.i[is_query], pairs.j[is_query], pairs.same[is_query])


def _best_k(trial: MetricTrial, training: TrainingQueries, pairs: PairSet, n_findings: int) -> int:
    """The k of :data:`K_CHOICES` that separates pairs of the training half best; the smallest of ties."""
    max_k = max(1, len(training.findings) - 1)
    choices = [k for k in K_CHOICES if k <= max_k] or [max_k]
    if not pairs.same.any() or pairs.same.all():
        return choices[0]
    positions = np.searchsorted(training.queries, np.stack([pairs.i, pairs.j]))
    found = PairSet(positions[0], positions[1], pairs.same)
    areas = [auc(_marginal(_shares(training, k, n_findings, trial), found), pairs.same) for k in choices]
    return choices[int(np.argmax(areas))]


def _shares(training: TrainingQueries, k: int, n_findings: int, trial: MetricTrial) -> Matrix:
    """(q, c) share of each finding among the ``k`` nearest other training cases of each query."""
    return votes(
        training.distances,
        training.findings,
        training.findings[training.queries],
        n_findings,
        k=k,
        max_k=k,
        query_patients=training.patients[training.queries],
        gallery_patients=training.patients,
        reporter=trial.reporter,
    ).plain


def _marginal(shares: Matrix, pairs: PairSet) -> Matrix:
    """(p,) P(same) = sum over findings of both shares."""
    chance: Matrix = np.einsum("ij,ij->i", shares[pairs.i], shares[pairs.j])
    # The shares are rounded to 12 digits, so equal sums of thirds can differ by that much.
    return np.round(chance, 9)


def _without_rounding(distances: Matrix) -> Matrix:
    """(p,) numbers in the order of the distances (p,), equal for distances that are equal up to rounding."""
    order = np.argsort(distances, kind="stable")
    levels = np.empty(len(distances))
    levels[order] = tie_numbers(distances[order][None, :])[0]
    return levels


def _distances(metric: Metric, X: Matrix, pairs: PairSet) -> Matrix:
    """(p,) squared distances of the pairs of rows of ``X``, as extracted."""
    rows = metric.transform(X)
    distance = metric.distance
    if distance.embeds:
        embedded = distance.embed(rows)
        difference = embedded[pairs.i] - embedded[pairs.j]
        squared: Matrix = np.einsum("ij,ij->i", difference, difference)
        return squared
    found = np.empty(len(pairs.i))
    for row in np.unique(pairs.i):
        queries = np.flatnonzero(pairs.i == row)
        found[queries] = distance.between(rows[row : row + 1], rows[pairs.j[queries]])[0]
    return found


def _threshold(scores: Matrix, same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    """The threshold with the most correct answers, midway between two scores."""
    if not len(scores):
        return 0.0
    order = np.argsort(scores, kind="stable")
    ordered, truth = scores[order], same[order]
    # Number of correct answers if the first t pairs are called different.
    n_correct = (
        np.concatenate([[0], np.cumsum(~truth)]) + truth.sum() - np.concatenate([[0], np.cumsum(truth)])
    )
    is_boundary = np.concatenate([[True], np.diff(ordered) > 0, [True]])
    best = int(np.where(is_boundary, n_correct, -1).argmax())
    if best == 0:
        return float(ordered[0])
    return float(ordered[-1]) + 1.0 if best == len(ordered) else float(ordered[best - 1 : best + 1].mean())


def _accuracy(
    scores: Matrix, same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], threshold: float
) -> float:
    return float(((scores >= threshold) == same).mean())
