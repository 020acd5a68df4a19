from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from semblance.core.errors import BadInput
from semblance.core.evaluation import calibration
from semblance.core.evaluation.calibration import (
    FITS,
    MIN_CASES,
    Calibration,
    NeighbourVotes,
    calibrate,
    expected_calibration_error,
    fit_isotonic,
    fit_platt,
    log_odds,
    perfect_error,
    reliability,
)
from tests.helpers.known_probabilities import Population, interval_coverage


def test_the_error_is_the_mean_gap_of_ten_bins():
    p = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
    truth = np.array([False, True, False, True, True])
    gaps = [abs(0 - 0.05) * 1, abs(0.5 - 0.15) * 2, abs(1 - 0.975) * 2]
    assert expected_calibration_error(p, truth) == pytest.approx(sum(gaps) / 5)
    bins = reliability(p, truth)
    assert [(b.low, b.high, b.n) for b in bins] == [(0.0, 0.1, 1), (0.1, 0.2, 2), (0.9, 1.0, 2)]
    assert bins[1].observed == 0.5
    assert bins[1].interval == pytest.approx((0.0945, 0.9055), abs=1e-3)


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_error_of_a_perfect_forecaster_falls_with_cases(n):
    p = np.random.default_rng(0).beta(0.7, 0.7, n)
    found = perfect_error(p)
    assert found == pytest.approx(1.3 / n**0.5, rel=0.1)
    rng = np.random.default_rng(1)
    errors = [expected_calibration_error(p, rng.random(n) < p) for _ in range(400)]
    assert np.mean(np.array(errors) <= found) == pytest.approx(0.95, abs=0.03)
    assert perfect_error(p) == found


