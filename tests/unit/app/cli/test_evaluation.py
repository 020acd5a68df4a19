from __future__ import annotations

import pytest

from semblance.app.cli.evaluation import show_scores, show_table_scores
from semblance.app.cli.libraries import show_import, show_info
from semblance.app.cli.search import show_cases


def interval(mean, low=None, high=None):
    return {"mean": mean, "ci95": None if low is None else [low, high]}


@pytest.mark.parametrize(("n", "more"), [(10, False), (11, True)])
def test_of_many_cases_the_first_few_are_listed(capsys, n, more):
    show_info({"library": "L", "case_ids": [f"c{i}" for i in range(n)]})
    output = capsys.readouterr().out
    assert "c9" in output
    assert "c10" not in output
    assert ("--json" in output) is more


def test_an_import_names_every_file_it_did_not_read(capsys):
    show_import(
        {
            "added": 2,
            "unchanged": 1,
            "failed": [{"path": "a.png", "reason": "cut short"}],
            "ignored": [{"path": "notes.txt", "reason": "no image"}],
            "kind": "folder",
            "findings": {"benign": 2},
            "library": "L.semblance",
            "cases": 3,
            "removed": ["old"],
            "missing": ["gone.png"],
        }
    )
    output = capsys.readouterr().out
    assert "2 added, 1 unchanged, 1 failed, 1 ignored (folder)" in output
    for line in (
        "failed: a.png: cut short",
        "ignored: notes.txt: no image",
        "removed: old",
        "missing: gone.png",
    ):
        assert line in output


def ranking(**more):
    return {
        "results": [{"rank": 1, "case_id": "folder/" + "x" * 150, "finding": None, "distance": 0.25}],
        "hidden": {"same_patient": 3, "near_duplicates": 1},
        "feedback": {"liked": [], "disliked": []},
        "vote": {"voters": 10, "counts": {}, "calibrated": False, "why_not": "Too few cases."},
        "no_good_match": False,
        "unclear": False,
        "warnings": ["Draw the region."],
        "without_patient": False,
        "candidates": None,
        **more,
    }


def test_a_ranking_is_not_cut_in_a_pipe(capsys):
    show_cases(ranking())
    output = capsys.readouterr().out
    assert "x" * 150 in output
    assert "0.2500" in output
    assert "hidden: 3 of the same patient, 1 of the same lesion or copies; of the 10 nearest: none" in output
    assert "No close match" not in output
    assert "No estimate. Too few cases." in output
    assert "Draw the region." in output


def test_small_distances_differ_and_are_english(capsys, german):
    distances = {
        0.0: "0.0000",
        1.5e-6: "1.500e-06",
        0.00012: "0.0001200",
        0.00013: "0.0001300",
        2.5: "2.5000",
    }
    lines = [
        {"rank": n, "case_id": f"c{n}", "finding": None, "distance": one}
        for n, one in enumerate(distances, 1)
    ]
    show_cases(ranking(results=lines))
    output = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in output[1 : len(distances) + 1]] == list(distances.values())


def test_an_estimate_says_from_whom_it_is(capsys):
    vote = {
        "voters": 10,
        "counts": {"benign": 7, "malignant": 3},
        "calibrated": True,
        "finding": "benign",
        "probability": 0.714,
        "interval": [0.49, 0.871],
        "measured_on": "held-out patients",
        "prevalence": [0.9, 0.38],
        "caution": "calibrated poorly: error 0.20, 0.18 by chance",
    }
    show_cases(ranking(vote=vote))
    output = capsys.readouterr().out
    assert "The estimate is calibrated poorly: error 0.20, 0.18 by chance." in output
    assert "The estimate is for a prevalence of 90 % instead of the library's 38 %." in output
    assert "estimate for benign: 0.71 (0.49–0.87), from held-out patients" in output
    assert output.rstrip().endswith("Not for decisions about a patient.")


def test_a_bad_match_is_reported(capsys):
    show_cases(
        ranking(no_good_match=True, vote={**ranking()["vote"], "counts": {"benign": 7, "malignant": 3}})
    )
    output = capsys.readouterr().out
    assert "7 benign, 3 malignant" in output
    assert "No close match" in output


def test_scores_with_their_intervals_and_failures(capsys):
    results = [
        {
            "learner": "bdm",
            "scores": {"auc": interval(0.9, 0.8, 0.95), "retrieval_accuracy@1": interval(None)},
            "fit_seconds": {"median": 1.234},
            "printed": [{"score": "auc", "value": 0.85}],
        },
        {
            "learner": "euclidean",
            "scores": {"auc": interval(0.7), "chosen_k": interval(3.0)},
            "fit_seconds": {"median": 0.0},
            "printed": [],
        },
    ]
    document = {
        "results": results,
        "compared": ["auc", "retrieval_accuracy@1", "magic"],
        "protocol": "holdout",
        "repeats": 5,
        "seed": 0,
        "source": {"n_cases": 40, "patients": "known"},
        "measured_on": "held-out",
        "failed": [{"learner": "nca", "reason": "too few cases"}],
    }
    show_scores(document)
    output = capsys.readouterr().out
    assert "0.900 (0.800–0.950)" in output
    assert "0.700" in output
    assert "failed: nca: too few cases" in output
    assert "paper (printed)" in " ".join(output.split())
    assert "Mean AUC over findings 0.850" in " ".join(output.split())
    assert "magic" not in output
    assert "chosen_k" not in output
    show_scores({**document, "results": []})
    assert "paper (printed)" not in capsys.readouterr().out


def test_several_tables_end_with_the_ranks_over_all(capsys):
    one = {
        "results": [
            {"learner": "bdm", "scores": {"auc": interval(0.9)}, "fit_seconds": {"median": 1}, "printed": []}
        ],
        "compared": ["auc"],
        "protocol": "bdm",
        "repeats": 5,
        "seed": 0,
        "source": {"path": "a.csv", "n_cases": 40, "patients": "known"},
        "measured_on": "held-out",
        "failed": [],
    }
    test = {"tables": 4, "ranks": {"euclidean": 1.75, "bdm": 1.25}, "statistic": 1.0, "p_value": 0.317}
    pair = {"score": "auc", "a": "euclidean", "b": "bdm", "z": 1.0, "p_value": 0.317, "p_adjusted": 0.5}
    show_table_scores(
        {
            "tables": [one, {**one, "source": {**one["source"], "path": "b.csv"}}],
            "friedman": {"auc": test},
            "holm": [pair, {**pair, "score": "other"}],
            "failed_tables": [{"path": "c.csv", "reason": "is empty"}],
        }
    )
    output = capsys.readouterr().out.splitlines()
    assert output[0] == "a.csv:"
    assert "b.csv:" in output
    assert output[-3:] == [
        "Mean AUC over findings, 4 tables: Friedman chi-squared 1.000, p 0.317; average ranks bdm 1.25, euclidean 1.75",
        "  euclidean and bdm: z 1.00, p 0.317, after Holm 0.5",
        "failed: c.csv: is empty",
    ]


def test_marks_are_counted_below_the_ranking(capsys):
    show_cases(ranking())
    assert "mark" not in capsys.readouterr().out
    show_cases(ranking(feedback={"liked": ["a", "b"], "disliked": ["c"]}))
    assert "ordered by 3 marks" in capsys.readouterr().out
