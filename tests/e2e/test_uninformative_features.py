"""Features that tell nothing of the findings: it is said wherever a score or an estimate would stand."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from semblance.app.cli import main

SENTENCE = "These features do not tell the findings apart (0."
#: Lung lesions by finding: chance is 0.45.
FINDINGS = {"adenocarcinoma": 455, "squamous": 150, "large cell": 80, "other": 49}


@pytest.fixture(scope="module")
def lesions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lesions")
    rng = np.random.default_rng(0)
    with (folder / "lesions.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(f"f{n}" for n in range(12)), "label"])
        labels = [name for name, n in FINDINGS.items() for _ in range(n)]
        writer.writerows([*(f"{value:.4f}" for value in rng.normal(size=12)), one] for one in labels)
    return folder


def test_no_command_estimates_from_features_that_tell_nothing(lesions, capsys):
    def run(*arguments):
        assert main.run([str(one) for one in arguments]) == 0
        return capsys.readouterr().out

    library = lesions / "lesions.semblance"
    answer = json.loads(run("import", lesions / "lesions.csv", "--library", library, "--prepare", "--json"))
    prepared = answer["prepared"]
    assert prepared["beats_chance"] is False
    assert SENTENCE in prepared["message"]
    assert prepared["current"] == prepared["metrics"][0]["name"]
    assert prepared["metrics"][0]["worst_finding@10"]["finding"] in FINDINGS

    case = json.loads(run("info", library, "--json"))["case_ids"][0]
    vote = json.loads(run("search", library, "--case", case, "--json"))["vote"]
    assert vote["probability"] is None
    assert not vote["calibrated"]
    assert SENTENCE in vote["why_not"] or vote["query_trained_on"]
    held_out = (
        json.loads(run("search", library, "--case", one, "--json"))["vote"]
        for one in json.loads(run("info", library, "--json"))["case_ids"][:30]
    )
    assert any(SENTENCE in (one["why_not"] or "") for one in held_out)

    assert SENTENCE in run("card", library, "--metric", prepared["current"])
    report = lesions / "report.json"
    run("report", library, "--case", case, "--out", report)
    assert SENTENCE in report.read_text(encoding="utf-8")

    table = run("evaluate", "--table", lesions / "lesions.csv", "--learner", "euclidean", "--protocol", "bdm")
    assert SENTENCE in table
    assert "Chance @10" in table
