from __future__ import annotations

import json

from tests.helpers.libraries import make_library


def test_groups_are_joined_split_and_listed(run_command, tmp_path):
    library = make_library(tmp_path / "lib.semblance")
    assert run_command("lesions", library) == (0, f"{library}: no same-lesion groups\n", "")
    status, out, err = run_command("lesions", library, "--join", "s/0.png,s/3.png", "--json")
    assert (status, err) == (0, "")
    cases = [{"case_id": "s/0.png", "finding": "benign"}, {"case_id": "s/3.png", "finding": "malignant"}]
    assert json.loads(out)["groups"] == [{"cases": cases, "by_hand": True}]
    assert run_command("lesions", library) == (0, "s/0.png (benign), s/3.png (malignant); by hand\n", "")
    assert run_command("lesions", library, "--split", "s/0.png")[1] == f"{library}: no same-lesion groups\n"
    status, out, err = run_command("lesions", library, "--join", "s/0.png")
    assert (status, out) == (2, "")
    assert err == "At least two cases are needed to join. Name several, separated by commas.\n"
