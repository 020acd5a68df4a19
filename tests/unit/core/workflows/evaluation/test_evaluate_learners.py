from __future__ import annotations

import json
from dataclasses import replace

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.tasks import Cancelled
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate, evaluate_tables
from semblance.core.workflows.features.extract_features import extract_features
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import table_library, write_table

LEARNERS = ("euclidean", "bdm")
ROUNDS = ("bdm.rounds=8",)


def of_library(library, **more) -> dict:
    learners = more.pop("learners", LEARNERS)
    return evaluate(
        EvaluateRequest(learners, "bdm", library=library, **{"settings": ROUNDS, "repeats": 3, **more})
    )


@pytest.fixture
def library(tmp_path):
    return table_library(tmp_path, n=80)


def test_the_json_has_the_shape_scripts_rely_on(library):
    document = of_library(library)
    json.dumps(document, allow_nan=False)
    assert {
        "protocol", "source", "seed", "repeats", "measured_on", "results", "comparisons", "failed",
        "versions",
    } <= set(document)  # fmt: skip
    assert (document["protocol"], document["seed"], document["repeats"]) == ("bdm", 0, 3)
    assert document["measured_on"] == "held-out"
    assert document["source"] == {
        "path": str(library),
        "n_cases": 80,
        "n_features": 5,
        "findings": {"kind 0": 40, "kind 1": 40},
        "patients": "known",
        "n_patients": 40,
    }
    assert [result["learner"] for result in document["results"]] == list(LEARNERS)
    for result in document["results"]:
        assert set(result) == {
            "learner", "params", "steps", "scores", "curves", "fit_seconds", "printed", "chance_note",
        }  # fmt: skip
        assert {
            "retrieval_accuracy@1",
            "retrieval_accuracy@10",
            "auc",
            "auc:kind 1",
            "knn_accuracy@10",
        } <= set(result["scores"])
        for score in result["scores"].values():
            assert set(score) == {"mean", "std", "ci95", "values"}
            assert len(score["values"]) == 3
            assert len(score["ci95"]) == 2
            assert 0 <= score["mean"] <= 1
        assert {"retrieval_accuracy", "knn_accuracy", "roc"} <= set(result["curves"])
        for name in ("retrieval_accuracy", "knn_accuracy"):
            curve = result["curves"][name]
            assert set(curve) == {"k", "mean", "std"}
            assert len(curve["k"]) == len(curve["mean"]) == len(curve["std"])
        for curve in result["curves"]["roc"].values():
            assert set(curve) == {"fpr", "tpr"}
        assert set(result["fit_seconds"]) == {"median", "min", "max"}
    assert document["results"][1]["params"]["rounds"] == 8
    for comparison in document["comparisons"]:
        assert set(comparison) == {"a", "b", "score", "difference", "ci95", "p_value"}
    assert document["failed"] == []


def test_a_table_is_scored_like_a_library_of_it(library, tmp_path):
    by_library = of_library(library)
    by_table = evaluate(
        EvaluateRequest(LEARNERS, "bdm", table=str(tmp_path / "t.csv"), settings=ROUNDS, repeats=3)
    )
    assert by_table["source"]["path"] == str(tmp_path / "t.csv")
    for one, other in zip(by_library["results"], by_table["results"], strict=True):
        assert one["scores"] == other["scores"]
    builtin = evaluate(EvaluateRequest(("euclidean",), "bdm", table="builtin:iris", repeats=2))
    assert (builtin["source"]["n_cases"], builtin["source"]["patients"]) == (150, "unknown")


def test_the_seed_decides_and_the_rest_changes_nothing(library):
    scores = [of_library(library, seed=seed)["results"][0]["scores"] for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]


def test_findings_are_merged_and_dropped_and_cases_limited(tmp_path):
    library = table_library(tmp_path, n=120, findings=4)
    document = of_library(
        library, findings="kind 0,kind 1=low;kind 2=high;kind 3=-", max_cases=60, learners=("euclidean",),
        settings=(),
    )  # fmt: skip
    assert document["source"]["findings"] == {"high": 20, "low": 40}
    assert document["source"]["n_cases"] == 60


def test_settings_reach_the_learner_they_name(library):
    document = of_library(library, learners=("bdm", "bdm_v"), settings=("bdm.rounds=3", "bdm_v.rounds=4"))
    assert [result["params"]["rounds"] for result in document["results"]] == [3, 4]


