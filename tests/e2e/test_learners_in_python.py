"""The examples for researchers run: those of the help pages as they are printed, and the whole script."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from semblance import resources
from semblance.app.cli.main import run
from semblance.core.errors import BadInput
from semblance.core.library.importers.table import read_table
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.workflows.metrics.metric_exchange import import_metric
from semblance.core.workflows.metrics.score_metric import score_metric
from tests.helpers.tables import table_library, write_table

SCRIPT = Path(__file__).resolve().parents[1] / "examples" / "compare_learners.py"


def test_the_examples_of_the_help_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("", "de"):
        text = (resources.path("help") / folder / "python.md").read_text(encoding="utf-8")
        example = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
        found: dict[str, object] = {}
        exec(compile(example, "python.md", "exec"), found)
        assert found["distances"].shape == (3, 178)
        scores = dict(line.split() for line in capsys.readouterr().out.splitlines())
        assert float(scores["lda"]) > 0.95
        assert (tmp_path / "wine.metric").exists()


def test_the_examples_for_pairs_and_triplets_run(capsys):
    for folder in ("", "de"):
        text = (resources.path("help") / folder / "metric_learn.md").read_text(encoding="utf-8")
        (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        exec(compile(example, "metric_learn.md", "exec"), {})
        scores = dict(line.split() for line in capsys.readouterr().out.splitlines())
        assert float(scores["pairs"]) > 0.9
        assert float(scores["triplets"]) > 0.85


def test_the_script_ends_with_a_metric_that_a_library_searches_with(tmp_path, monkeypatch, capsys):
    table = write_table(tmp_path / "cases.csv", n=80, missing=True)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(table), str(tmp_path)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    said = capsys.readouterr().out
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    commands = [line.split()[1:] for line in said.splitlines() if line.startswith("  semblance ")]
    monkeypatch.chdir(tmp_path)
    assert [run(words) for words in commands] == [0, 0, 0]
    capsys.readouterr()
    assert (
        run(["search", "cases.semblance", "--metric", "best", "--case", "cases/c7", "-k", "5", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    rows = read_table(table).X
    distances = load_metric(tmp_path / "best.semblance-metric").distances(rows[7:8], rows)[0]
    for result in found["results"]:
        number = int(result["case_id"].removeprefix("cases/c"))
        assert result["distance"] == pytest.approx(distances[number], rel=1e-6)
    with pytest.raises(BadInput, match="No case was held out"):
        score_metric(tmp_path / "cases.semblance", "best")


def test_a_metric_of_other_columns_or_of_none_is_refused_with_the_remedy(tmp_path):
    library = table_library(tmp_path / "a", n=40)
    rows = np.random.default_rng(0).normal(size=(30, 5))
    fit_metric(make_learner("euclidean"), rows).save(tmp_path / "unnamed.zip")
    with pytest.raises(BadInput, match="compares cases by 5 features") as error:
        import_metric(library, tmp_path / "unnamed.zip")
    assert "data frame" in error.value.hint
    assert list((library / "metrics").iterdir()) == []
