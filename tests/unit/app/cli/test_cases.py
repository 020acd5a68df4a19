from __future__ import annotations

import json

from tests.helpers.libraries import make_library


def test_cases_are_listed_and_found(run_command, tmp_path):
    library = make_library(tmp_path / "lib.semblance", cases=3)
    assert run_command("cases", library, "--find", "p1")[1] == "s/2.png  2  P1  benign\n1 of 3 cases\n"
    status, out, err = run_command("cases", library, "--find", "cc benign", "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert (document["find"], document["total"]) == ("cc benign", 3)
    assert [case["case_id"] for case in document["cases"]] == ["s/0.png", "s/2.png"]
    assert run_command("cases", library, "--find", "nothing")[1] == "0 of 3 cases\n"