def test_rows_of_a_table_that_cannot_be_used_are_reported(tmp_path):
    path = write_table(tmp_path / "t.csv")
    path.write_text(path.read_text().replace("\nc7,P3,", "\nc7,P3,words"))
    document = evaluate(EvaluateRequest(("euclidean",), "bdm", table=str(path), repeats=2))
    assert document["source"]["n_cases"] == 59
    assert [row["row"] for row in document["source"]["left_out"]] == ["9"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"learners": ()}, r"No learner is named.*--learner euclidean"),
        ({"learners": ("magic",), "settings": ()}, r"no learner 'magic'.*Learners: euclidean"),
        ({"protocol": "magic"}, r"no protocol .*magic.*bdm"),
        ({"features": "magic"}, r"no feature set 'magic'.*There are: raw"),
        ({"settings": ("rounds=3",)}, r"'rounds=3' does not name one of the learners.*NAME\.key=value"),
        ({"settings": ("bdm_v.rounds=3",)}, "does not name one of the learners"),
        ({"settings": ("bdm.magic=3",)}, r"'magic=3' is not a setting of bdm.*rounds"),
        ({"settings": ("bdm.rounds=many",)}, "'rounds' cannot be 'many'.*a number"),
        ({"settings": ("protocol.train_on=one",)}, r"not a setting of protocol.*its parameters: none"),
        ({"protocol": "metricboost", "settings": ("protocol.train_on=two",)}, "one of four, one"),
        ({"findings": "kind 9=x"}, "kind 9"),
        ({"findings": "kind 0"}, "does not say which findings become which"),
        ({"steps": "magic"}, "magic"),
        ({"repeats": 0}, "repeat"),
        ({"table": "builtin:iris"}, r"Specify what to evaluate.*either a library or --table"),
        ({"library": None}, r"Specify what to evaluate"),
        ({"library": None, "table": "builtin:magic"}, r"magic.*iris"),
    ],
)
def test_wrong_requests_are_reported_with_the_valid_choices(library, changes, says):
    arguments = {
        "learners": LEARNERS,
        "protocol": "bdm",
        "library": library,
        "settings": ROUNDS,
        "repeats": 2,
    }
    with pytest.raises(BadArguments, match=says):
        evaluate(EvaluateRequest(**(arguments | changes)))