def drawn(seed: int, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Votes of ten, with how many cases of each have the finding."""
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 11, n)
    had = rng.random(n) < 1 / (1 + np.exp(0.6 * (5 - votes)))
    total = np.bincount(votes, minlength=11).astype(float)
    return log_odds(np.arange(11), 10), np.bincount(votes, had, minlength=11), total


def test_platt_nears_plain_logistic_regression_on_many_cases():
    odds, positive, total = drawn(0)
    X = np.concatenate([odds, odds])[:, None]
    y = np.repeat([1, 0], 11)
    plain = LogisticRegression(C=1e9, max_iter=1000).fit(
        X, y, sample_weight=np.concatenate([positive, total - positive])
    )
    assert fit_platt(odds, positive, total)(odds) == pytest.approx(
        plain.predict_proba(odds[:, None])[:, 1], abs=0.003
    )


def test_isotonic_is_that_of_scikit_learn_on_smoothed_shares():
    odds, positive, total = drawn(1, n=300)
    base = positive.sum() / total.sum()
    ours = fit_isotonic(odds, positive, total)(odds)
    theirs = IsotonicRegression().fit_transform(
        odds, (positive + base) / (total + 1), sample_weight=total + 1
    )
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("kind", FITS)
def test_probability_rises_with_votes(kind):
    rng = np.random.default_rng(2)
    for _ in range(20):
        total = rng.integers(0, 4, 11).astype(float)
        total[0] += 1
        positive = np.floor(total * rng.random(11))
        odds = log_odds(np.arange(11), 10)
        p = FITS[kind](odds, positive, total)(odds)
        assert (np.diff(p) >= -1e-12).all()
        assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("kind", FITS)
def test_vote_that_is_always_wrong_gives_no_estimate(kind):
    odds = log_odds(np.arange(11), 10)
    total = np.full(11, 100.0)
    p = FITS[kind](odds, np.linspace(100, 0, 11), total)(odds)
    assert p == pytest.approx(0.5, abs=0.01)


def test_few_equal_cases_are_not_certain():
    odds = log_odds(np.array([0, 10]), np.array([10, 10]))
    for fit in FITS.values():
        p = fit(odds, np.array([0.0, 5.0]), np.array([5.0, 5.0]))(odds)
        assert 0.0 < p[0] < 0.25
        assert 0.75 < p[1] < 1.0


def held_out(n: int = 400, seed: int = 0, patients: int | None = None, finding: str | None = "sick"):
    """Votes that exaggerate: nine of ten mean seven of ten."""
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 11, n)
    truth = rng.random(n) < 0.5 + 0.25 * np.tanh((votes - 5) / 3)
    return NeighbourVotes(
        np.arange(n) + 1000,
        votes,
        np.full(n, 10),
        truth,
        None if patients is None else rng.integers(0, patients, n),
        finding,
        "held-out patients",
    )


NAMES = ("healthy", "sick")


def test_overconfident_votes_are_calibrated():
    made = calibrate(held_out(2000), NAMES)
    for votes in (1, 5, 9):
        found = made.estimate({"sick": votes, "healthy": 10 - votes})
        chance = 0.5 + 0.25 * np.tanh((votes - 5) / 3)
        expected = chance if found.finding == "sick" else 1 - chance
        assert found.probability == pytest.approx(expected, abs=0.05)
        assert found.interval[0] <= found.probability <= found.interval[1]
        assert found.finding == ("sick" if votes >= 5 and chance >= 0.5 else "healthy") or votes == 5


def test_estimate_of_two_findings_is_of_the_leading_one():
    made = calibrate(held_out(), NAMES)
    sick, healthy = made.estimate({"sick": 8, "healthy": 2}), made.estimate({"sick": 2, "healthy": 8})
    assert (sick.finding, healthy.finding) == ("sick", "healthy")
    p, low, high = made.table[9][2]
    assert healthy.probability == pytest.approx(1 - p)
    assert healthy.interval == pytest.approx((1 - high, 1 - low))
    assert made.estimate({"healthy": 10}).finding == "healthy"


@pytest.mark.parametrize(("n", "at_least"), [(40, 0.7), (400, 0.8), (4000, 0.99)])
def test_a_query_from_elsewhere_gets_a_less_extreme_estimate_in_a_wider_interval(n, at_least):
    """None of a few held-out cases with such a count had the finding; elsewhere some have."""
    few = held_out(n)
    made = calibrate(dataclasses.replace(few, truth=few.votes >= 5), NAMES)
    for votes in range(11):
        counts = {name: n_votes for name, n_votes in (("sick", votes), ("healthy", 10 - votes)) if n_votes}
        own, other = made.estimate(counts), made.estimate(counts, is_outside=True)
        if own.finding == other.finding:
            assert other.probability <= own.probability
            assert other.interval[0] <= own.interval[0] <= own.interval[1] <= other.interval[1]
            assert other.interval[0] <= other.probability <= other.interval[1]
    certain = made.estimate({"healthy": 10}, is_outside=True)
    assert certain.probability < made.estimate({"healthy": 10}).probability
    # The more cases say it, the less is taken off.
    assert certain.probability > at_least


def test_of_several_findings_the_estimate_is_of_the_first():
    made = calibrate(held_out(finding=None), ("a", "b", "c"))
    found = made.estimate({"b": 7, "a": 2, "c": 1})
    assert (found.finding, found.probability) == ("b", made.table[9][7][0])
    assert made.estimate({"unknown": 4}) is None
    assert made.estimate({}) is None
    assert made.estimate({"b": 7, "a": 4}) is None


def test_fewer_voters_widen_the_interval():
    made = calibrate(held_out(), NAMES)
    widths = [high - low for _, low, high in (made.table[n - 1][n] for n in (2, 5, 10))]
    assert widths == sorted(widths, reverse=True)


def test_the_error_is_measured_on_cases_the_curve_was_not_fitted_on():
    votes = held_out(120, patients=40)
    made = calibrate(votes, NAMES)
    p = np.array([p for _, p, _ in made.cases])
    truth = np.array([had for _, _, had in made.cases])
    assert made.ece == pytest.approx(expected_calibration_error(p, truth))
    assert [row for row, _, _ in made.cases] == votes.rows.tolist()
    # One and the same vote gets several probabilities: each part has a curve of its own.
    assert len({p for (_, p, _), v in zip(made.cases, votes.votes, strict=True) if v == 5}) > 1
    # Cases of one patient are never on both sides: each is estimated by one curve.
    by_patient: dict[tuple[int, int], set[float]] = {}
    for (_, p, _), unit, v in zip(made.cases, votes.patients, votes.votes, strict=True):
        by_patient.setdefault((unit, v), set()).add(p)
    assert all(len(parts) == 1 for parts in by_patient.values())


def test_bins_contain_all_cases():
    made = calibrate(held_out(), NAMES)
    assert sum(one.n for one in made.bins) == made.n_cases == 400
    rows = [row for number in range(len(made.bins)) for row in made.rows_of_bin(number)]
    assert sorted(rows) == list(range(1000, 1400))
    assert [len(made.rows_of_bin(number)) for number in range(len(made.bins))] == [b.n for b in made.bins]


@pytest.mark.parametrize(
    "votes",
    [
        held_out(MIN_CASES - 1),
        dataclasses.replace(held_out(), truth=np.zeros(400, dtype=bool)),
        dataclasses.replace(held_out(), voters=np.zeros(400, dtype=int), votes=np.zeros(400, dtype=int)),
        dataclasses.replace(held_out(), patients=np.zeros(400, dtype=int)),
    ],
)
def test_too_little_to_calibrate_on_gives_none(votes):
    assert calibrate(votes, NAMES) is None


def test_calibration_round_trip_and_damage():
    made = calibrate(held_out(patients=100), NAMES)
    restored = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert Calibration.from_json(restored) == made
    for name, value in (("table", [[1]]), ("bins", 3), ("findings", []), ("ece", None)):
        with pytest.raises(BadInput, match="cannot be read"):
            Calibration.from_json({**restored, name: value})
    del restored["cases"]
    with pytest.raises(BadInput, match="Score the metric again"):
        Calibration.from_json(restored)


def test_the_same_seed_gives_the_same():
    assert calibrate(held_out(), NAMES, seed=3) == calibrate(held_out(), NAMES, seed=3)


@pytest.mark.slow
def test_the_interval_of_a_query_contains_its_probability_as_often_as_stated():
    """Over populations of several forms, each with 2,500 queries whose chances are known."""
    found = [interval_coverage(one, queries=2500, seed=7) for one in Population]
    assert 0.93 <= np.mean(found) <= 0.97, found
    assert min(found) > 0.9, found


def test_random_folds_keep_patients_on_one_side():
    rng = np.random.default_rng(1)
    n = 2 * calibration.MANY_CASES
    units = rng.integers(0, n // 3, n)
    rows = rng.permutation(5 * n)[:n]
    parts = calibration._random_folds(rows, units, 0)
    assert sorted(np.concatenate([outside for _, outside in parts]).tolist()) == sorted(rows.tolist())
    unit_of = dict(zip(rows.tolist(), units.tolist(), strict=True))
    for inside, outside in parts:
        assert not {unit_of[row] for row in inside.tolist()} & {unit_of[row] for row in outside.tolist()}
        assert abs(len(outside) - n / calibration.FOLDS) < n / calibration.FOLDS / 2
