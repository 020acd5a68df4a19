"""Analysis of a reader study with several readers and cases, by the method of Obuchowski and Rockette.

Obuchowski, Rockette: Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests: an ANOVA
approach with dependent observations. Communications in Statistics - Simulation and Computation 24 (1995) 285-308.
Degrees of freedom and intervals: Hillis: A comparison of denominator degrees of freedom methods for multiple observer
ROC analysis. Statistics in Medicine 26 (2007) 596-619.

The error covariances are estimated by the jackknife over patients, so that several cases of one patient count together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.agreement import fleiss_kappa
from semblance.core.research.reader_study.design import ReaderAnswer, StudyDesign

Matrix = npt.NDArray[np.float64]
#: The scores of a reader in an arm, in the order of :func:`reader_scores`. ``log_seconds``: mean of ln(time).
LOG_SECONDS = "log_seconds"
SCORES = ("accuracy", "sensitivity", "specificity", "auc", LOG_SECONDS)
_LEVEL = 0.95


@dataclass(frozen=True)
class EstimatedValue:
    """A value with its 95 % interval; ``p_value`` of no difference, for a difference."""

    mean: float
    low: float
    high: float
    p_value: float | None = None


@dataclass(frozen=True, eq=False)
class ScoreAnalysis:
    """One score over all readers and cases.

    ``values`` (a, r): of each arm and reader. ``arms``: mean over readers. ``differences``: (b, a) -> value of arm a
    minus that of arm b, for each pair a > b of arm numbers. ``p_value``: that all arms are equal; ``None`` for one arm.
    """

    values: Matrix
    arms: tuple[EstimatedValue, ...]
    differences: Mapping[tuple[int, int], EstimatedValue]
    p_value: float | None


@dataclass(frozen=True, eq=False)
class StudyAnalysis:
    """``scores`` by name (:data:`SCORES`); ``agreement``: Fleiss' kappa of each arm, ``None`` for a single reader.

    ``readers``: who answered everything; only they count. ``n_cases`` and ``n_units``: cases and patients.
    """

    scores: Mapping[str, ScoreAnalysis]
    agreement: tuple[EstimatedValue, ...] | None
    readers: tuple[str, ...]
    n_cases: int
    n_units: int


def analyse(design: StudyDesign, answers: Sequence[ReaderAnswer]) -> StudyAnalysis | None:
    """The analysis of all readers who have finished; ``None`` if there are none."""
    by_reader: dict[str, dict[int, ReaderAnswer]] = {}
    for answer in answers:
        by_reader.setdefault(answer.reader, {})[answer.number] = answer
    readings = {reader: design.readings(reader) for reader in design.readers}
    finished = tuple(
        reader for reader, all_of in readings.items() if len(by_reader.get(reader, {})) == len(all_of)
    )
    if not finished:
        return None
    shape = (len(design.arms), len(finished), len(design.cases))
    choices, ratings, seconds = np.empty(shape, dtype=np.int64), np.empty(shape), np.empty(shape)
    place_of_case = {case.case_id: place for place, case in enumerate(design.cases)}
    place_of_arm = {arm.name: place for place, arm in enumerate(design.arms)}
    for r, reader in enumerate(finished):
        for reading in readings[reader]:
            answer = by_reader[reader][reading.number]
            at = place_of_arm[reading.arm.name], r, place_of_case[reading.case.case_id]
            choices[at] = design.findings.index(answer.finding)
            # Ten ordered levels: certainly not positive ... guess not, guess positive ... certainly positive.
            ratings[at] = answer.confidence if answer.finding == design.positive else 1 - answer.confidence
            seconds[at] = answer.seconds
    truth = np.array([design.findings.index(case.finding) for case in design.cases])
    units = np.unique([case.unit for case in design.cases], return_inverse=True)[1]
    scores = reader_scores(choices, ratings, seconds, truth, design.findings.index(design.positive), units)
    return StudyAnalysis(
        {name: analyse_score(*found, is_share=name != LOG_SECONDS) for name, found in scores.items()},
        _agreement(choices, units) if len(finished) > 1 else None,
        finished,
        len(design.cases),
        int(units.max()) + 1,
    )


def reader_scores(
    choices: npt.NDArray[np.int64],
    ratings: Matrix,
    seconds: Matrix,
    truth: npt.NDArray[np.int64],
    positive: int,
    units: npt.NDArray[np.int64],
) -> dict[str, tuple[Matrix, Matrix]]:
    """Scores (a, r) with their jackknife values (a, r, u), leaving out one of u units after the other.

    ``choices``, ``ratings``, ``seconds`` are (a, r, n); ``truth`` and ``units`` (n,).
    """
    is_positive = truth == positive
    says_positive = choices == positive
    every = np.ones(len(truth), dtype=np.bool_)
    # A shorter time cannot be distinguished from a key pressed twice.
    times = np.log(np.maximum(seconds, 0.5))
    return {
        "accuracy": _mean_score((choices == truth).astype(np.float64), every, units),
        "sensitivity": _mean_score(says_positive.astype(np.float64), is_positive, units),
        "specificity": _mean_score((~says_positive).astype(np.float64), ~is_positive, units),
        "auc": _auc_score(ratings, is_positive, units),
        LOG_SECONDS: _mean_score(times, every, units),
    }


def _mean_score(
    values: Matrix, counted: npt.NDArray[np.bool_], units: npt.NDArray[np.int64]
) -> tuple[Matrix, Matrix]:
    indicator = _indicator(units) * counted
    sums, counts = values @ indicator.T, indicator.sum(axis=1)
    total, n = sums.sum(axis=-1, keepdims=True), counts.sum()
    # A unit that holds all counted cases cannot be left out; the mean stays as it is.
    left = np.where(n > counts, (total - sums) / np.maximum(n - counts, 1), total / n)
    return (total / n)[..., 0], left


def _auc_score(
    ratings: Matrix, is_positive: npt.NDArray[np.bool_], units: npt.NDArray[np.int64]
) -> tuple[Matrix, Matrix]:
    indicator = _indicator(units)
    in_positive, in_negative = indicator[:, is_positive], indicator[:, ~is_positive]
    above, below = ratings[..., is_positive, None], ratings[..., None, ~is_positive]
    placed = (above > below) + 0.5 * (above == below)
    by_positive = placed.sum(axis=-1) @ in_positive.T
    by_negative = placed.sum(axis=-2) @ in_negative.T
    both = np.einsum("up,...pn,un->...u", in_positive, placed, in_negative, optimize=True)
    total = placed.sum(axis=(-1, -2))[..., None]
    n_positive, n_negative = in_positive.sum(), in_negative.sum()
    pairs = (n_positive - in_positive.sum(axis=1)) * (n_negative - in_negative.sum(axis=1))
    mean = total / (n_positive * n_negative)
    left = np.where(pairs > 0, (total - by_positive - by_negative + both) / np.maximum(pairs, 1), mean)
    return mean[..., 0], left


def _indicator(units: npt.NDArray[np.int64]) -> Matrix:
    """(u, n) 1 where a case is of a unit."""
    out: Matrix = (units == np.arange(units.max() + 1)[:, None]).astype(np.float64)
    return out


def analyse_score(values: Matrix, jackknife: Matrix, *, is_share: bool = True) -> ScoreAnalysis:
    """Arms and their differences from scores (a, r) and their jackknife values (a, r, u).

    With one reader only the cases vary; the intervals are then over cases alone. Intervals of scores between 0 and 1
    (``is_share``) are computed on the logit scale, where they hold their level near 1.
    """
    from scipy import stats

    n_arms = len(values)
    errors = _error_covariances(jackknife)
    means = values.mean(axis=1)
    variance_of_mean, freedom_of_mean = _variances_of_means(values, errors)
    arm_interval = _estimated_share if is_share else _estimated
    arms = tuple(
        arm_interval(means[arm], variance_of_mean[arm], freedom_of_mean[arm]) for arm in range(n_arms)
    )
    if n_arms == 1:
        return ScoreAnalysis(values, arms, {}, None)
    variance, freedom = _variance_of_difference(values, errors)
    differences = {
        (one, other): _estimated(means[other] - means[one], variance, freedom, tested=True)
        for one in range(n_arms)
        for other in range(one + 1, n_arms)
    }
    # The variance of a difference is twice the error mean square by the readers.
    between = float(np.var(means, ddof=1))
    p_value = float(stats.f.sf(between / (variance / 2.0), n_arms - 1, freedom)) if variance > 0.0 else None
    return ScoreAnalysis(values, arms, differences, p_value)


@dataclass(frozen=True)
class _ErrorCovariances:
    """Means over pairs of scores: the same; one reader in two arms; two readers in one arm; both different."""

    variance: float
    arms: float
    readers: float
    both: float
    readers_by_arm: tuple[float, ...]


def _error_covariances(jackknife: Matrix) -> _ErrorCovariances:
    n_arms, n_readers, n_units = jackknife.shape
    deviations = jackknife - jackknife.mean(axis=-1, keepdims=True)
    flat = deviations.reshape(-1, n_units)
    covariance = (flat @ flat.T * (n_units - 1) / n_units).reshape(n_arms, n_readers, n_arms, n_readers)
    same_arm = np.eye(n_arms, dtype=np.bool_)[:, None, :, None] & np.ones(
        (1, n_readers, 1, n_readers), np.bool_
    )
    same_reader = np.eye(n_readers, dtype=np.bool_)[None, :, None, :] & np.ones(
        (n_arms, 1, n_arms, 1), np.bool_
    )

    def mean(chosen: npt.NDArray[np.bool_]) -> float:
        return float(covariance[chosen].mean()) if chosen.any() else 0.0

    by_arm = [
        float(part[~np.eye(n_readers, dtype=np.bool_)].mean()) if n_readers > 1 else 0.0
        for part in (covariance[arm, :, arm, :] for arm in range(n_arms))
    ]
    return _ErrorCovariances(
        mean(same_arm & same_reader),
        mean(~same_arm & same_reader),
        mean(same_arm & ~same_reader),
        mean(~same_arm & ~same_reader),
        tuple(by_arm),
    )


def _variances_of_means(values: Matrix, errors: _ErrorCovariances) -> tuple[list[float], list[float]]:
    """Variance and degrees of freedom of the mean over readers of each arm (Hillis 2007)."""
    n_arms, n_readers = values.shape
    if n_readers == 1:
        return [errors.variance] * n_arms, [np.inf] * n_arms
    variances, freedoms = [], []
    for arm in range(n_arms):
        by_cases = errors.variance - errors.readers_by_arm[arm]
        spread, freedom = _mean_square(float(np.var(values[arm], ddof=1)), n_readers - 1, by_cases)
        common = max(n_readers * errors.readers_by_arm[arm], 0.0)
        variances.append((spread + common) / n_readers)
        freedoms.append(_effective_freedom(spread, freedom, common))
    return variances, freedoms


def _variance_of_difference(values: Matrix, errors: _ErrorCovariances) -> tuple[float, float]:
    """Variance and degrees of freedom of the difference of two arms' means (Hillis 2007)."""
    n_arms, n_readers = values.shape
    if n_readers == 1:
        return 2.0 * max(errors.variance - errors.arms, 0.0), np.inf
    residual = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    free = (n_arms - 1) * (n_readers - 1)
    by_cases = errors.variance - errors.arms - errors.readers + errors.both
    interaction, freedom = _mean_square(float(np.square(residual).sum() / free), free, by_cases)
    common = max(n_readers * (errors.readers - errors.both), 0.0)
    variance = 2.0 * (interaction + common) / n_readers
    return variance, _effective_freedom(interaction, freedom, common)


