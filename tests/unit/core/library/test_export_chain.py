"""A changed, removed, moved or added line of the log of exports is found and named."""

from __future__ import annotations

import json

import pytest

from semblance.app.cli.main import run
from semblance.core.library.export_log import FILE, log_export, read_exports
from semblance.core.library.records import EXPORTS_HEAD
from semblance.core.workflows.library.audit_log import check_audit
from semblance.core.workflows.maintenance.backup import back_up, restore
from tests.helpers.libraries import make_library


@pytest.fixture
def library(tmp_path):
    made = make_library(tmp_path / "lib")
    log_export(made, "old", "pdf")
    for number in range(5):
        log_export(made, f"report {number}", "pdf", files=number)
    return made


def changed(library, change):
    lines = (library / FILE).read_text().splitlines()
    (library / FILE).write_text("".join(f"{line}\n" for line in change(lines)))
    return list(map(str, check_audit(library).problems))


def test_an_untouched_log_is_intact_also_after_a_backup(library, tmp_path):
    found = check_audit(library)
    assert (found.entries, found.problems) == (6, ())
    assert [line["what"] for line in read_exports(library)] == ["old", *(f"report {n}" for n in range(5))]
    back_up(library, tmp_path / "backup.zip")
    restored = tmp_path / "restored.semblance"
    restore(tmp_path / "backup.zip", restored)
    assert check_audit(restored).problems == () and check_audit(restored).entries == 6
    log_export(restored, "report", "pdf")
    assert check_audit(restored, found.hash).problems == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda lines: [*lines[:3], lines[3].replace("report 2", "report 9"), *lines[4:]],
            "Entry 4 was changed",
        ),
        (lambda lines: [*lines[:3], *lines[4:]], "Entry 4 is missing"),
        (lambda lines: [*lines[:2], *lines[5:]], "Entries 3 to 5 are missing"),
        (lambda lines: lines[:-2], "The last 2 entries are missing: 6 were written"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "Entry 3 is not in its place"),
        (lambda lines: [*lines[:4], lines[3], *lines[4:]], "Entry 4 is not in its place"),
        (lambda lines: ['{"what": "x"}', *lines], "Line 1 of the log was not written by Semblance"),
        (
            lambda lines: [*lines[:4], '{"what": "x"}', *lines[4:]],
            "Line 5 of the log was not written by Semblance",
        ),
        (lambda lines: [lines[0].replace("old", "new"), *lines[1:]], "Entry 1 was changed"),
        (lambda lines: lines[:0], "The last 6 entries are missing"),
    ],
)
def test_tampering_is_named_and_a_later_export_does_not_hide_it(library, change, says):
    assert says in "; ".join(changed(library, change))
    log_export(library, "later", "pdf")
    assert any(problem for problem in check_audit(library).problems)


def test_a_program_killed_between_the_line_and_its_head_leaves_an_intact_log(library):
    head = (library / EXPORTS_HEAD).read_bytes()
    log_export(library, "report", "pdf")
    (library / EXPORTS_HEAD).write_bytes(head)
    assert check_audit(library).problems == ()
    log_export(library, "report", "pdf")
    assert (check_audit(library).problems, check_audit(library).entries) == ((), 8)


def test_the_command_says_what_is_wrong(library, capsys):
    assert run(["audit-log", str(library), "--verify", "--json"]) == 0
    hash_before = json.loads(capsys.readouterr().out)["hash"]
    assert run(["audit-log", str(library), "--verify", "--since", hash_before]) == 0
    assert "No entry was changed" in capsys.readouterr().out
    changed(library, lambda lines: [*lines[:3], *lines[4:]])
    assert run(["audit-log", str(library), "--verify"]) == 1
    out, err = capsys.readouterr()
    assert "Entry 4 is missing." in out and "was changed" in err
    assert run(["audit-log", str(library), "--all"]) == 2


def test_a_log_that_is_deleted_with_its_head_is_missed_also_after_later_exports(library, capsys):
    assert run(["audit-log", str(library), "--head"]) == 0
    number, noted = capsys.readouterr().out.split()
    assert (number, noted) == ("6", check_audit(library).hash)
    for name in (FILE, EXPORTS_HEAD):
        (library / name).unlink()
    assert "The last 6 entries are missing" in "; ".join(map(str, check_audit(library).problems))
    log_export(library, "report", "pdf")
    found = check_audit(library, noted)
    assert "Entries 1 to 6 are missing." in map(str, found.problems)
    assert any("was replaced" in str(problem) for problem in found.problems)
