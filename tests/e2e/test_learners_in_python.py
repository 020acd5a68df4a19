"""The examples for researchers run: those of the help pages as they are printed; metrics of Python in a library."""

from __future__ import annotations

import re

import numpy as np
import pytest

from semblance import resources
from semblance.core.errors import BadInput
from semblance.core.library.importers.table import read_table
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.steps import parse_steps
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.metric_exchange import import_metric
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.tables import table_library


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


def test_a_metric_of_python_ranks_in_a_library_with_the_same_columns(tmp_path):
    library = table_library(tmp_path / "a", n=80, missing=True)
    table = read_table(tmp_path / "a" / "t.csv")
    fitted = fit_metric(
        make_learner("bdm_v", rounds=10, random_state=0),
        table.X,
        table.findings,
        steps=parse_steps("impute,standardise"),
        feature_names=table.columns,
    )
    fitted.save(tmp_path / "best.semblance-metric")
    import_metric(library, tmp_path / "best.semblance-metric")
    found = nearest_cases(library, "best", Query("t/c7"), k=5)
    distances = load_metric(tmp_path / "best.semblance-metric").distances(table.X[7:8], table.X)[0]
    for case in found.ranked:
        assert case.distance == pytest.approx(distances[int(case.case_id.removeprefix("t/c"))], rel=1e-6)
    with pytest.raises(BadInput, match="No case was held out"):
        score_metric(library, "best")


def test_a_metric_of_other_columns_or_of_none_is_refused_with_the_remedy(tmp_path):
    library = table_library(tmp_path / "a", n=40)
    rows = np.random.default_rng(0).normal(size=(30, 5))
    fit_metric(make_learner("euclidean"), rows).save(tmp_path / "unnamed.zip")
    with pytest.raises(BadInput, match="compares cases by 5 features") as error:
        import_metric(library, tmp_path / "unnamed.zip")
    assert "data frame" in error.value.hint
    assert list((library / "metrics").iterdir()) == []
