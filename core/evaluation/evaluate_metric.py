"""The scores of one frozen metric on cases it was not fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.calibration import stored_calibration
from semblance.core.evaluation.chance import K, at_chance
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.intervals import over_findings, over_queries
from semblance.core.evaluation.neighbours import distances_after_steps
from semblance.core.evaluation.result import number_or_none
from semblance.core.evaluation.roc import auc_with_interval, is_defined, roc
from semblance.core.evaluation.scores import Matrix, mean_over_findings, mean_over_queries, retrieval_accuracy
from semblance.core.evaluation.search_rankings import SearchRankings
from semblance.core.evaluation.splits import check_leakage_between, patient_codes, patients_known
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy
from semblance.core.metrics.training_data.training_sample import stratified_sample

if TYPE_CHECKING:
    from semblance.core.metrics.card import MetricCard
    from semblance.core.metrics.distance import Distance


HELD_OUT_PATIENTS = tr_lazy("held-out patients")
HELD_OUT_CASES = tr_lazy("held-out cases, unknown patients")
#: Number of nearest cases for the last point of the curves.
MOST_RETRIEVED = 50

Numbers = tuple[float | None, ...]

Rows = npt.NDArray[np.intp]

#: Maximum number of queries, and the minimum if there are so many. A share of .8 is then known to within .012 and
#: .025.
MOST, FEWEST = 4_000, 1_000
#: Pairs of a query and a case that are compared at most, as far as FEWEST allows.
MOST_PAIRS = 200_000_000


@dataclass(frozen=True)
class IntervalCurve(JsonDocument):
    """A score at k = 1, 2, ...: the mean over queries and its 95 % interval (``None``: undefined, or all
    queries have the same score)."""

    JSON_STRICT: ClassVar[bool] = True

    k: tuple[int, ...]
    mean: Numbers
    low: Numbers
    high: Numbers

    def __post_init__(self) -> None:
        if not self.k or not len(self.k) == len(self.mean) == len(self.low) == len(self.high):
            raise ValueError("a curve of unequal lengths")

    def at(self, k: int) -> tuple[float | None, float | None, float | None]:
        """Mean, low and high at ``k``, or at the largest k there is."""
        index = min(k, len(self.k)) - 1
        return self.mean[index], self.low[index], self.high[index]


@dataclass(frozen=True)
class FindingRoc(JsonDocument):
    """One finding against the rest: corners of the curve, area, and its 95 % interval after DeLong."""

    JSON_STRICT: ClassVar[bool] = True

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    auc: float
    ci95: tuple[float, float] | None

    def __post_init__(self) -> None:
        if len(self.fpr) != len(self.tpr):
            raise ValueError("a curve of unequal lengths")


@dataclass(frozen=True)
class FindingScore(JsonDocument):
    """Retrieval accuracy @ ``k`` of ``n`` queries, with one finding or as the mean over findings: mean and 95 %
    interval (``None``: undefined)."""

    JSON_STRICT: ClassVar[bool] = True

    n: int
    k: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MetricScores(JsonDocument):
    """Scores of one metric for searches with held-out cases among all other cases of the library.

    ``retrieval_accuracy`` of the nearest cases; ``ceiling``: the largest that any order reaches at each k, and
    ``chance``: the expected one of a random order: the mean over queries of the share of their finding among the cases
    that the search can rank, without the query's patient and same-lesion group, each other group counted once.
    ``macro``: the accuracy as the mean over findings, and ``macro_chance`` its chance. ``knn_accuracy``, ``roc``: of
    the plain vote, for the ROC of the ``voters`` nearest. ``mean_auc`` is the mean over findings of the areas in
    ``roc`` (``None`` if undefined). ``findings`` counts the held-out cases of each finding. ``by_finding``: the
    accuracy for each finding. ``confusion[i][j]``: number of cases of the i-th finding (by name) for which most of
    the ``voters`` nearest cases have the j-th; ties go to the nearer cases.
    ``n_queries``: number of held-out cases that were queries; 0 stands for all.
    ``gallery``: the number of cases searched.
    """

    #: As stored in the library.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "measured_on",
        "n_train",
        "n_test",
        "n_queries",
        "findings",
        "voters",
        "seed",
        ("auc", "mean_auc"),
        "gallery",
        ("retrieval_ceiling", "ceiling"),
        ("retrieval_chance", "chance"),
        ("macro_retrieval_chance", "macro_chance"),
        ("macro_retrieval_accuracy", "macro"),
        "beats_chance",
        "retrieval_accuracy",
        "knn_accuracy",
        "roc",
        "by_finding",
        "confusion",
    )
    JSON_STRICT: ClassVar[bool] = True

    measured_on: str
    n_train: int
    findings: Mapping[str, int]
    voters: int
    seed: int
    retrieval_accuracy: IntervalCurve
    knn_accuracy: IntervalCurve
    mean_auc: float | None
    roc: Mapping[str, FindingRoc]
    gallery: int
    by_finding: Mapping[str, FindingScore] = field(default_factory=dict)
    confusion: tuple[tuple[int, ...], ...] = ()
    n_queries: int = 0
    ceiling: Numbers = ()
    chance: float | None = None
    macro: FindingScore | None = None
    macro_chance: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_queries", self.n_queries or self.n_test)

    @property
    def worst(self) -> tuple[str, FindingScore] | None:
        """The finding with the lowest accuracy, and its score; ``None`` where none is known."""
        known = [(one.mean, name) for name, one in self.by_finding.items() if one.mean is not None]
        return (min(known)[1], self.by_finding[min(known)[1]]) if known else None

    @property
    def beats_chance(self) -> bool | None:
        """Whether the 95 % interval of the accuracy, or of its mean over findings, lies above chance; ``None`` where
        the scores do not say."""
        if self.macro is None or self.chance is None or self.macro_chance is None:
            return None
        found = [
            (mean if low is None else low) > chance
            for (mean, low, _), chance in (
                (self.retrieval_accuracy.at(K), self.chance),
                ((self.macro.mean, self.macro.low, self.macro.high), self.macro_chance),
            )
            if mean is not None
        ]
        return any(found) if found else None

    @property
    def sampled_queries(self) -> int | None:
        """Number of held-out cases that were queries, if these are a sample; ``None``: all."""
        return self.n_queries if self.n_queries < self.n_test else None

    @property
    def n_test(self) -> int:
        """Number of held-out cases."""
        return sum(self.findings.values())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The scores that a library keeps.

        Raises:
            BadInput: data of another form.
        """
        try:
            return super().from_json(data)
        except ValueError as problem:
            raise BadInput(
                "The stored scores of the metric cannot be read.", "Evaluate the metric again."
            ) from problem


