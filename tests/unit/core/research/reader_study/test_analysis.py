"""The analysis holds its level with simulated readers of known skill, and agrees with plain loops."""

from dataclasses import replace

import numpy as np
import pytest

from semblance.core.research.reader_study.analysis import SCORES, analyse, analyse_score, reader_scores
from semblance.core.research.reader_study.design import ReaderAnswer, ReadingArm, StudyCase, StudyDesign

ARMS = (ReadingArm("unaided", "unaided"), ReadingArm("metric", "metric", "m"))


def simulated(rng, n_arms=2, n_readers=5, n_cases=60, gain=0.0):
    """Choices, ratings, seconds and truth by the model of Roe and Metz: readers and cases vary, alone and together."""
    truth = np.arange(n_cases) % 2

    def effect(*shape, sd):
        return rng.normal(0.0, sd, shape)

    latent = effect(1, 1, n_cases, sd=0.55) + effect(n_arms, 1, n_cases, sd=0.55)
    latent = latent + effect(1, n_readers, n_cases, sd=0.45) + effect(n_arms, n_readers, n_cases, sd=0.45)
    skill = 1.5 + effect(1, n_readers, 1, sd=0.15) + effect(n_arms, n_readers, 1, sd=0.15)
    skill = skill + gain * np.arange(n_arms)[:, None, None]
    latent = latent + truth * skill + effect(1, n_readers, 1, sd=0.15)
    levels = np.digitize(latent, [-0.6, -0.1, 0.2, 0.5, 0.75, 1.0, 1.3, 1.6, 2.1]) - 4
    seconds = np.exp(3.0 + effect(1, n_readers, 1, sd=0.2) + effect(n_arms, n_readers, n_cases, sd=0.3))
    return (levels >= 1).astype(np.int64), levels.astype(float), seconds, truth


@pytest.fixture(scope="module")
def hits():
    """For each score how often the interval of the difference of two equal arms held 0."""
    rng, runs = np.random.default_rng(3), 400
    counts = dict.fromkeys(SCORES, 0)
    for _ in range(runs):
        found = reader_scores(*simulated(rng), 1, np.arange(60))
        for name, score in found.items():
            difference = analyse_score(*score).differences[0, 1]
            counts[name] += difference.low <= 0.0 <= difference.high
    return {name: count / runs for name, count in counts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("score", SCORES)
def test_the_interval_of_a_difference_covers_in_93_to_97_percent_of_simulated_studies(hits, score):
    # Two standard errors of the simulation, of 400 runs, on both sides of it.
    assert 0.93 - 0.022 <= hits[score] <= 0.97 + 0.022


def test_a_real_gain_is_found():
    found = reader_scores(*simulated(np.random.default_rng(0), n_cases=200, gain=1.0), 1, np.arange(200))
    difference = analyse_score(*found["auc"]).differences[0, 1]
    assert difference.low > 0.0 and difference.p_value < 0.05


def test_scores_and_their_jackknife_equal_plain_loops_over_patients():
    rng = np.random.default_rng(1)
    choices, ratings, seconds, truth = simulated(rng, n_readers=3, n_cases=30)
    units = rng.integers(0, 12, 30)
    units = np.unique(units, return_inverse=True)[1]
    found = reader_scores(choices, ratings, seconds, truth, 1, units)

    def auc(rating, is_positive):
        pairs = [(p > n) + 0.5 * (p == n) for p in rating[is_positive] for n in rating[~is_positive]]
        return np.mean(pairs)

    def plain(arm, reader, rows):
        chosen, true = choices[arm, reader, rows], truth[rows]
        return {
            "accuracy": np.mean(chosen == true),
            "sensitivity": np.mean(chosen[true == 1] == 1),
            "specificity": np.mean(chosen[true == 0] == 0),
            "auc": auc(ratings[arm, reader, rows], true == 1),
            "log_seconds": np.mean(np.log(seconds[arm, reader, rows])),
        }

    for name in SCORES:
        values, left = found[name]
        assert values[1, 2] == pytest.approx(plain(1, 2, np.arange(30))[name])
        for unit in range(units.max() + 1):
            assert left[1, 2, unit] == pytest.approx(plain(1, 2, np.flatnonzero(units != unit))[name])


def test_readers_who_agree_by_chance_give_no_interval_without_width():
    rng = np.random.default_rng(2)
    choices, ratings, seconds, truth = simulated(rng, n_readers=1, n_cases=40)
    twice = [np.concatenate([one, one[:, ::-1]], axis=1) for one in (choices, ratings, seconds)]
    score = analyse_score(*reader_scores(*twice, truth, 1, np.arange(40))["accuracy"])
    assert score.values[0, 0] == score.values[0, 1]
    assert score.arms[0].high - score.arms[0].low > 0.02
    assert score.differences[0, 1].high - score.differences[0, 1].low > 0.02


def design(n_readers=2):
    cases = tuple(
        StudyCase(f"c{n}", ("benign", "malignant")[n % 2], n // 2, {"metric": ("x",)}) for n in range(8)
    )
    return StudyDesign(
        ("benign", "malignant"), "malignant", cases, ARMS, tuple(f"R{n}" for n in range(n_readers))
    )


def answers(study, reader, right):
    return [
        ReaderAnswer(
            reader,
            one.number,
            one.case.finding if right(one) else "benign",
            3,
            10.0 if one.arm.name == "unaided" else 5.0,
            "2026-01-01T00:00:00+00:00",
        )
        for one in study.readings(reader)
    ]


def test_answers_reach_the_arm_and_case_they_were_given_in():
    study = design()
    # In the unaided arm everything is called benign.
    given = [
        one for reader in study.readers for one in answers(study, reader, lambda r: r.arm.kind == "metric")
    ]
    found = analyse(study, given)
    assert found.scores["accuracy"].values.tolist() == [[0.5, 0.5], [1.0, 1.0]]
    assert found.scores["sensitivity"].values.tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert np.exp(found.scores["log_seconds"].differences[0, 1].mean) == pytest.approx(0.5)
    assert [one.mean for one in found.agreement] == [1.0, 1.0]
    assert (found.n_cases, found.n_units) == (8, 4)


def test_a_reader_who_has_not_finished_does_not_count():
    study = design()
    first = answers(study, "R0", lambda _: True)
    assert analyse(study, first[:-1]) is None
    found = analyse(study, first + answers(study, "R1", lambda _: True)[:-1])
    assert found.readers == ("R0",)
    assert found.agreement is None


def test_one_arm_alone_has_no_difference():
    study = replace(design(), arms=ARMS[:1])
    found = analyse(study, answers(study, "R0", lambda one: one.number > 1))
    assert found.scores["accuracy"].differences == {}
    assert found.scores["accuracy"].p_value is None
