"""A paper's page: printed values beside ours, where they lie, and what cannot be redrawn."""

from __future__ import annotations

import csv
import io

import pytest

from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.metrics import make_learner
from semblance.core.research.papers import (
    PAPERS,
    compared_values,
    paper_figures,
    paper_page,
    papers_csv,
)
from semblance.core.research.spec import ExperimentSpec

CCML = next(paper for paper in PAPERS if paper.protocol == "ccml")
WINE = {"n_cases": 178, "n_features": 13, "findings": {"1": 59, "2": 71, "3": 48}}


def document(mean, interval):
    score = {"mean": mean, "ci95": interval}
    row = {
        "cases": "wine",
        "learner": "ccml",
        "params": make_learner("ccml").get_params(),
        "scores": {"knn_error": score, "ccknn_error": {"mean": 0.03, "ci95": [None, None]}},
        "curves": {"ndcg": {"k": [1, 2, 3], "mean": [0.9, 0.8, None], "std": [None] * 3}},
    }
    cells = {"done": 1, "total": 1, "failed": 0}
    return {"cases": [{"name": "wine", "source": WINE}], "results": [row], "cells": cells, "seed": 0}


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [([0.02, 0.03], "inside"), ([0.022, 0.03], "below"), ([0.01, 0.02], "above"), (None, "")],
)
def test_a_printed_value_lies_inside_below_or_above_our_interval(interval, verdict):
    found = compared_values(CCML, document(0.025, interval))
    assert [one.score for one in found] == ["knn_error", "ccknn_error"]
    assert (found[0].printed.value, found[0].verdict) == (0.0213, verdict)
    assert (found[1].printed.value, found[1].verdict) == (0.0204, "")


def test_the_page_has_both_values_and_the_reason_of_what_is_missing():
    made = document(0.025, [0.02, 0.03])
    values = compared_values(CCML, made)
    figures = paper_figures(CCML, made, values, "svg")
    assert set(figures) == {"ccml-table-i-knn.svg", "ccml-table-i-ccknn.svg", "ccml-figure-3-wine.svg"}
    page = paper_page(
        CCML, made, values, {name: label for name, (label, _) in figures.items()}, ["No <table>."]
    )
    assert "<td>0.025 (0.020–0.030)</td><td>0.021, CCML</td><td>inside the interval</td>" in page
    assert all(f'src="{name}"' in page for name in figures)
    assert "Not redrawn. The paper&#x27;s data are not among ours." in page
    assert "No &lt;table&gt;." in page
    (first, second) = csv.DictReader(io.StringIO(papers_csv({"ccml": values})))
    assert (first["printed"], first["printed_lies"], second["printed_lies"]) == ("0.0213", "inside", "")


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.protocol)
def test_every_item_is_redrawn_or_has_a_reason_and_every_learner_has_such_parameters(paper):
    assert all(bool(item.missing) != bool(item.score or item.curve) for item in paper.items)
    spec = ExperimentSpec.from_json(
        {
            "cases": [one.name for one in paper.cases],
            "learners": [{"learner": name, "params": dict(params)} for name, params in paper.learners],
            "protocols": [paper.protocol],
        }
    )
    assert len(spec.variants()) == len(paper.learners)
    assert protocol_class(paper.protocol).paper.split(",")[0] in paper.citation
