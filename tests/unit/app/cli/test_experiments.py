from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from semblance.app.cli.experiments import LiveReporter
from semblance.app.cli.main import run
from tests.helpers.tables import write_table


@pytest.fixture
def table(tmp_path):
    return str(write_table(tmp_path / "t.csv", n=40))


def run_command(capsys, *arguments) -> tuple[int, str, str]:
    status = run(["experiment", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "No learner is named"),
        (("--learner", "nobody"), "There is no learner 'nobody'"),
        (("--learner", "lda", "--protocol", "guess"), "There is no protocol 'guess'"),
        (("--learner", "lda,lda"), "is in the experiment twice"),
        (("--learner", "bdm", "--set", "bdm.rounds=0|5"), "'rounds' cannot be 0"),
        (("--learner", "bdm", "--set", "protocol.colour=1"), "is not a setting of a protocol"),
        (("--learner", "bdm", "--select", "best"), "'select' cannot be 'best'"),
        (("--learner", "bdm", "--train-on", "a.csv"), "Only one side"),
        (("--learner", "bdm", "--steps", "polish"), "'polish' is not a step"),
    ],
)
def test_wrong_arguments(capsys, tmp_path, table, arguments, message):
    status, out, err = run_command(capsys, "run", "--table", table, "--out", tmp_path / "e", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert not (tmp_path / "e").exists()


def test_a_description_that_is_none(capsys, tmp_path):
    file = tmp_path / "spec.json"
    usual = {"cases": ["builtin:iris"], "learners": ["lda"], "protocols": ["bdm"]}
    for values, status, message in (
        (None, 1, "is no description of an experiment"),
        ([], 2, "No table of keys"),
        ({**usual, "learners": []}, 2, "names no learners"),
        ({**usual, "colour": 1}, 2, "'colour' is not a key"),
        ({**usual, "cases": [{"table": 7}]}, 2, "'table' of the cases cannot be 7"),
        ({**usual, "cases": [{"table": "a", "library": "b"}]}, 2, "Cases are of a table or of a library"),
        ({**usual, "learners": [{"learner": "lda", "grid": 5}]}, 2, "are no table"),
        ({**usual, "protocols": [{"protocol": "bdm", "repeats": 0}]}, 2, "at least one repeat"),
        ({**usual, "steps": "pca:2"}, 2, "The steps are no list"),
        ({**usual, "seed": -1}, 2, "'seed' cannot be -1"),
        ({**usual, "fingerprints": 5}, 2, "'fingerprints' is no list"),
    ):
        text = "{" if values is None else json.dumps(values)
        file.write_text(text)
        got = run_command(capsys, "run", file, "--out", tmp_path / "e")
        assert got[0] == status, text
        assert message in got[2], text


@pytest.mark.slow
def test_run_show_and_export(capsys, tmp_path, table):
    folder = tmp_path / "e"
    options = ("--table", table, "--learner", "euclidean,lda", "--protocol", "bdm", "--repeats", 2)
    status, out, err = run_command(capsys, "run", *options, "--out", folder, "--workers", 1, "--json")
    assert (status, err) == (0, "")
    made = json.loads(out)
    assert made["complete"]
    assert {
        "experiment",
        "cells",
        "results",
        "comparisons",
        "over_tables",
        "worst_queries",
        "versions",
    } <= set(made)
    status, out, _ = run_command(capsys, "show", folder)
    assert status == 0
    assert "4 of 4 cells done, 0 failed; seed 0" in out
    assert [line.split()[1] for line in out.splitlines()[2:4]] == ["euclidean", "lda"]
    status, out, _ = run_command(capsys, "export", folder, "--to", tmp_path / "x")
    assert status == 0
    assert (tmp_path / "x" / "table.tex").is_file()
    status, out, err = run_command(capsys, "resume", tmp_path / "nothing")
    assert (status, out) == (1, "")
    assert "holds no experiment" in err


def test_the_table_grows_above_the_bars():
    reporter = LiveReporter()
    score = {"mean": 0.5, "ci95": [0.4, 0.6]}
    row = {
        "cases": "wine", "learner": "lda", "compared": ["auc"], "scores": {"auc": score},
        "repeats": {"done": 2, "of": 5},
    }  # fmt: skip
    reporter.partial({"results": [row, {**row, "scores": {}}]})
    console = Console(file=io.StringIO(), width=100)
    console.print(reporter._bars.get_renderable())
    lines = console.file.getvalue().splitlines()
    assert lines[0].split() == ["cases", "learner", "repeats", "auc"]
    assert lines[1].split() == ["wine", "lda", "2/5", "0.500", "(0.400–0.600)"]
    assert len([line for line in lines if "wine" in line]) == 1