def stored_scores(scores: Mapping[str, Any] | None) -> MetricScores | None:
    """The ``scores`` that a library keeps of a metric; ``None`` if there are none that can be read."""
    try:
        return MetricScores.from_json(scores) if scores else None
    except BadInput:
        return None


def chance_note(scores: MetricScores | None) -> str:
    """The sentence on a metric whose scores are not above chance; "" where they are, or do not say."""
    if scores is None or scores.beats_chance is not False:
        return ""
    return at_chance(scores.retrieval_accuracy.at(K)[0], scores.chance)


def card_scores(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The fields ``scores`` and ``measured_on`` of a metric's card, from the ``scores`` that a library keeps of it:
    retrieval accuracy @10, or at the largest k there is, with its mean over findings, worst finding and chance, AUC
    and calibration error."""
    accuracies = scores["retrieval_accuracy"]["mean"]
    k = min(K, len(accuracies))
    found: dict[str, Any] = {f"retrieval_accuracy@{k}": accuracies[k - 1]}
    measured = MetricScores.from_json(scores)
    if measured.chance is not None:
        found[f"chance@{k}"] = measured.chance
    if measured.macro is not None:
        found[f"macro_retrieval_accuracy@{k}"] = measured.macro.mean
        found[f"macro_chance@{k}"] = measured.macro_chance
    if measured.worst is not None:
        found[f"worst_finding@{k}"] = measured.worst[1].mean
    found["auc"] = scores["auc"]
    calibration = stored_calibration(scores)
    if calibration is not None:
        found["calibration_error"] = calibration.ece
    return {"scores": found, "measured_on": scores["measured_on"]}


def scored_card(card: MetricCard, scores: Mapping[str, Any] | None) -> MetricCard:
    """``card`` with the ``scores`` that the library keeps now: the metric's own are those of its training."""
    return replace(card, **card_scores(scores)) if scores else card


def held_out_queries(data: EvaluationData, train: Rows, test: Rows, seed: int) -> Rows:
    """(q,) the rows of ``data`` to search with: ``test``, or of many a sample (:func:`sampled_queries`).

    Raises:
        BadInput: a case or a patient is on both sides, or a side is empty.
    """
    check_leakage_between(train, test, data.units, data.n_cases)
    if not len(train) or not len(test):
        raise BadInput(
            "No case was held out from training.", "Hold out some cases, to measure the metric on."
        )
    findings = np.unique(data.y[test], return_inverse=True)[1]
    queries: Rows = test[sampled_queries(findings, data.n_cases, seed)]
    return queries


def score_rankings(
    rankings: SearchRankings,
    data: EvaluationData,
    train: Rows,
    test: Rows,
    *,
    voters: int = 10,
    seed: int = 0,
) -> MetricScores:
    """The scores of ``rankings`` of the rows of ``data`` that :func:`held_out_queries` gave.

    Intervals over queries are bootstrapped (whole patients where they are known), seeded by ``seed``.
    """
    names, findings = rankings.gallery.names, rankings.findings
    units = patient_codes(data.units, data.n_cases)
    patients = None if units is None else units[rankings.queries]
    retrieval = rankings.retrieval_accuracy
    voters = min(voters, rankings.nearest.shape[1])
    voted = rankings.voted()
    curves = _curves(rankings.votes(voters), findings, names, patients)
    known = patients_known(None if data.groups is None else data.groups[np.concatenate([train, test])])
    return MetricScores(
        measured_on=HELD_OUT_PATIENTS if known else HELD_OUT_CASES,
        n_train=len(train),
        findings=dict(zip(*(v.tolist() for v in np.unique(data.y[test], return_counts=True)), strict=True)),
        voters=voters,
        seed=seed,
        retrieval_accuracy=_with_interval(retrieval, patients, seed),
        knn_accuracy=_with_interval((voted == findings[:, np.newaxis]).astype(np.float64), patients, seed),
        mean_auc=float(np.mean([curve.auc for curve in curves.values()])) if curves else None,
        roc=curves,
        by_finding=_by_finding(retrieval, findings, names, patients, seed),
        confusion=_confusion(voted[:, voters - 1], findings, len(names)),
        n_queries=len(rankings.queries),
        gallery=data.n_cases,
        ceiling=tuple(number_or_none(value) for value in mean_over_queries(rankings.ceiling).tolist()),
        chance=number_or_none(float(mean_over_queries(rankings.chance[:, np.newaxis])[0])),
        macro=_macro(retrieval, findings, patients, seed),
        macro_chance=number_or_none(float(mean_over_findings(rankings.chance[:, np.newaxis], findings)[0])),
    )


def accuracy_after_steps(
    distance: Distance, rows: Matrix, findings: Rows, patients: Rows | None, lesions: Rows | None, k: int = 10
) -> float | None:
    """Retrieval accuracy @ ``k`` inside rows (n, m) after the steps: a point of the training curve."""
    distances = distances_after_steps(distance, rows, rows, lesions)
    curve = mean_over_queries(retrieval_accuracy(distances, findings, patients, k))
    return number_or_none(float(curve[-1]))


def _curves(
    votes: Rows, query_findings: Rows, names: Sequence[str], patients: Rows | None
) -> dict[str, FindingRoc]:
    curves = {}
    given = np.maximum(votes.sum(axis=1), 1)
    for finding, name in enumerate(names):
        positive = query_findings == finding
        if is_defined(positive):
            shares = votes[:, finding] / given
            corners, area = roc(shares, positive), auc_with_interval(shares, positive, patients)
            curves[name] = FindingRoc(
                tuple(corners.fpr.tolist()),
                tuple(corners.tpr.tolist()),
                area.auc,
                _nonempty_interval(area.ci95),
            )
    return curves


def _by_finding(
    retrieval: Matrix, query_findings: Rows, names: Sequence[str], patients: Rows | None, seed: int
) -> dict[str, FindingScore]:
    """Retrieval accuracy @ :data:`K`, or the largest k there is, of the queries of each finding."""
    k = min(K, retrieval.shape[1])
    out = {}
    for finding, name in enumerate(names):
        rows = np.flatnonzero(query_findings == finding)
        if len(rows):
            groups = None if patients is None else patients[rows]
            mean, low, high = over_queries(retrieval[rows, k - 1 : k], seed=seed, groups=groups)
            ends = _nonempty_interval((float(low[0]), float(high[0]))) or (None, None)
            out[name] = FindingScore(len(rows), k, number_or_none(float(mean[0])), *ends)
    return out


def _macro(retrieval: Matrix, findings: Rows, patients: Rows | None, seed: int) -> FindingScore:
    """The mean over findings of their retrieval accuracy @ :data:`K`, or the largest k there is."""
    k = min(K, retrieval.shape[1])
    mean, *found = over_findings(retrieval[:, k - 1], findings, seed=seed, groups=patients)
    ends = _nonempty_interval((found[0], found[1])) or (None, None)
    return FindingScore(len(findings), k, number_or_none(mean), *ends)


def _confusion(voted: Rows, query_findings: Rows, n_findings: int) -> tuple[tuple[int, ...], ...]:
    counts = np.zeros((n_findings, n_findings), dtype=np.int64)
    has_votes = voted >= 0
    np.add.at(counts, (query_findings[has_votes], voted[has_votes]), 1)
    return tuple(tuple(row) for row in counts.tolist())


def _with_interval(per_query: Matrix, patients: Rows | None, seed: int) -> IntervalCurve:
    mean, low, high = (values.tolist() for values in over_queries(per_query, seed=seed, groups=patients))
    ends = [_nonempty_interval(pair) or (None, None) for pair in zip(low, high, strict=True)]
    return IntervalCurve(
        tuple(range(1, len(mean) + 1)),
        tuple(number_or_none(value) for value in mean),
        tuple(pair[0] for pair in ends),
        tuple(pair[1] for pair in ends),
    )


def _nonempty_interval(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """The interval; ``None`` if its ends are equal. If all cases have the same score, the bootstrap gives no
    information."""
    return ends if ends is not None and ends[0] < ends[1] else None


def query_limit(n_cases: int) -> int:
    """The number of queries that ``n_cases`` are compared with at most: 4,000, and fewer beyond 50,000 cases."""
    return max(FEWEST, min(MOST, MOST_PAIRS // max(1, n_cases)))


def sampled_queries(findings: Rows, n_cases: int, seed: int) -> Rows:
    """Which of the held-out cases with ``findings`` (t,) are queries: all, or a stratified sample of
    :func:`query_limit`."""
    limit = max(query_limit(n_cases), len(np.unique(findings)))
    return np.arange(len(findings)) if len(findings) <= limit else stratified_sample(findings, limit, seed)
