from __future__ import annotations

import json

import pytest

from semblance.core.engine import WorkerEnded
from semblance.core.engine.cluster import SharedDataLost
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.metrics.training import versions
from semblance.core.research.results import document, live_table
from semblance.core.research.run_cells import read_state, run_cells
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from semblance.core.tasks import Cancelled
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.fuse_features import fused_features
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder
from tests.helpers.inline_runner import InlineRunner
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import table_library, write_table


def spec(*cases, learners=("euclidean", "lda"), protocols=({"protocol": "bdm", "repeats": 2},), **more):
    return ExperimentSpec.from_json(
        {"cases": list(cases), "learners": list(learners), "protocols": list(protocols), **more}
    )


@pytest.fixture
def table(tmp_path):
    return str(write_table(tmp_path / "t.csv", n=60))


def measure(folder, chosen, runner=None, **more):
    return run_cells(ExperimentStore.create(folder, chosen), runner or InlineRunner(), **more)


def without_seconds(made: dict) -> dict:
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in made["results"]]
    return {**made, "results": rows}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["bdm", "metricboost", "ccml", "online"])
def test_experiment_numbers_equal_those_of_evaluate(tmp_path, table, protocol):
    settings = ("metricboost.rounds=3",)
    chosen = spec(
        {"table": table},
        learners=("euclidean", {"learner": "metricboost", "params": {"rounds": 3}}),
        protocols=({"protocol": protocol, "repeats": 2},),
        seed=3,
    )
    rows = document(measure(tmp_path / "e", chosen))["results"]
    alone = evaluate(
        EvaluateRequest(
            ("euclidean", "metricboost"), protocol, table=table, settings=settings, repeats=2, seed=3
        )
    )["results"]
    assert len(rows) == len(alone) == 2
    for row, result in zip(rows, alone, strict=True):
        got = {name: score["values"] for name, score in row["scores"].items()}
        assert got == {name: score["values"] for name, score in result["scores"].items()}
        assert row["curves"] == result["curves"]
        assert row["params"] == result["params"]
        assert row["steps_used"] == result["steps"]


def test_a_library_and_a_table_of_the_same_cases_give_the_same(tmp_path, table):
    library = table_library(tmp_path / "l", n=60)
    chosen = spec({"library": str(library)}, {"table": table})
    rows = document(measure(tmp_path / "e", chosen))["results"]
    assert [row["cases"] for row in rows] == ["lib", "lib", "t", "t"]
    assert rows[0]["scores"] == rows[2]["scores"]
    assert rows[0]["patients"] == "known"
    assert rows[0]["split"]["by_patient"] is True


def test_finished_cells_are_not_measured_again_and_more_repeats_only_add(tmp_path, table):
    chosen = spec({"table": table})
    with pytest.raises(Cancelled):
        measure(tmp_path / "e", chosen, reporter=RecordingReporter(cancel_after=4))
    n_done = read_state(ExperimentStore.open(tmp_path / "e")).done
    assert 0 < n_done < 4
    runner = InlineRunner()
    state = measure(tmp_path / "e", chosen, runner)
    assert (len(runner.cells), state.ran, state.found) == (4 - n_done, 4 - n_done, n_done)
    more = spec({"table": table}, protocols=({"protocol": "bdm", "repeats": 3},))
    runner = InlineRunner()
    state = measure(tmp_path / "e", more, runner)
    assert [cell.repeat for cell in runner.cells] == [2, 2]
    fresh = measure(tmp_path / "f", more)
    assert without_seconds(document(state)) == without_seconds(document(fresh))


def test_other_cases_other_cells(tmp_path, table):
    measure(tmp_path / "e", spec({"table": table}))
    write_table(tmp_path / "t.csv", n=60, seed=9)
    runner = InlineRunner()
    assert measure(tmp_path / "e", spec({"table": table}), runner).found == 0
    assert len(runner.cells) == 4
    with pytest.raises(BadInput, match="does not hold the cases"):
        measure(tmp_path / "g", spec({"table": table}), expected=["0" * 64])