@pytest.mark.parametrize("text", ["a,b,label\n1,2,x\n3,4,x\n", "a,label\n1,x\n", "a,b\n", ""])
def test_tables_nothing_can_be_learnt_from_are_reported(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(BadInput, match=r"t\.csv"):
        evaluate(EvaluateRequest(("euclidean",), "bdm", table=str(tmp_path / "t.csv")))
    with pytest.raises(BadInput, match=r"gone\.csv"):
        evaluate(EvaluateRequest(("euclidean",), "bdm", table=str(tmp_path / "gone.csv")))


def test_awkward_but_usable_numbers(tmp_path):
    """A constant column, missing values, a repeated row."""
    rows = (f"{row % 20 / 7},5,{'' if row % 9 == 0 else row % 2},{'xy'[row % 2]}" for row in range(40))
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,label", *rows]))
    document = evaluate(
        EvaluateRequest(LEARNERS, "bdm", table=str(tmp_path / "t.csv"), settings=ROUNDS, repeats=2)
    )
    assert document["failed"] == []
    json.dumps(document, allow_nan=False)


def test_several_feature_sets_need_a_name(library):
    extract_features(library, "raw", name="second")
    with pytest.raises(BadArguments, match=r"--features: raw, second"):
        of_library(library)
    assert of_library(library, features="second")["source"]["n_features"] == 5


def test_evaluating_can_be_cancelled_and_reports_progress(library):
    with pytest.raises(Cancelled):
        evaluate(
            EvaluateRequest(LEARNERS, "bdm", library=library, settings=ROUNDS),
            reporter=RecordingReporter(cancel_after=2),
        )
    recorder = RecordingReporter()
    evaluate(EvaluateRequest(LEARNERS, "bdm", library=library, settings=ROUNDS, repeats=2), reporter=recorder)
    done, total, _ = recorder.messages[-1]
    assert done == total


def test_the_protocol_has_settings_of_its_own(tmp_path):
    table = str(write_table(tmp_path / "t.csv", n=80))
    four, one = (
        evaluate(EvaluateRequest(("euclidean",), "metricboost", table=table, settings=settings))
        for settings in ((), ("protocol.train_on=one",))
    )
    assert four["split"]["n_train"] == one["split"]["n_test"] == 64
    assert set(one["results"][0]["scores"]) >= {"triplet_accuracy", "knn_accuracy@1"}


def test_printed_values_stand_beside_the_same_data_only():
    request = EvaluateRequest(("euclidean", "bdm"), "metricboost", table="builtin:wine", settings=ROUNDS)
    euclidean, bdm = evaluate(request)["results"]
    assert [(value["score"], value["value"]) for value in euclidean["printed"]] == [
        ("triplet_accuracy", 0.71),
        ("knn_accuracy@1", 0.72),
    ]
    assert bdm["printed"] == []
    fewer = evaluate(replace(request, max_cases=100))
    assert fewer["results"][0]["printed"] == []


@pytest.fixture
def tables(tmp_path):
    paths = [write_table(tmp_path / f"t{seed}.csv", seed=seed) for seed in range(4)]
    return [str(path) for path in paths]


def test_several_tables_are_each_as_alone_and_then_compared(tables):
    request = EvaluateRequest(LEARNERS, "bdm", settings=ROUNDS, repeats=2)
    recorder = RecordingReporter()
    document = evaluate_tables(request, tables, reporter=recorder)
    json.dumps(document, allow_nan=False)
    assert set(document) == {"tables", "failed_tables", "friedman", "holm"}
    alone = evaluate(replace(request, table=tables[1]))
    for key in ("source", "comparisons", "split", "compared"):
        assert document["tables"][1][key] == alone[key]
    for ours, theirs in zip(document["tables"][1]["results"], alone["results"], strict=True):
        assert ours["scores"] == theirs["scores"]
    test = document["friedman"]["retrieval_accuracy@10"]
    assert set(test) == {"tables", "ranks", "statistic", "p_value"}
    assert test["tables"] == 4
    means = [
        [one["scores"]["retrieval_accuracy@10"]["mean"] for one in table["results"]]
        for table in document["tables"]
    ]
    assert test["ranks"]["bdm"] == pytest.approx(
        sum(1.0 if b > a else 1.5 if a == b else 2.0 for a, b in means) / 4
    )
    pairs = [pair for pair in document["holm"] if pair["score"] == "retrieval_accuracy@10"]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [LEARNERS]
    assert any(what.startswith("t3.csv: ") for *_, what in recorder.messages)
    with pytest.raises(Cancelled):
        evaluate_tables(request, tables, reporter=RecordingReporter(cancel_after=2))


def test_a_table_that_cannot_be_used_is_reported_and_the_others_continue(tables, tmp_path):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\n")
    request = EvaluateRequest(("euclidean",), "bdm", repeats=2)
    document = evaluate_tables(request, [*tables[:1], str(tmp_path / "bad.csv")])
    assert len(document["tables"]) == 1
    assert [failure["path"] for failure in document["failed_tables"]] == [str(tmp_path / "bad.csv")]
    assert "bad.csv" in document["failed_tables"][0]["reason"]
    assert (document["friedman"], document["holm"]) == ({}, [])
    with pytest.raises(BadInput, match=r"None of the tables.*gone\.csv"):
        evaluate_tables(request, [str(tmp_path / "gone.csv"), str(tmp_path / "bad.csv")])


def test_wrong_requests_of_several_tables_are_refused(tables, library):
    request = EvaluateRequest(("euclidean",), "bdm")
    with pytest.raises(BadArguments, match="named twice"):
        evaluate_tables(request, [tables[0], tables[0]])
    with pytest.raises(BadArguments, match="either a library or --table"):
        evaluate_tables(replace(request, library=library), tables)
    with pytest.raises(BadArguments, match="no learner 'magic'"):
        evaluate_tables(replace(request, learners=("magic",)), tables)


def test_a_table_is_scored_as_the_settings_say_it_is_written(tmp_path):
    plain = write_table(tmp_path / "t.csv", n=40)
    foreign = tmp_path / "foreign.csv"
    rows = plain.read_text().splitlines()
    foreign.write_text(
        "\n".join([rows[0], *(row.replace(".", "#") for row in rows[1:])]).replace(",", ";").replace("#", ",")
    )
    asked = EvaluateRequest(("euclidean",), "bdm", table=str(plain), repeats=2)
    scores = evaluate(asked)["results"][0]["scores"]
    texts = ("delimiter=;", "decimal=,", "header=yes")
    assert evaluate(replace(asked, table=str(foreign), settings=texts))["results"][0]["scores"] == scores
    with pytest.raises(BadArguments, match="'header' cannot be 'maybe'"):
        evaluate(replace(asked, settings=("header=maybe",)))


def test_splits_of_a_library_leave_out_its_sealed_cases_and_say_so(tmp_path):
    """Cases are named by their own ids of the table; those that are sealed are neither trained on nor tested."""
    from semblance.core.workflows.evaluation.evaluate_learners import measure
    from semblance.core.workflows.metrics.vault import seal_listed

    library = table_library(tmp_path / "sealed", n=40)
    sealed = [f"t/c{row}" for row in range(6)]
    seal_listed(library, sealed)
    rows = {"case_id": [f"c{row}" for row in range(40)], "part": ["train"] * 24 + ["test"] * 16}
    found = measure(EvaluateRequest(("euclidean",), "bdm", library, splits=rows))
    assert "6 cases of the splits are left out: they are sealed for the final test." in map(str, found.notes)
    assert not set(found.data.case_ids.tolist()) & set(sealed)
    (named,) = found.result.splits
    assert (len(named.split.train), len(named.split.test)) == (18, 16)
    rows["part"][25] = "train"
    with pytest.raises(BadInput, match=r"t/c24 \(test\) / t/c25 \(train\)"):
        measure(EvaluateRequest(("euclidean",), "bdm", library, splits=rows))
