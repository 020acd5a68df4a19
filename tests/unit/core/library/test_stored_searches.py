from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.judgements import JudgementTable
from semblance.core.library.library import Library
from semblance.core.library.records import JudgementRecord
from semblance.core.library.stored_searches import (
    MAX_DELETED,
    add_search,
    copy_judgements,
    delete_search,
    deleted_searches,
    rename_search,
    restore_search,
    stored_searches,
    update_search,
)
from tests.helpers.libraries import make_library


@pytest.fixture
def catalogue(tmp_path):
    with Library.open(make_library(tmp_path / "made")) as library:
        library.save_search("(last)", {"n": 0})
        yield library.catalogue


def _names(catalogue):
    return [search.name for search in stored_searches(catalogue)]


def test_searches_are_saved_updated_and_renamed(catalogue):
    add_search(catalogue, "one", {"n": 1})
    add_search(catalogue, "two", {"n": 2})
    assert set(_names(catalogue)) == {"one", "two"}
    assert update_search(catalogue, "one", lambda stored: {"n": stored.state["n"] + 10})
    assert not update_search(catalogue, "none", lambda _: {"n": 3})
    rename_search(catalogue, "one", "first")
    assert {search.name: search.state for search in stored_searches(catalogue)} == {
        "first": {"n": 11},
        "two": {"n": 2},
    }


@pytest.mark.parametrize("name", ["", "  ", "(last)", "taken"])
def test_names_that_cannot_be_are_refused(catalogue, name):
    add_search(catalogue, "taken", {})
    add_search(catalogue, "other", {})
    with pytest.raises(BadArguments):
        add_search(catalogue, name, {})
    with pytest.raises(BadArguments):
        rename_search(catalogue, "other", name)
    assert set(_names(catalogue)) == {"taken", "other"}


def test_what_is_deleted_comes_back_under_its_name_or_another(catalogue):
    add_search(catalogue, "a b", {"n": 1})
    token = delete_search(catalogue, "a b")
    assert _names(catalogue) == []
    add_search(catalogue, "a b", {"n": 2})
    assert restore_search(catalogue, token) == "a b 2"
    assert {search.name: search.state["n"] for search in stored_searches(catalogue)} == {"a b": 2, "a b 2": 1}
    with pytest.raises(BadArguments):
        restore_search(catalogue, token)
    with pytest.raises(BadArguments):
        delete_search(catalogue, "gone")


def test_deleted_searches_do_not_pile_up(catalogue, monkeypatch):
    moments = iter(f"2026-01-01T00:00:{n:02d}" for n in range(60))
    monkeypatch.setattr(catalogue, "now", lambda: next(moments))
    tokens = []
    for n in range(MAX_DELETED + 3):
        add_search(catalogue, f"s{n}", {})
        tokens.append(delete_search(catalogue, f"s{n}"))
    with pytest.raises(BadArguments):
        restore_search(catalogue, tokens[0])
    deleted = deleted_searches(catalogue)
    assert len(deleted) == MAX_DELETED
    assert deleted[0] == (f"s{MAX_DELETED + 2}", "2026-01-01T00:00:45", tokens[-1])
    assert restore_search(catalogue, tokens[-1]) == f"s{MAX_DELETED + 2}"


def test_a_ledger_is_copied_with_what_was_undone(catalogue):
    table = JudgementTable(catalogue, "old")
    ids = table.append(
        [JudgementRecord("alike", "q", f"c{n}", None, {"x": n}, ("a", "b"), "me", f"t{n}") for n in range(3)]
    )
    table.set_undone([(ids[1], 4)])
    copy_judgements(catalogue, "old", "new")
    copied = JudgementTable(catalogue, "new").read()
    assert [(one, undone) for _, one, undone in copied] == [(one, undone) for _, one, undone in table.read()]
    assert not {key for key, _, _ in copied} & set(ids)
    copy_judgements(catalogue, "empty", "newer")
    assert JudgementTable(catalogue, "newer").read() == []
