"""The yardstick's table: mean ranks over image sets, tests over independent sets, rows of other runs."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
import scipy.stats

from semblance.core.errors import BadInput
from semblance.core.research.learner_ranks import (
    SCORES,
    rank_table,
    rank_table_csv,
    rank_table_figures,
    rank_table_markdown,
    with_rows,
)

SETS = ("a", "b", "c", "d")
LEARNERS = ("euclidean", "lda", "bdm")
FEATURES = ("gabor", "encoder")
PROTOCOL = {"protocol": "full", "repeats": 2}
FACTS = {name: {"sha256": name * 4, "note": f"10 cases of {name}"} for name in SETS}


def document(seed=0, learners=LEARNERS, failed=()):
    rng = np.random.default_rng(seed)
    rows = []
    for learner in learners:
        for image_set in SETS:
            for features in FEATURES:
                cases = f"{image_set}:{features}"
                broken = (learner, cases) in failed
                mean = float(rng.uniform(0.4, 0.9))
                scores = {name: {"mean": mean, "ci95": [mean - 0.02, mean + 0.02]} for name in SCORES}
                reason = "It failed." if broken else None
                rows.append(
                    {"learner": learner, "cases": cases, "scores": {} if broken else scores, "failed": reason}
                )
    return {"results": rows, "complete": True, "versions": {"semblance": "1"}}


def made(**options):
    return rank_table(document(**options), FACTS, PROTOCOL)


def test_the_mean_rank_of_a_row_is_that_over_the_image_sets():
    found = made()
    table = np.array([[row["scores"]["auc"][name]["mean"] for name in SETS] for row in found["rows"]])
    expected = scipy.stats.rankdata(-table, axis=0).mean(axis=1)
    np.testing.assert_allclose([row["rank"]["auc"] for row in found["rows"]], expected)
    ranks = [row["rank"][SCORES[0]] for row in found["rows"]]
    assert ranks == sorted(ranks)


def test_learners_are_tested_by_their_means_over_the_features():
    found = made()
    test = next(one for one in found["tests"] if (one["over"], one["score"]) == ("learner", "auc"))
    means = [
        np.mean(
            [
                [row["scores"]["auc"][name]["mean"] for name in SETS]
                for row in found["rows"]
                if row["learner"] == learner
            ],
            axis=0,
        )
        for learner in LEARNERS
    ]
    expected = scipy.stats.friedmanchisquare(*means)
    assert test["tables"] == len(SETS)
    assert test["statistic"] == pytest.approx(expected.statistic)
    assert test["p_value"] == pytest.approx(expected.pvalue)
    features = next(one for one in found["tests"] if one["over"] == "features")
    assert set(features["ranks"]) == set(FEATURES)


def test_what_failed_on_one_image_set_has_no_rank_and_its_reason():
    found = made(failed=[("bdm", "b:gabor")])
    ranked = {(row["learner"], row["features"]): row["rank"] for row in found["rows"]}
    assert ranked["bdm", "gabor"] == {}
    assert set(ranked["bdm", "encoder"]) == set(SCORES)
    assert {name for one in found["tests"] if one["over"] == "learner" for name in one["ranks"]} == {
        "euclidean",
        "lda",
    }
    text = rank_table_markdown(found)
    assert "- bdm, b:gabor: It failed." in text
    assert "| BDM | gabor |" in text


def test_a_row_of_another_run_joins_only_if_the_images_and_the_protocol_are_the_same():
    ours = made()
    theirs = json.loads(json.dumps(made(seed=1, learners=("lda", "nca"))))
    # Notes are in the language of whoever measured.
    theirs["image_sets"]["a"]["note"] = "10 Fälle von a"
    joined = with_rows(ours, theirs, "theirs.json")
    assert {row["learner"] for row in joined["rows"]} == {*LEARNERS, "nca"}
    kept = next(row for row in joined["rows"] if (row["learner"], row["features"]) == ("lda", "gabor"))
    assert kept["scores"] == next(
        row["scores"] for row in ours["rows"] if (row["learner"], row["features"]) == ("lda", "gabor")
    )
    theirs["image_sets"]["a"]["sha256"] = "other"
    with pytest.raises(BadInput, match=r"theirs\.json was not measured on the same images") as error:
        with_rows(ours, theirs, "theirs.json")
    assert "image_sets" in error.value.hint


def test_files_hold_every_number_and_a_diagram_for_each_test():
    found = made()
    rows = list(csv.DictReader(io.StringIO(rank_table_csv(found))))
    assert len(rows) == len(LEARNERS) * len(FEATURES) * len(SETS) * len(SCORES)
    assert float(rows[0]["mean"]) == found["rows"][0]["scores"][SCORES[0]][rows[0]["image_set"]]["mean"]
    figures = rank_table_figures(found, "svg")
    assert len(figures) == len(found["tests"]) == 4
    assert all(content.startswith(b"<?xml") for content in figures.values())