def test_versions_are_those_the_cells_were_measured_with(tmp_path, table):
    measure(tmp_path / "e", spec({"table": table}))
    store = ExperimentStore.open(tmp_path / "e")
    before = document(read_state(store))
    assert before["notes"] == []
    assert before["versions"] == versions()
    cell = read_state(store).cells[0].id
    store.save_cell(cell, {**store.read_cell(cell), "versions": {**versions(), "numpy": "0.9"}})
    after = document(read_state(store))
    assert after["versions"]["numpy"] == f"0.9, {versions()['numpy']}"
    assert after["versions"]["scipy"] == versions()["scipy"]
    assert f"several versions (numpy 0.9, {versions()['numpy']})" in after["notes"][0]


def test_damaged_cell_is_reported_and_measured_again(tmp_path, table):
    before = measure(tmp_path / "e", spec({"table": table}))
    files = sorted((tmp_path / "e" / "cells").iterdir())
    content = files[0].read_bytes()
    files[0].write_bytes(content[:-9] + b"1" + content[-8:])
    files[1].write_bytes(b"")
    runner = InlineRunner()
    after = measure(tmp_path / "e", spec({"table": table}), runner)
    assert {cell.id for cell in runner.cells} == {files[0].stem, files[1].stem}
    assert after.notes == ["2 finished cells were damaged and are measured again."]
    assert without_seconds(document(after)) == without_seconds({**document(before), "notes": after.notes})


def test_failing_learner_is_reported_and_the_others_continue(tmp_path, table):
    chosen = spec({"table": table}, {"table": "builtin:iris"}, learners=("euclidean", "conv_ccml"))
    state = measure(tmp_path / "e", chosen)
    made = document(state)
    assert made["complete"]
    assert made["cells"] == {"total": 8, "done": 8, "failed": 4}
    assert [bool(row["failed"]) for row in made["results"]] == [False, True, False, True]
    assert made["results"][1]["scores"] == {}
    runner = InlineRunner()
    measure(tmp_path / "e", chosen, runner)
    assert runner.cells == []
    measure(tmp_path / "e", chosen, runner, again=True)
    assert len(runner.cells) == 4


def test_a_worker_that_is_killed_does_not_end_the_experiment(tmp_path, table):
    chosen = spec({"table": table})
    runner = InlineRunner(WorkerEnded(), WorkerEnded())
    state = measure(tmp_path / "e", chosen, runner)
    assert state.done == 4
    assert document(state)["cells"]["failed"] == 0
    state = measure(tmp_path / "f", chosen, InlineRunner(*[WorkerEnded()] * 12))
    assert document(state)["cells"]["failed"] == 4


def test_cases_that_were_lost_with_a_worker_are_sent_once_more_and_no_cell_fails(tmp_path, table):
    runner = InlineRunner(*[SharedDataLost()] * 12)
    assert document(measure(tmp_path / "e", spec({"table": table}), runner))["cells"]["failed"] == 0
    assert len(runner.shared) > 1


def test_unusable_cases_are_reported_and_the_others_measured(tmp_path, table):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\n2,x\n")
    made = document(measure(tmp_path / "e", spec({"table": table}, {"table": str(tmp_path / "bad.csv")})))
    assert "only the finding" in made["cases"][1]["problem"]
    assert {row["cases"] for row in made["results"]} == {"t"}
    with pytest.raises(BadInput, match="None of the cases"):
        measure(tmp_path / "f", spec({"table": str(tmp_path / "bad.csv")}))


def test_partial_results_grow(tmp_path, table):
    reported = []
    measure(
        tmp_path / "e", spec({"table": table}), on_results=lambda state: reported.append(live_table(state))
    )
    assert reported[0]["cells"]["done"] == 0
    assert reported[-1]["complete"]
    json.dumps(reported[-1], allow_nan=False)
    assert reported[-1]["results"][0]["scores"]["auc"]["mean"] > 0.5


def test_folder_keeps_no_case_data(tmp_path, table):
    measure(tmp_path / "e", spec({"table": table}))
    (tmp_path / "e" / ".work-999999999").mkdir()
    measure(tmp_path / "e", spec({"table": table}))
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == [
        "cases.json", "cells", "experiment.json", "queries",
    ]  # fmt: skip
    patients = b"P3"
    assert not any(patients in file.read_bytes() for file in (tmp_path / "e").rglob("*.json"))


def test_folder_with_other_files_is_refused(tmp_path, table):
    with pytest.raises(SemblanceError, match="holds other files"):
        ExperimentStore.create(tmp_path, spec({"table": table}))
    with pytest.raises(BadInput, match="holds no experiment"):
        ExperimentStore.open(tmp_path)


