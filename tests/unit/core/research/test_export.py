"""What an experiment is exported to: whole numbers, nobody's names, nothing of this machine."""

from __future__ import annotations

import csv
import io
import json
import re
import types

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.evaluation.chance import names_beside_chance
from semblance.core.research import export
from semblance.core.research.export import (
    deidentified_document,
    export_results,
    figures,
    relative_files,
    repeat_script,
)
from semblance.core.research.results import document
from semblance.core.research.run_cells import read_state
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from tests.helpers.tables import write_table
from tests.unit.core.research.test_run_cells import measure, spec


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("experiment")


@pytest.fixture(scope="module")
def state(home):
    folder = home / "Jane Doe"
    (folder / "far").mkdir(parents=True)
    one = write_table(folder / "one.csv", n=60)
    two = write_table(folder / "far" / "two_%.csv", n=60, seed=3)
    learners = ("euclidean", "lda", {"learner": "bdm", "grid": {"rounds": [1, 4]}})
    return measure(
        home / "e", spec({"table": str(one)}, {"table": str(two)}, learners=learners, protocols=(FULL,))
    )


@pytest.fixture(scope="module")
def exported(state, home):
    """The files of the export, which takes seconds of drawing."""
    return export_results(state, home / "x")


FULL = {"protocol": "full", "repeats": 2, "settings": {"draws": 20}}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_full_precision(state):
    made = document(state)
    lines = rows(export.scores_csv(made))
    assert len(lines) == sum(len(row["scores"]) for row in made["results"])
    for row in made["results"]:
        for name, score in row["scores"].items():
            line = next(
                one
                for one in lines
                if (one["cases"], one["learner"], one["score"]) == (row["cases"], row["learner"], name)
            )
            assert float(line["mean"]) == score["mean"]
            assert line["ci95_low"] == repr(score["ci95"][0])
    areas = [line for line in lines if line["score"].startswith("auc:")]
    assert all(line["delong_low"] and line["bootstrap_high"] for line in areas)
    values = rows(export.values_csv(made))
    chosen = {line["chosen"] for line in values if line["learner"].startswith("bdm")}
    assert chosen <= {"rounds=1", "rounds=4"}
    assert len(rows(export.comparisons_csv(made))) == len(made["comparisons"])
    assert len(rows(export.ranks_csv(made))) == 3 * 9
    pairs = rows(export.pairs_csv(made))
    assert len(pairs) == 3 * 9
    tested = [pair for test in made["over_tables"] for pair in test["pairs"]]
    adjusted = {(pair["score"], pair["a"], pair["b"]): pair["p_adjusted"] for pair in tested}
    assert {(one["score"], one["a"], one["b"]): float(one["p_holm"]) for one in pairs} == adjusted


