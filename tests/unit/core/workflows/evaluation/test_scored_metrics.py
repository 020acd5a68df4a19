from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.evaluation.evaluate_metric import HELD_OUT_CASES
from semblance.core.library.case_columns import case_columns
from semblance.core.library.metric_scores import CHANGED_FINDINGS
from semblance.core.workflows.evaluation.scored_metrics import (
    MOST_DRAWN,
    accuracy_curves,
    calibration_curves,
    is_stale,
    least_trusted,
    plotted_metrics,
    roc_curves,
    roc_findings,
    scored_metrics,
    scores_csv,
    sensitivity_interval,
    training_curves,
)
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder
from tests.helpers.scored_snapshots import CASES, TRAINED, metric, snapshot, with_calibration

BOARD = snapshot(
    metric("plain", 0.6, learner="euclidean", rounds=0),
    metric("new", 0.8),
    metric("never scored", None),
    metric("outdated", 0.9, n_test=20),
    metric("second", 0.7),
)


def test_the_best_comes_first_and_stale_ones_last():
    assert [m.name for m in scored_metrics(BOARD)] == ["new", "second", "plain", "outdated", "never scored"]


def test_stale_is_what_was_measured_on_other_cases_or_never():
    stale = {m.name: m.stale for m in scored_metrics(BOARD)}
    assert stale == {"new": False, "second": False, "plain": False, "outdated": True, "never scored": True}


def test_scores_measured_with_other_findings_are_stale():
    current = metric("m", 0.8)
    assert not is_stale(current, snapshot(current))
    for changed, stale in (({"a/1.png": "benign"}, True), ({}, False)):
        later = replace(current, scores={**current.scores, CHANGED_FINDINGS: changed})
        assert is_stale(later, snapshot(later)) == stale


def test_where_the_columns_cannot_tell_nothing_is_called_stale():
    mapped = metric("mapped", 0.8, n_test=10, card={"findings_map": "normal=benign"})
    assert not scored_metrics(snapshot(mapped))[0].stale
    other = metric("other features", 0.8, n_test=10)
    missing = scored_metrics(snapshot(type(other)(**{**vars(other), "features": "gone"})))
    assert not missing[0].stale


def test_plots_show_the_current_the_plain_distance_and_the_best():
    shown = [(m.name, line) for m, line in plotted_metrics(scored_metrics(BOARD), "second")]
    assert shown == [("second", None), ("plain", 0), ("new", 1)]
    assert [m.name for m, _ in plotted_metrics(scored_metrics(BOARD), "outdated")] == [
        "outdated",
        "plain",
        "new",
        "second",
    ]
    many = scored_metrics(snapshot(*(metric(f"m{n}", 0.5 + n / 100) for n in range(12))))
    assert [m.name for m, _ in plotted_metrics(many, "m0")] == ["m0", "m11", "m10", "m9", "m8"]
    assert len(plotted_metrics(many, "m0")) == MOST_DRAWN


def test_curves_carry_what_the_library_keeps():
    metrics = scored_metrics(BOARD)
    first, *others = accuracy_curves(metrics, "new", max_k=20)
    assert (first.label, first.current, len(first.k)) == ("new", True, 20)
    assert first.at(10)[1] == pytest.approx(0.78)
    assert [(c.label, c.line, c.current) for c in others] == [("plain", 0, False), ("second", 1, False)]
    roc = roc_curves(metrics, "new", "malignant")
    assert [c.label for c in roc] == ["new", "plain", "second"]
    assert all(low <= tpr <= high for low, tpr, high in zip(roc[0].low, roc[0].tpr, roc[0].high, strict=True))
    assert roc_curves(metrics, "new", "cyst") == ()
    (course,) = training_curves(metrics, "new")
    assert course.rounds == tuple(range(1, 31))
    assert course.heldout_accuracy[1] is None
    assert training_curves(metrics, "plain") == ()


def test_a_stale_current_metric_is_drawn_as_such():
    (curve, *_) = accuracy_curves(scored_metrics(BOARD), "outdated")
    assert curve.current
    assert curve.stale


def test_the_weakest_provenance_is_shown_for_all():
    metrics = scored_metrics(
        snapshot(metric("known", 0.8), metric("unknown", 0.7, measured_on=HELD_OUT_CASES))
    )
    assert [m.measured for m in metrics] == ["held-out", "unknown"]
    assert least_trusted(metrics) == "unknown"
    assert least_trusted([]) == "held-out"
    (trained,) = scored_metrics(snapshot(metric("trained", 0.9, measured_on="training cases")))
    assert trained.measured == "training"


def test_findings_are_in_the_order_of_the_library():
    metrics = scored_metrics(snapshot(metric("m", 0.8, findings=("a", "malignant", "z"))))
    assert roc_findings(metrics, ("malignant", "z", "unheard of")) == ["malignant", "z", "a"]