def test_tables_are_ranked_and_compared(tmp_path, table):
    other = str(write_table(tmp_path / "u.csv", n=60, seed=5))
    made = document(measure(tmp_path / "e", spec({"table": table}, {"table": other})))
    test = next(one for one in made["over_tables"] if one["score"] == "auc")
    assert test["tables"] == 2
    assert set(test["ranks"]) == {"euclidean", "lda"}
    assert test["nemenyi"]["critical_difference"] == pytest.approx(1.960 * (2 * 3 / 12) ** 0.5, abs=1e-3)
    assert {one["cases"] for one in made["comparisons"]} == {"t", "u"}
    assert all(0 <= one["p_wilcoxon"] <= 1 for one in made["comparisons"])


def test_worst_queries_name_cases_and_findings(tmp_path, table):
    made = document(measure(tmp_path / "e", spec({"table": table})))
    worst = made["worst_queries"][0]
    means = [query["mean"] for query in worst["queries"]]
    assert means == sorted(means)
    assert worst["score"] == "retrieval_accuracy@10"
    assert worst["queries"][0]["case_id"].startswith("c")
    findings = made["worst_findings"][0]["findings"]
    assert [one["finding"] for one in findings] in (["kind 0", "kind 1"], ["kind 1", "kind 0"])


def test_several_steps_are_separate_rows_and_ranks(tmp_path, table):
    other = str(write_table(tmp_path / "u.csv", n=60, seed=5))
    chosen = spec({"table": table}, {"table": other}, steps=["", "standardise", "none"], learners=("lda",))
    made = document(measure(tmp_path / "e", chosen))
    assert [row["steps"] for row in made["results"][:3]] == ["usual steps", "standardise", "none"]
    assert [row["steps_used"] for row in made["results"][:3]] == ["standardise", "standardise", ""]
    names = {"lda, usual steps", "lda, standardise", "lda, none"}
    assert set(made["over_tables"][0]["ranks"]) == names
    assert {one["a"] for one in made["comparisons"]} < names


def test_cells_on_a_fused_set_use_its_steps(tmp_path):
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "images", n=40), library)
    extract_features(library, "pixels", settings={"size": 8}, name="small")
    extract_features(library, "pixels", settings={"size": 12}, name="large")
    assert fused_features(library, "small,large") == "small,large"
    chosen = spec({"library": str(library), "features": "small,large"}, learners=("euclidean",), seed=3)
    (row,) = document(measure(tmp_path / "e", chosen))["results"]
    (alone,) = evaluate(
        EvaluateRequest(("euclidean",), "bdm", library, None, "small,large", repeats=2, seed=3)
    )["results"]
    assert alone["steps"] == "sets"
    assert {name: score["values"] for name, score in row["scores"].items()} == {
        name: score["values"] for name, score in alone["scores"].items()
    }


def test_given_splits_are_one_cell_and_give_the_numbers_of_the_protocol_again(tmp_path, table):
    from semblance.core.research import export

    own = measure(tmp_path / "own", spec({"table": table}, protocols=({"protocol": "bdm", "repeats": 2},)))
    export.export_results(own, tmp_path / "first", identified=True, plots=False)
    given = {"table": table, "splits": str(tmp_path / "first" / "splits.csv")}
    again = measure(tmp_path / "again", spec(given, protocols=({"protocol": "bdm"},)))
    assert {cell.repeat for cell in again.cells} == {0}
    export.export_results(again, tmp_path / "second", identified=True, plots=False)
    for name in ("scores.csv", "values.csv", "comparisons.csv", "per_query.csv", "splits.csv"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name
    export.export_results(own, tmp_path / "numbered", plots=False)
    assert b"row" not in (tmp_path / "numbered" / "per_query.csv").read_bytes()


def test_splits_beside_a_number_of_repeats_or_another_table_are_refused(table):
    with pytest.raises(BadArguments, match="how many repeats"):
        spec({"table": table, "splits": "s.csv"}, protocols=({"protocol": "bdm", "repeats": 2},))
    with pytest.raises(BadArguments, match="not split"):
        spec({"table": table, "splits": "s.csv", "test": {"table": "other.csv"}})