def _effective_freedom(mean_square: float, freedom: float, common: float) -> float:
    """Degrees of freedom of the sum of a mean square and a part ``common`` that is taken as known."""
    if mean_square <= 0.0 or np.isinf(freedom):
        return np.inf
    return freedom * ((mean_square + common) / mean_square) ** 2


def _mean_square(observed: float, freedom: float, by_cases: float) -> tuple[float, float]:
    """A mean square over readers and its degrees of freedom, not implausibly small.

    Its expected value is at least ``by_cases``, what the cases alone contribute. A few readers may agree exactly by
    chance; an interval without width would then be wrong. What is below the 2.5 % quantile is replaced.
    """
    from scipy import stats

    if observed >= by_cases * float(stats.chi2.ppf(0.025, freedom)) / freedom:
        return observed, freedom
    return by_cases, np.inf


def _estimated(mean: float, variance: float, freedom: float, *, tested: bool = False) -> EstimatedValue:
    from scipy import stats

    error = float(np.sqrt(max(variance, 0.0)))
    reach = float(stats.t.ppf(0.5 + _LEVEL / 2.0, freedom)) * error
    p_value = None
    if tested:
        p_value = float(2.0 * stats.t.sf(abs(mean) / error, freedom)) if error > 0.0 else float(mean == 0.0)
    return EstimatedValue(float(mean), float(mean - reach), float(mean + reach), p_value)


def _estimated_share(mean: float, variance: float, freedom: float) -> EstimatedValue:
    from scipy import special

    if not 0.0 < mean < 1.0:
        return _estimated(mean, variance, freedom)
    logit = _estimated(float(special.logit(mean)), variance / (mean * (1.0 - mean)) ** 2, freedom)
    return EstimatedValue(float(mean), float(special.expit(logit.low)), float(special.expit(logit.high)))


def _agreement(choices: npt.NDArray[np.int64], units: npt.NDArray[np.int64]) -> tuple[EstimatedValue, ...]:
    """Fleiss' kappa of each arm."""
    found = [fleiss_kappa(arm, units) for arm in choices]
    return tuple(EstimatedValue(one.value, *(one.interval or (one.value, one.value))) for one in found)
