"""The server notes who searched, looked, exported and changed; nobody can alter it unnoticed."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from semblance.app.cli.main import run
from semblance.core.errors import SemblanceError
from semblance.core.library.export_log import log_export, read_exports
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library, read_only_libraries
from semblance.core.library.records import CaseRecord, FileRecord, JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import AUDIT_SCHEMA, SCHEMA
from semblance.core.workflows.library.audit_log import check_audit, list_audit
from tests.helpers.postgres_server import MAKER, as_given


@pytest.fixture
def library(database):
    with ServerLibrary.create(server_address(database)) as made:
        source = made.catalogue.add_source("folder", "s", Path("/images"))
        names = ['a "quoted" \\ name', "Ünïcode 患者\ttab", "c"]
        made.catalogue.put(
            source,
            [FileRecord(name, 1, 1, name, "ok") for name in names],
            [CaseRecord(f"s/{name}", name, content=name) for name in names],
        )
        for name in names:
            made.log_event("search", {"query": name, "nested": {"x": [1, None]}})
    return server_address(database)


def test_changes_are_noted_by_the_server_whoever_makes_them(library, postgres):
    before = list_audit(library)
    assert {entry["by"] for entry in before} == {MAKER}
    with open_library(library, writable=True) as opened:
        opened.judgements("l").append([JudgementRecord("alike", "q", "c", None, None, (), "w", "t")])
    # Past the program, in two statements of one transaction.
    postgres.execute(
        f"UPDATE {SCHEMA}.cases SET finding = 'x'; UPDATE {SCHEMA}.cases SET finding = 'y' WHERE id = 1",
        "library",
    )
    postgres.execute(f"DELETE FROM {SCHEMA}.judgements WHERE false", "library")
    postgres.execute(f"TRUNCATE {SCHEMA}.judgements", "library")
    new = [entry["detail"] for entry in list_audit(library)[len(before) :]]
    assert new == [
        {"table": "judgements", "operation": "insert", "rows": 1},
        {"table": "cases", "operation": "update", "rows": 4},
        {"table": "judgements", "operation": "truncate", "rows": None},
    ]
    assert check_audit(library).problems == ()


def test_a_transaction_that_fails_leaves_no_entry(library, postgres):
    before = len(list_audit(library))
    with pytest.raises(psycopg.errors.DivisionByZero):
        postgres.execute(f"UPDATE {SCHEMA}.cases SET finding = 'x'; SELECT 1/0", "library")
    assert len(list_audit(library)) == before and check_audit(library).problems == ()


def test_a_long_change_does_not_block_searches(library):
    with psycopg.connect(str(library), **library.secrets.values) as other:
        other.execute(f"UPDATE {SCHEMA}.cases SET finding = 'x'")
        with open_library(library) as opened:
            opened.log_event("search", {"query": "c"})
    assert [entry["action"] for entry in list_audit(library)[-2:]] == ["search", "change"]


def test_exports_of_those_who_may_only_read_are_noted_with_the_account_of_the_server(library):
    with read_only_libraries():
        log_export(library, "report", ".pdf", identified=True)
    (line,) = read_exports(library)
    assert (line["what"], line["kind"], line["by"], line["identified"]) == ("report", "pdf", MAKER, True)


def test_the_log_cannot_be_changed_and_no_change_can_be_made_up(library, postgres):
    for statement in (
        f"UPDATE {AUDIT_SCHEMA}.audit_log SET by = 'x'",
        f"DELETE FROM {AUDIT_SCHEMA}.audit_log",
        f"TRUNCATE {AUDIT_SCHEMA}.audit_log",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="audit log cannot be changed"):
            postgres.execute(statement, "library")
    with open_library(library) as opened, pytest.raises(SemblanceError):
        opened.log_event("change", {"table": "cases"})


TRIGGER = f"ALTER TABLE {AUDIT_SCHEMA}.audit_log DISABLE TRIGGER only_added; "


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE {s}.audit_log SET by = 'nobody' WHERE number = 3", "Entry 3 was changed"),
        ("UPDATE {s}.audit_log SET detail = '{{}}' WHERE number = 4", "Entry 4 was changed"),
        ("DELETE FROM {s}.audit_log WHERE number = 4", "Entry 4 is missing"),
        ("DELETE FROM {s}.audit_log WHERE number BETWEEN 2 AND 4", "Entries 2 to 4 are missing"),
        (
            "DELETE FROM {s}.audit_log WHERE number > (SELECT max(number) - 2 FROM {s}.audit_log)",
            "The last 2 entries",
        ),
        (
            "UPDATE {s}.audit_log SET number = -number WHERE number IN (3, 4); "
            "UPDATE {s}.audit_log SET number = 7 + number WHERE number < 0",
            "Entry 3 was changed",
        ),
        ("DELETE FROM {s}.audit_log", "entries are missing"),
        (
            "TRUNCATE {s}.audit_log; UPDATE {s}.audit_head SET number = 0, hash = repeat('0', 64)",
            "was replaced",
        ),
    ],
)
def test_what_a_superuser_alters_is_named(library, postgres, statement, says, capsys):
    noted = check_audit(library)
    assert noted.problems == () and noted.entries > 5
    postgres.execute(TRIGGER + statement.format(s=AUDIT_SCHEMA), "library")
    found = check_audit(library, noted.hash)
    assert says in "; ".join(found.problems)
    assert run(["audit-log", as_given(library), "--verify", "--since", noted.hash, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["intact"] is False


def test_the_head_of_the_log_is_printed_and_found_again(library, capsys):
    assert run(["audit-log", as_given(library), "--head", "--json"]) == 0
    head = json.loads(capsys.readouterr().out)
    assert head == {"number": check_audit(library).entries, "hash": check_audit(library).hash}
    with open_library(library, writable=True) as opened:
        opened.save_search("s", {})
    assert run(["audit-log", as_given(library), "--verify", "--since", head["hash"]]) == 0
