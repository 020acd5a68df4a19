"""A computer whose clock is hours wrong orders and ends nothing wrongly: the clock of the server counts."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from semblance.core.library.location import local_folder, server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.local_copy import KEPT_DAYS, copy_facts
from semblance.core.library.stored_searches import (
    MAX_DELETED,
    add_search,
    delete_search,
    deleted_searches,
    stored_searches,
)
from semblance.core.workflows.library.audit_log import check_audit, list_audit
from semblance.core.workflows.library.edit_cases import set_finding, set_patient
from semblance.core.workflows.library.local_copies import remove_ended_copies, renew_copy
from semblance.core.workflows.library.undo_edits import redo, undo
from semblance.core.workflows.maintenance.share_library import create_project, list_projects
from tests.helpers.server_writes import prepare, write_one


def change_clock(monkeypatch: pytest.MonkeyPatch, **ahead: float) -> None:
    """Have the clock of this process go ``ahead`` of the right time; ``hours=-7``: behind it."""
    difference = datetime.timedelta(**ahead)

    class Wrong(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return _RIGHT.now(tz) + difference

    monkeypatch.setattr(datetime, "datetime", Wrong)


_RIGHT = datetime.datetime


WRONG = pytest.mark.parametrize("hours", [-30, 30], ids=["behind", "ahead"])


@pytest.fixture
def library(database):
    """The address of a library with a few cases."""
    with ServerLibrary.create(server_address(database)) as made:
        prepare(made)
        write_one(made, 1)
    return server_address(database)


@WRONG
def test_searches_and_deleted_searches_are_in_the_order_in_which_they_were_saved(library, monkeypatch, hours):
    def save(name: str, wrong: bool) -> None:
        with monkeypatch.context() as here:
            if wrong:
                change_clock(here, hours=hours)
            with ServerLibrary.open(library, writable=True) as opened:
                add_search(opened.catalogue, name, {})

    with ServerLibrary.open(library, writable=True) as opened:
        for number in range(MAX_DELETED):
            add_search(opened.catalogue, f"a {number}", {})
            delete_search(opened.catalogue, f"a {number}")
    save("a", wrong=False)
    save("b", wrong=True)
    save("c", wrong=False)
    with ServerLibrary.open(library, writable=True) as opened:
        assert [one.name for one in stored_searches(opened.catalogue)][:3] == ["c", "b", "a"]
    with monkeypatch.context() as here:
        change_clock(here, hours=hours)
        with ServerLibrary.open(library, writable=True) as opened:
            token = delete_search(opened.catalogue, "b")
    with ServerLibrary.open(library) as opened:
        # The oldest of the others made room.
        assert token in [one[2] for one in deleted_searches(opened.catalogue)]


@WRONG
def test_the_edit_that_was_undone_last_is_redone_and_the_audit_log_is_in_order(library, monkeypatch, hours):
    set_finding(library, ["s/1-0"], "x")
    set_patient(library, ["s/1-0"], "p")
    undo(library)
    with monkeypatch.context() as here:
        change_clock(here, hours=hours)
        undo(library)
    assert redo(library).edit.kind == "finding"
    assert not check_audit(library).problems
    times = [entry["time"] for entry in list_audit(library)]
    assert times == sorted(times)


@WRONG
def test_a_project_ends_by_the_clock_of_the_server(library, monkeypatch, hours):
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    change_clock(monkeypatch, hours=hours)
    create_project(library, "one", "trial", today)
    assert [one["state"] for one in list_projects(library)] == ["open"]


@WRONG
def test_the_copy_has_the_age_and_the_end_that_the_server_says(library, monkeypatch, hours):
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    create_project(library, "one", "trial", today)
    project = library.with_project("one")
    change_clock(monkeypatch, hours=hours)
    renew_copy(project)
    facts = copy_facts(project)
    assert 0 <= facts.days < 0.1 and not facts.has_ended
    assert facts.compared[:10] in (today, datetime.datetime.now(datetime.UTC).date().isoformat())
    change_clock(monkeypatch, hours=hours + 24)
    remove_ended_copies()
    assert not local_folder(project).exists()


def test_a_clock_that_is_set_back_makes_no_copy_younger(library, monkeypatch):
    renew_copy(library)
    change_clock(monkeypatch, days=-400)
    assert copy_facts(library).days == 0
    change_clock(monkeypatch, days=KEPT_DAYS + 1)
    assert copy_facts(library) is None
    with pytest.raises(Exception, match="no copy"):
        open_library(replace(library, is_away=True))
