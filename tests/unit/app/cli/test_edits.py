"""The commands that correct a library tell what they changed and what is out of date by it."""

from __future__ import annotations

import pytest

from tests.helpers.libraries import finding_of


def test_cases_are_labelled_and_that_is_undone(document, run_command, library):
    before = finding_of(library)
    preview = document("label", library, "--cases", "t/c0,t/c2", "--finding", "odd", "--dry-run")
    (edit,) = preview["edits"]
    assert (edit["dry_run"], edit["changed"]) == (True, 2)
    assert finding_of(library) == before
    status, out, _ = run_command("label", library, "--cases", "t/c0,t/c2", "--finding", "odd")
    assert (status, out.splitlines()[0]) == (0, "Label 2 cases odd")
    assert finding_of(library) == before | {"t/c0": "odd", "t/c2": "odd"}
    assert document("history", library)["edits"][0]["description"] == "Label 2 cases odd"
    assert document("undo", library)["undone"]["id"] == 1
    assert finding_of(library) == before
    assert document("redo", library)["redone"]["id"] == 1
    run_command("label", library, "--cases", "t/c0", "--no-finding", "--patient", "P7")
    # Also one that is not the newest.
    assert document("undo", library, "--edit", "1")["skipped"] == 1
    assert finding_of(library)["t/c2"] == before["t/c2"]
    assert run_command("undo", library)[1] == "undone: Set the patient of 1 case to P7\n"


@pytest.mark.slow
def test_findings_metrics_and_feature_sets_are_changed(document, run_command, library):
    document("findings", "rename", library, "kind 0", "low")
    document("findings", "recolour", library, "low", "yellow")
    names = {one["name"]: one["colour"] for one in document("findings", "list", library)["findings"]}
    assert names["low"] == "yellow"
    (metric,) = document("info", library)["metrics"]
    document("metric", "rename", library, metric, "mine")
    (features,) = document("info", library)["feature_sets"]
    document("feature-set", "duplicate", library, features, "copy")
    assert document("info", library)["metrics"] == ["mine"]
    assert document("info", library)["feature_sets"] == [features, "copy"]
    document("remove", library, "--cases", "t/c0")
    assert document("info", library)["cases"] == 59
    for _ in range(5):
        run_command("undo", library)
    assert document("undo", library)["undone"] is None
    assert document("info", library)["cases"] == 60


@pytest.mark.parametrize(
    "arguments", [(), ("--finding", "a", "--no-finding"), ("--finding", " ")], ids=["none", "both", "blank"]
)
def test_contradictory_labels_are_wrong_arguments(run_command, library, arguments):
    assert run_command("label", library, "--cases", "t/c0", *arguments)[0] == 2