@pytest.mark.parametrize(
    "broken",
    [
        {"measured_on": "held-out patients"},
        {"retrieval_accuracy": {"k": [1], "mean": [], "low": [], "high": []}},
        {"training_curve": "none"},
    ],
)
def test_scores_that_cannot_be_read_are_none(broken):
    record = metric("m", 0.8)
    scores = broken if len(broken) == 1 and "measured_on" in broken else {**record.scores, **broken}
    (read,) = scored_metrics(snapshot(type(record)(**{**vars(record), "scores": scores})))
    if "training_curve" in broken:
        assert read.training is None
        assert read.scores is not None
    else:
        assert read.scores is None
        assert read.stale


@pytest.mark.parametrize("points", [[[1, 2.0]], [[1, "x", None]], [[None, 1.0, 1.0]], [5]])
def test_a_training_curve_that_cannot_be_read_is_none(points):
    record = metric("m", 0.8)
    scores = {**record.scores, "training_curve": points}
    assert scored_metrics(snapshot(type(record)(**{**vars(record), "scores": scores})))[0].training is None


def test_the_interval_of_a_sensitivity_is_wilsons():
    low, high = sensitivity_interval([0.0, 0.8, 1.0], 10)
    np.testing.assert_allclose(low, [0.0, 0.4902, 0.7225], atol=1e-4)
    np.testing.assert_allclose(high, [0.2775, 0.9433, 1.0], atol=1e-4)
    assert sensitivity_interval([0.5], 0) == ((), ())


def test_held_out_are_cases_with_a_finding_of_no_training_patient():
    columns = case_columns(
        [10, 20, 30, 40, 50, 60],
        list("abcdef"),
        ["x", "x", None, "y", "y", "x"],
        ["P1", "P1", "P2", None, None, "P3"],
        [0] * 6,
    )
    assert columns.count_held_out(np.array([10])) == 3
    assert columns.count_held_out(np.array([40])) == 4
    assert columns.count_held_out(np.array([10]), (40, 99)) == 2
    assert columns.count_held_out(np.array([], dtype=np.int64)) == 5
    assert columns.count_held_out(np.array([35, 999])) == 5


def test_the_table_has_every_metric_and_on_what_it_was_measured():
    rows = list(csv.DictReader(io.StringIO(scores_csv(scored_metrics(BOARD)))))
    assert [row["metric"] for row in rows] == ["new", "second", "plain", "outdated", "never scored"]
    assert float(rows[0]["accuracy_at_10"]) == pytest.approx(0.78)
    assert (rows[0]["n_train"], rows[0]["n_held_out"], rows[0]["seed"]) == (
        str(TRAINED),
        str(CASES - TRAINED),
        "7",
    )
    assert [row["measured_on"] for row in rows][2:] == ["held-out patients", "held-out patients, stale", ""]


@pytest.mark.parametrize("patients", [True, False])
def test_a_metric_is_stale_once_there_are_new_cases_until_it_is_scored_again(tmp_path, patients):
    library = tmp_path / "striped.semblance"
    import_source(striped_folder(tmp_path / "first", n=32, patients=patients), library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 5}))
    (before,) = scored_metrics(read_snapshot(library))
    assert not before.stale
    assert before.measured == ("held-out" if patients else "unknown")
    assert before.training is not None

    import_source(striped_folder(tmp_path / "second", n=12, seed=1, patients=False), library)
    extract_features(library, "colour_edge_texture")
    assert scored_metrics(read_snapshot(library))[0].stale
    score_metric(library, "mine")
    (after,) = scored_metrics(read_snapshot(library))
    assert not after.stale
    assert after.training == before.training


def test_the_calibration_of_the_current_metric_is_a_curve_and_a_number():
    board = snapshot(with_calibration(metric("sure", 0.8)), metric("old", 0.7))
    metrics = scored_metrics(board)
    (curve,) = calibration_curves(metrics, "sure")
    made = metrics[0].calibration
    assert curve.n == tuple(one.n for one in made.bins)
    assert sum(curve.n) == CASES - TRAINED
    assert curve.ece == metrics[0].ece == made.ece
    assert curve.finding == "malignant"
    assert calibration_curves(metrics, "old") == ()
    rows = list(csv.DictReader(io.StringIO(scores_csv(metrics))))
    assert [row["calibration_error"] == "" for row in rows] == [False, True]


def test_a_calibration_that_cannot_be_read_counts_as_none():
    broken = with_calibration(metric("sure", 0.8))
    broken.scores["calibration"]["table"] = "?"
    (scored,) = scored_metrics(snapshot(broken))
    assert scored.calibration is None


def test_one_metric_can_be_checked_for_staleness():
    assert not is_stale(BOARD.metrics[0], BOARD)
    assert is_stale(BOARD.metrics[3], BOARD)
