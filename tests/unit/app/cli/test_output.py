from __future__ import annotations

import json
import os
import signal
import sys
import threading

import numpy as np
import pytest

from semblance.app.cli.output import (
    ConsoleReporter,
    EntryLines,
    EntryTable,
    LineIfPresent,
    json_alone,
    print_document,
    print_error,
    printer,
    show_fields,
)
from semblance.app.cli.search import show_cases
from semblance.core.searches.query import Query
from semblance.core.tasks import Cancelled


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


def test_the_first_ctrl_c_cancels_and_the_second_ends():
    before = signal.getsignal(signal.SIGINT)
    with ConsoleReporter() as reporter:
        reporter.progress(1, 10, "Extracting")
        reporter.progress(2, None, "Extracting")
        reporter.check_cancelled()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Cancelled):
            reporter.check_cancelled()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_off_the_main_thread_takes_no_signals():
    before = signal.getsignal(signal.SIGINT)
    during = []

    def work():
        with ConsoleReporter() as reporter:
            reporter.progress(1, 1, "Training")
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert during == [before]


def test_progress_is_shown_only_in_a_terminal(capfd):
    with ConsoleReporter() as reporter:
        for done in range(3):
            reporter.progress(done, None, "reading")
            reporter.progress(done, 2, "work")
    assert capfd.readouterr() == ("", "")


def test_what_is_declared_is_printed_a_line_for_each_part(capsys):
    show = printer(
        "{n:,} cases",
        EntryLines("cases", "  {name}", empty="none", most=2),
        LineIfPresent("note", "note: {note}", "no note"),
        lambda document: tuple(case["name"] for case in document["cases"]),
        lambda _: "",
        EntryTable("cases", {"case": "{name}", "by": lambda case: case["name"].upper()}, empty="no table"),
    )
    show({"n": 1234, "cases": [{"name": "a\nb"}, {"name": "c"}, {"name": "d"}], "note": ""})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == ["1,234 cases", r"  a\nb", "  c", "no note", r"a\nb", "c", "d"]
    assert [line.split() for line in lines[7:] if line.strip()][-1] == ["d", "D"]
    show({"n": 0, "cases": [], "note": "x"})
    assert capsys.readouterr().out.splitlines() == ["0 cases", "none", "note: x", "no table"]


def test_text_and_json_are_of_one_result(capsys):
    found = Query(case="c1")
    print_document(found, True, printer("{case}"))
    assert json.loads(capsys.readouterr().out) == found.to_json()
    print_document(found, False, printer(lambda document: str(document == found.to_json())))
    assert capsys.readouterr().out == "True\n"


def test_beside_a_json_document_nothing_stands_on_stdout(capfd, monkeypatch):
    with os.fdopen(1, "w", encoding="utf-8", closefd=False) as of_process:
        monkeypatch.setattr(sys, "stdout", of_process)
        with json_alone():
            print("a plug-in")
            os.write(1, b"a library in C\n")
            print_document({"size": "µm"}, True, show_fields)
        print("afterwards")
        of_process.flush()
    out, err = capfd.readouterr()
    document, after = out[: -len("afterwards\n")], out[-len("afterwards\n") :]
    assert json.loads(document) == {"size": "µm"} and after == "afterwards\n"
    assert err == "a plug-in\na library in C\n"
