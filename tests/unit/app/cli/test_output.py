from __future__ import annotations

import numpy as np

from semblance.app.cli.output import print_error, show_fields
from semblance.app.cli.show_results import show_cases


def test_any_document_as_indented_lines(capsys):
    show_fields(
        {
            "name": "x",
            "none": None,
            "empty": [],
            "share": np.float64(0.123456),
            "in": {"deep": [1, {"a": 2, "b": 3}]},
        }
    )
    assert capsys.readouterr().out.splitlines() == [
        "name: x",
        "none: –",
        "empty: –",
        "share: 0.1235",
        "in:",
        "  deep:",
        "    - 1",
        "    - a: 2",
        "      b: 3",
    ]


def test_words_go_to_stderr(capsys):
    print_error("Reading\n")
    assert capsys.readouterr() == ("", "Reading\n")


def test_names_are_shown_whole_and_never_obeyed_by_the_terminal(capsys):
    name = "a\x1b]0;owned\x07[left][/b]\x9b.png"
    show_cases(
        {
            "results": [{"rank": 1, "case_id": name, "finding": name, "distance": 0.5, "path": name}],
            "hidden": {"same_patient": 0, "near_duplicates": 0},
            "feedback": {"liked": [], "disliked": []},
            "vote": {"voters": 10, "counts": {name: 1}, "calibrated": False, "why_not": name},
            "no_good_match": False,
            "unclear": False,
            "warnings": [],
            "without_patient": False,
            "candidates": None,
        }
    )
    show_fields({"case_ids": [name]})
    print_error(name)
    captured = capsys.readouterr()
    shown = r"a\x1b]0;owned\x07[left][/b]\x9b.png"
    assert captured.out.count(shown) == 5
    assert captured.err == shown + "\n"
    assert not set(captured.out + captured.err) & {"\x1b", "\x07", "\x9b"}
