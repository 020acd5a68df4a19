"""A paper's page: printed values beside ours, where they lie, and what cannot be redrawn."""

from __future__ import annotations

import csv
import io

import pytest

from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.metrics import make_learner
from semblance.core.research.papers import (
    PAPERS,
    ComparedValue,
    compared_values,
    paper_figures,
    paper_page,
    papers_csv,
    reason_for,
)
from semblance.core.research.printed_values import printed_values
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
    assert "ISOLET, MNIST and NORB are not among ours." in page
    assert "No &lt;table&gt;." in page
    (first, second) = csv.DictReader(io.StringIO(papers_csv({"ccml": values})))
    assert (first["printed"], first["printed_lies"], second["printed_lies"]) == ("0.0213", "inside", "")


def test_every_printed_value_outside_the_interval_has_a_reason_and_says_whether_ours_is_better():
    made = document(0.025, [0.022, 0.03])
    (value, _) = compared_values(CCML, made)
    assert "Open: dimensions" in reason_for(CCML, value)
    assert not value.ours_is_better
    assert reason_for(CCML, compared_values(CCML, document(0.021, [0.02, 0.03]))[0]) == ""
    page = paper_page(CCML, made, [value], {}, [])
    assert (
        "Of 1 printed values 0 lie inside our interval, 0 outside with ours the better, 1 outside with ours"
        in page
    )
    assert "below the interval; ours is worse (1)" in page
    assert page.count("Open: dimensions") == 1
    (line, _) = csv.DictReader(io.StringIO(papers_csv({"ccml": compared_values(CCML, made)})))
    assert line["reason"] == reason_for(CCML, value)


@pytest.mark.parametrize(
    "paper", [one for one in PAPERS if one.protocol != "bdm"], ids=lambda paper: paper.protocol
)
def test_no_printed_row_is_without_a_reason(paper):
    tables = {
        "boostmetric": ((150, 4), {"a": 50, "b": 50, "c": 50}),
        "online": ((351, 34), {"g": 225, "b": 126}),
        "metricboost": ((351, 34), {"g": 225, "b": 126}),
        "ccml": ((178, 13), WINE["findings"]),
    }
    for name, params in paper.learners:
        values = printed_values(
            paper.protocol, *tables[paper.protocol], name, make_learner(name, **params).get_params()
        )
        for printed in values:
            far = ComparedValue("a table", name, printed.score, 9.0, (8.0, 10.0), printed)
            assert reason_for(paper, far)


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
