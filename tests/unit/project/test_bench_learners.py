"""The tables of `make bench-learners`: what it judges, what it writes, and that the command runs."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import HoldOut
from semblance.core.metrics import learners, make_learner
from tests.benchmarks.csv_files import FOLDER
from tests.benchmarks.learners import targets
from tests.benchmarks.learners.__main__ import main
from tests.benchmarks.learners.accuracy import over_rounds
from tests.benchmarks.learners.csv_tables import csv_tables
from tests.benchmarks.learners.held_out_scores import held_out_scores, triplet_accuracy
from tests.benchmarks.learners.references import EuclideanClaim, Reference, ReferenceRange, references
from tests.benchmarks.learners.tables import standardised_table
from tests.benchmarks.learners.variants import LMNN, NCA, NOT_ON_TABLES, Variant, own_variants, peer_variants

BDM = Variant("BDM", "semblance", "bdm", paper=True, faster_than_nca=True)
SLOW_REASONS = Variant("Slow", "semblance", "slow", paper=True)
PEERS = (Variant(LMNN, "metric-learn", "LMNN"), Variant(NCA, "scikit-learn", "NCA"))
SCORES = {"knn_error": 0.125, "retrieval_accuracy": 0.75, "triplet_accuracy": 0.5}


def fitted(seconds, fits=5):
    return {"seconds": seconds, "fits": [seconds] * fits, "mib": 12.3, "scores": SCORES}


def speed():
    """BDM is 100 and 1,600 times as fast as LMNN; Slow 5 times, and refused on satellite."""
    wine = {LMNN: fitted(1.0), NCA: fitted(0.3), "BDM": fitted(0.01), "Slow": fitted(0.2)}
    satellite = {LMNN: fitted(80.0, 1), NCA: fitted(6.0), "BDM": fitted(0.05), "Slow": {"failed": "no luck"}}
    return {
        "wine": {"size": "124 × 13", "rows": wine},
        "satellite": {"size": "2,000 × 36", "rows": satellite},
    }


def test_ratios_and_targets():
    found = speed()
    assert targets.times_faster(found, "wine", "BDM", LMNN) == pytest.approx(100.0)
    assert targets.times_faster(found, "satellite", "Slow", LMNN) is None
    assert targets.geometric_mean([100.0, 1600.0]) == pytest.approx(400.0)
    assert targets.geometric_mean([100.0, None]) is None
    assert targets.slow_against_lmnn(found, BDM) == []
    assert targets.slow_against_lmnn(found, SLOW_REASONS) == ["wine", "satellite"]
    assert targets.fast_on_average(found, BDM)
    assert not targets.fast_on_average(found, SLOW_REASONS)
    assert targets.slow_against_nca(found, BDM, ["satellite"]) == []


@pytest.mark.parametrize(
    ("score", "mean", "text"),
    [
        ("knn_error", 0.021, "reached"),
        ("knn_error", 0.0239, "reached"),
        ("knn_error", 0.029, "within their range"),
        ("knn_error", 0.0331, "short by 0.51 (2.5 s.e.)"),
        ("triplet_accuracy", 0.0275, "reached"),
        ("triplet_accuracy", 0.0205, "within their range"),
        ("triplet_accuracy", 0.0162, "short by 0.58 (2.9 s.e.)"),
    ],
)
def test_a_comparison_allows_one_standard_error(score, mean, text):
    known = ReferenceRange(score, 0.022, 0.028)
    assert targets.verdict(known, mean, 0.002).text == text


def test_only_rounds_count_as_repeats():
    mean, error, rounds = over_rounds((0.1, 0.3, 0.2, 0.4), 2)
    assert rounds == pytest.approx([0.2, 0.3])
    assert mean == pytest.approx(0.25)
    assert error == pytest.approx(np.std([0.2, 0.3], ddof=1) / math.sqrt(2))


def test_the_tables_say_what_was_reached_and_what_not():
    reference = Reference(
        "BDM",
        "bdm",
        "sonar",
        "bdm",
        {},
        (ReferenceRange("retrieval_accuracy@10", 0.7, 0.72),),
        note="Few cases.",
    )
    score = {"mean": 0.65, "error": 0.01, "printed": "71"}
    results = {
        "speed": speed(),
        "accuracy": {
            reference.key: {"scores": {"retrieval_accuracy@10": score}, "seconds": 0.1, "rounds": 10}
        },
        "euclidean": {
            "bdm, wine": {"mean": 0.8, "euclidean": 0.9, "difference": -0.1, "error": 0.02, "rounds": 2}
        },
        "machine": {"cores": "2"},
    }
    claim = EuclideanClaim("BDM", "bdm", "bdm", "retrieval_accuracy@10", ("wine",))
    found = csv_tables(results, [*PEERS, BDM, SLOW_REASONS], [reference], [claim])
    rows = {name: [tuple(row) for row in table[1]] for name, table in found.items()}
    scores = ("12.5", "75.0", "50.0")
    assert ("wine", "124 × 13", LMNN, "1", "5", "", "", *scores, "12", "") in rows["learners"]
    assert ("satellite", "2,000 × 36", "BDM", "0.05", "5", "1600", "120", *scores, "12", "") in rows[
        "learners"
    ]
    assert ("satellite", "2,000 × 36", "Slow", *[""] * 8, "no luck") in rows["learners"]
    assert rows["learner_means"] == [("BDM", "75.0", "1.0", "12.5", "0.03")]
    assert rows["learners_slow"] == [("Slow", "", "wine, satellite", "")]
    assert (f"at least 10 times faster than {LMNN} on every table", "1", "2") in rows["learners_targets"]
    (measured,) = rows["references"]
    assert measured[4:] == ("70–72", "65.00", "1.00", "short by 5 (5.0 s.e.)", "71", "Few cases.")
    assert [row[3:] for row in rows["euclidean"]] == [("90.00", "80.00", "-10.00", "2.00", "no")]
    assert rows["learners_machine"] == [("cores", "2")]


def test_what_was_not_measured_is_left_out():
    assert csv_tables({}, [BDM], [], []) == {}


def test_the_columns_of_every_table_of_the_help_are_those_that_are_written():
    head = (FOLDER / "learners.csv").read_text(encoding="utf-8").splitlines()[0]
    table = csv_tables({"speed": speed()}, [*PEERS, BDM], [], [])["learners"]
    assert next(csv.reader([head])) == list(table[0])


def test_every_learner_of_the_registry_takes_part_with_parameters_it_has():
    variants = own_variants()
    assert {one.learner for one in variants} | NOT_ON_TABLES >= {one.name for one in learners()}
    for one in variants:
        make_learner(one.learner, **one.parameters)
    titles = [one.title for one in [*variants, *peer_variants()]]
    assert len(set(titles)) == len(titles)


def test_references_have_keys_of_their_own():
    keys = [one.key for one in references()]
    assert len(set(keys)) == len(keys)
    for one in references():
        make_learner(one.learner, **one.parameters)


def test_held_out_scores_of_a_metric_that_tells_all():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 40)
    X = np.column_stack([100.0 * (y == "b") + rng.normal(size=80), -100.0 * (y == "b") + rng.normal(size=80)])
    split = HoldOut(np.arange(40), np.arange(40, 80), by_patient=False, seed=0)
    table = standardised_table("made up", X, y, split)
    metric = make_learner("euclidean").fit(*table.train).metric()
    scores = held_out_scores(metric, table)
    assert scores["knn_error"] == 0.0
    assert scores["retrieval_accuracy"] == 1.0
    distances = metric.distances(table.data.X[40:], table.data.X[40:])
    findings = y[40:]
    right = [
        distances[i, j] < distances[i, k]
        for i in range(40)
        for j in range(40)
        for k in range(40)
        if i != j and findings[i] == findings[j] and findings[i] != findings[k]
    ]
    assert scores["triplet_accuracy"] == pytest.approx(np.mean(right), abs=0.01)
    flat = EvaluationData(np.zeros((80, 2)), y)
    assert triplet_accuracy(metric, flat, split) == 0.0


def test_the_command_measures_all_and_a_part_measured_again_keeps_the_others(tmp_path):
    stored_file, out = tmp_path / "results.json", tmp_path / "tables"
    to = ["--quick", "--keep", str(stored_file), "--out", str(out)]
    assert main(to) == 0
    stored = json.loads(stored_file.read_text(encoding="utf-8"))
    assert set(stored) == {"machine", "speed", "accuracy", "euclidean"}
    rows = stored["speed"]["iris"]["rows"]
    assert set(rows) == {NCA, "BDM", "BDM, exact", "Euclidean"}
    assert all(row["seconds"] > 0 and set(row["scores"]) == set(SCORES) for row in rows.values())
    assert {file.stem for file in out.iterdir()} >= {
        "learners",
        "references",
        "euclidean",
        "learners_machine",
    }
    assert sorted(file.name for file in tmp_path.iterdir()) == ["results.json", "tables"]

    assert main([*to, "--only", "accuracy"]) == 0
    assert json.loads(stored_file.read_text(encoding="utf-8"))["speed"] == stored["speed"]


def test_an_unknown_part_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "there is no part 'nothing'" in capsys.readouterr().err
