"""Same or not: whether two cases never seen before have the same finding, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances, tie_numbers
from semblance.core.evaluation.protocols.choose_k import TrainingQueries, own_patients
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.protocols.split_protocol import SplitProtocol, random_halves
from semblance.core.evaluation.result import Measured
from semblance.core.evaluation.roc import auc, roc
from semblance.core.evaluation.scores import Matrix, Rows, votes
from semblance.core.evaluation.splits import HoldOut

if TYPE_CHECKING:
    from semblance.core.metrics.metric import Metric

#: Pairs of each kind, at most.
PAIRS = 2000
#: Neighbours among which that of the marginalised k-NN is chosen.
KS = (3, 5, 10, 20, 50, 100)
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
    ``pair_accuracy_distance``, ``pair_accuracy_marginal``: at the threshold best on as many pairs of the
    training half, where k in 3..100 is chosen too. Two cases of one patient make no pair.
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

    def measure(self, trial: Trial) -> Measured:
        """AUC and accuracy of telling pairs of one finding from pairs of two, by both answers."""
        return _measure(trial)


def balanced_pairs(findings: Rows, patients: Rows, count: int, seed: int) -> PairSet:
    """Up to ``count`` different pairs of cases of one finding, and as many of two, drawn at random.

    Cases are rows of ``findings`` (n,) and ``patients`` (n,); two of one patient make no pair.

    Raises:
        BadInput: no pair of one of the kinds.
    """
    rng = np.random.default_rng(seed)
    n = len(findings)
    kinds = []
    for same in (True, False):
        keys: Rows = np.empty(0, dtype=np.intp)
        # Rare kinds are drawn among cases that have a partner; a few rounds come close to all there are.
        for _ in range(20):
            i = rng.integers(n, size=4 * count)
            j = _partners(findings, i, same, rng)
            fine = (j >= 0) & (i != j) & (patients[i] != patients[j])
            i, j = i[fine], j[fine]
            keys = np.union1d(keys, np.minimum(i, j) * n + np.maximum(i, j))
            if len(keys) >= count:
                break
        kinds.append(rng.permutation(keys)[:count])
    fewest = min(len(kind) for kind in kinds)
    if fewest == 0:
        raise BadInput(
            "The cases make no pairs of one finding, or none of two.",
            "Cases of two findings, at least two of one, are needed in each half.",
        )
    keys = np.concatenate([kind[:fewest] for kind in kinds])
    return PairSet(keys // n, keys % n, np.repeat([True, False], fewest))


def _partners(findings: Rows, i: Rows, same: bool, rng: np.random.Generator) -> Rows:
    """For each row of ``i`` a random row of its finding, or of another; -1 where there is none."""
    order = np.argsort(findings, kind="stable")
    sizes = np.bincount(findings)
    starts = np.cumsum(sizes) - sizes
    own, start = sizes[findings[i]], starts[findings[i]]
    room = own if same else len(findings) - own
    place = (rng.random(len(i)) * room).astype(np.intp)
    # The others of a case are all places of the order but those of its finding.
    place = start + place if same else place + np.where(place >= start, own, 0)
    return np.where(room > 0, order[np.minimum(place, len(findings) - 1)], -1)


def _measure(trial: Trial) -> Measured:
    data, split, reporter = trial.data, trial.split, trial.reporter
    names, findings = np.unique(data.y, return_inverse=True)
    patients = own_patients(data)
    test = balanced_pairs(findings[split.test], patients[split.test], PAIRS, split.seed)
    train = balanced_pairs(findings[split.train], patients[split.train], PAIRS, split.seed + 1)
    training = TrainingQueries(trial, findings)
    known = _asked_only(train, training.asked)
    k = _best_k(trial, training, known, len(names))
    shares = _shares(training, k, len(names), trial)
    across = votes(
        metric_distances(trial.metric, data.X[split.test], data.X[split.train]),
        training.findings,
        findings[split.test],
        len(names),
        k=k,
        max_k=k,
        reporter=reporter,
    ).plain
    near = -_distances(trial.metric, data.X[split.test], test)
    likely = -_levels(-near)
    learnt = -_distances(trial.metric, data.X[split.train], train)
    marginal = _marginal(across, test)
    place = np.searchsorted(training.asked, np.stack([known.i, known.j]))
    inside = _marginal(shares, PairSet(place[0], place[1], known.same))
    return Measured(
        {
            "auc_distance": auc(likely, test.same),
            "auc_marginal": auc(marginal, test.same),
            "pair_accuracy_distance": _accuracy(near, test.same, _threshold(learnt, train.same)),
            "pair_accuracy_marginal": _accuracy(marginal, test.same, _threshold(inside, known.same)),
            "chosen_k": float(k),
        },
        rocs={BY_DISTANCE: roc(likely, test.same), BY_VOTES: roc(marginal, test.same)},
    )


def _asked_only(pairs: PairSet, asked: Rows) -> PairSet:
    """Those of the training half whose cases both ask the others; all, where all ask."""
    kept = np.isin(pairs.i, asked) & np.isin(pairs.j, asked)
    return PairSet(pairs.i[kept], pairs.j[kept], pairs.same[kept])


def _best_k(trial: Trial, training: TrainingQueries, pairs: PairSet, n_findings: int) -> int:
    """k of :data:`KS` by which pairs of the training half are told apart best; the smallest of equals."""
    most = max(1, len(training.findings) - 1)
    allowed = [k for k in KS if k <= most] or [most]
    if not pairs.same.any() or pairs.same.all():
        return allowed[0]
    place = np.searchsorted(training.asked, np.stack([pairs.i, pairs.j]))
    found = PairSet(place[0], place[1], pairs.same)
    areas = [auc(_marginal(_shares(training, k, n_findings, trial), found), pairs.same) for k in allowed]
    return allowed[int(np.argmax(areas))]


def _shares(training: TrainingQueries, k: int, n_findings: int, trial: Trial) -> Matrix:
    """(q, c) share of each finding among the ``k`` nearest other training cases of those that ask."""
    return votes(
        training.distances,
        training.findings,
        training.findings[training.asked],
        n_findings,
        k=k,
        max_k=k,
        query_patients=training.patients[training.asked],
        gallery_patients=training.patients,
        reporter=trial.reporter,
    ).plain


def _marginal(shares: Matrix, pairs: PairSet) -> Matrix:
    """(p,) P(same) = sum over findings of both shares."""
    chance: Matrix = np.einsum("ij,ij->i", shares[pairs.i], shares[pairs.j])
    # The shares themselves are rounded to 12 digits: equal chances made of thirds differ by as much.
    return np.round(chance, 9)


def _levels(distances: Matrix) -> Matrix:
    """(p,) numbers in the order of the distances (p,), equal where these differ by rounding alone."""
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
        asked = np.flatnonzero(pairs.i == row)
        found[asked] = distance.between(rows[row : row + 1], rows[pairs.j[asked]])[0]
    return found


def _threshold(scores: Matrix, same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    """The score from which on 'same' is said, with the most right answers; midway between two scores."""
    if not len(scores):
        return 0.0
    order = np.argsort(scores, kind="stable")
    ordered, truth = scores[order], same[order]
    # Right answers when the first t pairs are called different.
    right = np.concatenate([[0], np.cumsum(~truth)]) + truth.sum() - np.concatenate([[0], np.cumsum(truth)])
    cut = np.concatenate([[True], np.diff(ordered) > 0, [True]])
    best = int(np.where(cut, right, -1).argmax())
    if best == 0:
        return float(ordered[0])
    return float(ordered[-1]) + 1.0 if best == len(ordered) else float(ordered[best - 1 : best + 1].mean())


def _accuracy(
    scores: Matrix, same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], threshold: float
) -> float:
    return float(((scores >= threshold) == same).mean())
