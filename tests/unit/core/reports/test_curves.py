from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.reports.curves import (
    ACCURACY,
    ROC,
    TRAINING,
    AccuracyCurve,
    RocCurve,
    TrainingCurve,
    curves_csv,
    describe_curves,
    interval_text,
    relative_objective,
)

ACCURATE = AccuracyCurve(
    "A", (1, 5, 10, 20), (0.9, 0.85, 0.8, None), (0.8, 0.75, 0.7, None), (1.0, 0.9, 0.88, None)
)
AREA = RocCurve("R", (0.0, 0.2, 1.0), (0.0, 0.7, 1.0), 0.75, 0.6, 0.9, current=True)
COURSE = TrainingCurve("T", (1, 2, 3, 4), (10.0, 5.0, 2.5, 1.0), (0.6, None, 0.8, 0.8))


def test_the_value_at_k_is_that_of_the_largest_k_there_is():
    assert ACCURATE.at(10)[:2] == (10, 0.8)
    assert ACCURATE.at(7)[:2] == (5, 0.85)
    assert ACCURATE.at(100)[:2] == (20, None)


def test_the_best_round_is_the_first_of_equals_and_passes_over_gaps():
    assert COURSE.best == (3, 0.8)
    assert TrainingCurve("T", (1,), (1.0,), (None,)).best is None


def test_the_objective_is_reported_as_a_share_of_its_start():
    assert relative_objective([4.0, 2.0, 1.0]).tolist() == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("values", [[-1.0, -3.0, -5.0], [2.0, 0.0, -2.0], [0.0, -1.0, -2.0]])
def test_an_objective_below_zero_falls_from_one_to_zero_too(values):
    assert relative_objective(values).tolist() == [1.0, 0.5, 0.0]


def test_an_objective_with_gaps_keeps_them():
    relative = relative_objective([None, 2.0, math.inf, 1.0, math.nan])
    np.testing.assert_array_equal(relative, [np.nan, 1.0, np.nan, 0.5, np.nan])
    assert np.isnan(relative_objective([None, math.nan])).all()
    assert relative_objective([]).size == 0
    assert relative_objective([-3.0, -3.0]).tolist() == [0.0, 0.0]


def test_csv_has_a_line_for_every_point_and_says_on_what_it_was_measured():
    rows = list(
        csv.DictReader(io.StringIO(curves_csv(ACCURACY, [ACCURATE], measured_on="held-out patients")))
    )
    assert [row["k"] for row in rows] == ["1", "5", "10", "20"]
    assert rows[3]["retrieval_accuracy"] == ""
    assert {row["measured_on"] for row in rows} == {"held-out patients"}
    known = replace(ACCURATE, current=True, ceiling=(1.0, 1.0, 0.9, 0.5), chance=0.25)
    rows = list(csv.DictReader(io.StringIO(curves_csv(ACCURACY, [known]))))
    assert [(row["ceiling"], row["chance"]) for row in rows][2:] == [("0.9", "0.25"), ("0.5", "0.25")]
    assert describe_curves([known]).endswith("At most 0.90 can be reached, chance gives 0.25.")
    roc = list(csv.DictReader(io.StringIO(curves_csv(ROC, [AREA]))))
    assert [row["sensitivity"] for row in roc] == ["0.0", "0.7", "1.0"]
    assert {row["auc"] for row in roc} == {"0.75"}
    course = list(csv.DictReader(io.StringIO(curves_csv(TRAINING, [COURSE]))))
    assert [row["held_out_accuracy_at_10"] for row in course] == ["0.6", "", "0.8", "0.8"]


def test_a_name_cannot_become_a_formula():
    text = curves_csv(ROC, [RocCurve("=HYPERLINK(1)", (0.0, 1.0), (0.0, 1.0), 0.5, None, None)])
    assert text.splitlines()[1].startswith("'=HYPERLINK")


def test_plots_have_a_text_description():
    assert describe_curves([ACCURATE, AREA, COURSE]) == (
        "A: accuracy at 10 is 0.80, 95 % interval 0.70 to 0.88. "
        "R (current): area under the curve 0.75, 95 % interval 0.60 to 0.90. "
        "T: 4 rounds, best held-out accuracy 0.80 in round 3."
    )
    assert describe_curves([]) == "Nothing to show yet."


def test_intervals_are_written_only_where_there_is_one():
    assert interval_text(0.831, 0.78, 0.874) == "0.83 (0.78–0.87)"
    assert interval_text(0.831, None, None) == "0.83"
    assert interval_text(None, None, None) == "–"
