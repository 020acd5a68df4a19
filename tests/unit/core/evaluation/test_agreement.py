"""Agreement coefficients equal published values, and their intervals a jackknife written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.agreement import NOT_RATED, cohen_kappa, fleiss_kappa, krippendorff_alpha
from semblance.core.evaluation.intervals import t_quantile

#: Fleiss (1971): how many of 14 people put each of 10 patients into each of 5 classes.
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip
#: Krippendorff: Computing Krippendorff's Alpha-Reliability (2011), part C: four people, gaps.
KRIPPENDORFF = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def table(rows):
    return np.array([[NOT_RATED if c == "." else int(c) for c in row] for row in rows], dtype=np.int64)


def people(counts):
    return np.array([[c for c, n in enumerate(row) for _ in range(n)] for row in counts], dtype=np.int64).T


def own(ratings):
    return np.arange(ratings.shape[1])


def test_fleiss_kappa_of_the_paper():
    assert fleiss_kappa(people(FLEISS), np.arange(10)).value == pytest.approx(0.210, abs=5e-4)


def test_krippendorff_alpha_of_the_paper_with_gaps():
    ratings = table(KRIPPENDORFF)
    found = krippendorff_alpha(ratings, own(ratings))
    assert found.value == pytest.approx(0.743, abs=5e-4)


def test_cohen_kappa_of_two_by_two():
    """20 times both yes, 5 and 10 times one of them, 15 times both no: observed 0.7, by chance 0.5."""
    pairs = [(0, 0)] * 20 + [(0, 1)] * 5 + [(1, 0)] * 10 + [(1, 1)] * 15
    ratings = np.array(pairs, dtype=np.int64).T
    assert cohen_kappa(ratings, own(ratings)).value == pytest.approx(0.4)


def test_intervals_leave_out_one_patient_after_the_other():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    ratings = np.where(rng.random((4, 60)) < 0.7, truth, rng.integers(0, 3, (4, 60)))
    units = np.repeat(np.arange(20), 3)
    gaps = np.where(rng.random((4, 60)) < 0.2, NOT_RATED, ratings)
    for coefficient, table in (
        (fleiss_kappa, ratings),
        (cohen_kappa, ratings[:2]),
        (krippendorff_alpha, gaps),
    ):
        found = coefficient(table, units)
        left = np.array([coefficient(table[:, units != u], units[units != u]).value for u in range(20)])
        half = t_quantile(0.975, 19) * np.sqrt(19 / 20 * ((left - left.mean()) ** 2).sum())
        assert found.interval == pytest.approx((found.value - half, found.value + half))


def test_what_cannot_be_measured_is_said():
    once = table(["1.", ".2"])
    assert krippendorff_alpha(once, own(once)) is None
    assert cohen_kappa(table(["121", "122"]), np.zeros(3)).interval is None