def test_latex_marks_the_best_and_escapes(state):
    text = export.latex(document(state))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    assert r"two\_\%" in text
    assert r"BDM (rounds=1\textbar{}4)" in text
    assert "Retrieval accuracy @10 & Chance @10 & Macro retrieval accuracy @10 & Macro chance @10 & " in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\") and " (" in line]
    assert len(lines) == 6
    assert all(line.count("&") == 12 for line in lines)
    # No learner is better in chance.
    for score in (0, 2, *range(4, 11)):
        cells = [line.removesuffix(r" \\").split(" & ")[2 + score] for line in lines[:3]]
        means = [float(re.search(r"\d\.\d+", cell).group()) for cell in cells]
        best = min(means) if score in (8, 9) else max(means)
        assert [r"\textbf" in cell for cell in cells] == [mean == best for mean in means]
    without_escapes = re.sub(r"\\[%_&#$]", "", text)
    assert "%" not in without_escapes.split("\n", 1)[1].replace("{!}{%", "")


def test_latex_caption_has_the_number_of_splits(home, state):
    assert "over 2 splits, seed 0" in export.latex(document(state))
    table = {"table": str(home / "Jane Doe" / "one.csv")}
    folds = ({"protocol": "metricboost", "repeats": 2},)
    made = document(measure(home / "f", spec(table, protocols=folds)))
    assert "over 10 splits, seed 0" in export.latex(made)
    next((home / "f" / "cells").iterdir()).unlink()
    assert "over 5 to 10 splits, unfinished, seed 0" in export.latex(
        document(read_state(ExperimentStore.open(home / "f")))
    )


def test_latex_and_csv_have_the_same_numbers(state):
    """To the printed digits, intervals that are cut at 0 or 1 included."""
    made = document(state)
    scores = {
        (one["cases"], one["learner"], one["score"]): "{mean:.3f} ({ci95_low:.3f}--{ci95_high:.3f})".format(
            **{key: float(one[key]) for key in ("mean", "ci95_low", "ci95_high")}
        )
        for one in rows(export.scores_csv(made))
        if one["mean"] and one["ci95_low"]
    }
    assert any("--1.000" in one for one in scores.values())
    lines = [line for line in export.latex(made).splitlines() if "--" in line]
    for line, row in zip(lines, made["results"], strict=True):
        cells = line.replace(r"\textbf{", "").replace("}", "").removesuffix(r" \\").split(" & ")[2:]
        names = names_beside_chance(row["compared"], row["scores"])
        assert cells == [scores[row["cases"], row["learner"], name] for name in names]


@pytest.mark.slow
def test_scores_of_many_learners_are_drawn_for_each_table_by_itself(state):
    made = document(state)
    row = made["results"][0]
    many = {
        **made,
        "over_tables": [],
        "results": [
            {**row, "cases": cases, "learner": f"bdm (rounds={number})"}
            for cases in ("a", "b")
            for number in range(200)
        ],
    }
    plots = [plot for plot in figures(many) if "map-r" in plot.name]
    assert [plot.name for plot in plots] == ["scores-full-draws=20-map-r-a", "scores-full-draws=20-map-r-b"]
    for plot in plots:
        _score, intervals = plot.arguments
        assert len(intervals) == 200
        assert plot.image("png").startswith(b"\x89PNG")


@pytest.mark.slow
def test_deidentified_export_has_no_names_or_folders(exported, state, home, tmp_path):
    assert {file.suffix for file in exported} == {
        ".csv", ".json", ".txt", ".tex", ".sh", ".svg", ".pdf", ".png",
    }  # fmt: skip
    for file in exported:
        content = file.read_bytes()
        planted = [b"Jane Doe", str(home).encode()]
        if file.suffix in (".csv", ".json", ".txt", ".tex", ".sh"):
            planted += [b"P12", b'"c12"', b",c12,"]
        for one in planted:
            assert one not in content, (file.name, one)
    named = export_results(state, tmp_path / "y", identified=True, plots=False)
    queries = next(file for file in named if file.name == "worst_queries.csv").read_text()
    assert re.search(r",c\d+,kind", queries)


def test_specification_round_trip(exported, state, home):
    from semblance.core.workflows.research.experiments import read_spec

    again, expected = read_spec(home / "x" / "experiment-spec.json", home / "Jane Doe")
    assert again == state.spec
    assert expected == [one["fingerprint"] for one in state.cases]


def named(*files: str) -> list[str]:
    spec_of = {"cases": list(files), "learners": ["lda"], "protocols": ["bdm"]}
    return list(relative_files(ExperimentSpec.from_json(spec_of)).values())


def test_name_with_line_breaks_is_escaped_in_script_and_table():
    spec_of = {"cases": ["/x/q\ntouch PWNED #\n\nz.csv"], "learners": ["lda"], "protocols": ["bdm"]}
    text = repeat_script(types.SimpleNamespace(spec=ExperimentSpec.from_json(spec_of)))
    assert [line for line in text.splitlines() if "PWNED" in line] == [r"#   'q\ntouch PWNED #\n\nz.csv'"]
    assert export._escaped("a_b\n\nc") == r"a\_b c"


def test_file_names_have_as_few_folders_as_possible(state):
    assert sorted(relative_files(state.spec).values()) == ["one.csv", "two_%.csv"]
    assert named("/home/jane/a.csv", "/data/tables/b.csv") == ["b.csv", "a.csv"]
    assert named("/home/jane/one/a.csv", "/data/two/a.csv", "/data/b.csv") == [
        "b.csv",
        "two/a.csv",
        "one/a.csv",
    ]
    assert named("a.csv", "x/a.csv") == ["a.csv", "x/a.csv"]
    assert named("builtin:iris") == []
    assert "one.csv" in repeat_script(state)
    public = deidentified_document(document(state), state.spec)
    assert public["spec"]["cases"][0] == {"table": "one.csv"}


def test_files_are_found_in_folders_of_the_folder(tmp_path):
    (tmp_path / "x" / "y").mkdir(parents=True)
    for place in ("x/y/a[1].csv", "x/b.csv", "x/y/b.csv", "c.csv", "x/c.csv", "x/d.csv"):
        (tmp_path / place).touch()
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "d.csv").touch()
    spec_of = {
        "cases": ["a[1].csv", "b.csv", "c.csv", "d.csv", "e.csv"],
        "learners": ["lda"],
        "protocols": ["bdm"],
    }
    located = ExperimentSpec.from_json(spec_of).located(tmp_path)
    found = [str(one.table).removeprefix(f"{tmp_path}/") for one in located.cases]
    # Which of two is meant nobody knows: neither is taken.
    assert found == ["x/y/a[1].csv", "x/b.csv", "c.csv", "d.csv", "e.csv"]


@pytest.mark.slow
def test_equal_experiments_give_equal_files(exported, home, tmp_path):
    second = export_results(read_state(ExperimentStore.open(home / "e")), tmp_path / "y")
    for a, b in zip(exported, second, strict=True):
        assert a.name == b.name
        assert a.read_bytes() == b.read_bytes(), a.name


def test_export_without_finished_cells_is_refused(tmp_path):
    table = str(write_table(tmp_path / "t.csv"))
    store = ExperimentStore.create(tmp_path / "e", spec({"table": table}))
    with pytest.raises(SemblanceError, match="No cell of the experiment is finished"):
        export_results(read_state(store), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_json_is_complete(exported, home):
    made = json.loads((home / "x" / "results.json").read_text())
    assert made["complete"]
    assert made["measured_on"] == "held-out"
