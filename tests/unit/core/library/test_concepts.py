"""Concepts as the catalogue keeps them."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.concepts import MAX_NAME_LENGTH, ConceptTable
from semblance.core.library.library import Library
from tests.helpers.libraries import make_library


@pytest.fixture
def table(tmp_path):
    with Library.open(make_library(tmp_path / "lib")) as opened:
        yield ConceptTable(opened.catalogue)


def test_marks_stay_in_order_and_the_last_one_counts(table):
    key = table.add("  round   margin ", "ann")
    for case, has in (("s/0.png", True), ("s/1.png", False), ("s/0.png", False), ("s/2.png", True)):
        table.mark(key, [(case, has)], "bob")
    table.mark(key, [("s/1.png", None)])
    (one,) = table.all()
    assert (one.name, one.author, one.deleted) == ("round margin", "ann", None)
    assert [(mark.case, mark.has) for mark in one.marks] == [("s/0.png", False), ("s/2.png", True)]
    assert {mark.author for mark in one.marks} == {"bob"}
    assert one.time
    assert all(mark.time for mark in one.marks)


def test_everybody_has_a_mark_of_their_own_and_the_majority_counts(table):
    key = table.add("round")
    for author, has in (("ann", True), ("bob", False), ("eve", False)):
        table.mark(key, [("s/0.png", has)], author)
    table.mark(key, [("s/1.png", True)], "ann")
    assert table.all()[0].majority() == {"s/0.png": False, "s/1.png": True}
    table.mark(key, [("s/0.png", None)], "eve")
    assert table.all()[0].majority() == {"s/0.png": None, "s/1.png": True}
    table.mark(key, [("s/1.png", None)], "bob")
    assert [(mark.case, mark.author) for mark in table.all()[0].marks] == [
        ("s/0.png", "ann"),
        ("s/0.png", "bob"),
    ]


def test_a_case_that_is_not_there_can_be_marked(table):
    table.mark(table.add("dark"), [("gone/9.png", True)])
    assert [mark.case for mark in table.all()[0].marks] == ["gone/9.png"]


def test_what_is_deleted_comes_back_with_its_marks(table):
    first, second = table.add("dark"), table.add("round")
    table.mark(first, [("s/0.png", True)])
    table.delete(first)
    assert [one.name for one in table.all()] == ["round"]
    assert [one.name for one in table.all(deleted=True)] == ["dark"]
    table.restore(first)
    assert [(one.id, len(one.marks)) for one in table.all()] == [(first, 1), (second, 0)]


@pytest.mark.parametrize(
    ("name", "what"),
    [("", "needs a name"), ("  ", "needs a name"), ("DARK", "called 'dark'"), ("x" * 41, "too long")],
)
def test_names_are_short_and_differ(table, name, what):
    key = table.add("dark")
    other = table.add("round")
    for change in (lambda: table.add(name), lambda: table.rename(other, name)):
        with pytest.raises(BadInput, match=what):
            change()
    table.rename(key, "Dark")
    assert [one.name for one in table.all()] == ["Dark", "round"]
    assert len("x" * MAX_NAME_LENGTH) == len(table.all()[0].name) + 36


def test_a_name_used_meanwhile_is_not_overwritten_by_undo(table):
    key = table.add("dark")
    table.delete(key)
    table.add("Dark")
    with pytest.raises(BadInput, match="called 'Dark'"):
        table.restore(key)


def test_one_that_is_not_there_is_reported(table):
    for change in (
        lambda: table.rename(7, "a"),
        lambda: table.delete(7),
        lambda: table.restore(7),
        lambda: table.mark(7, [("s/0.png", True)]),
    ):
        with pytest.raises(BadArguments, match="no longer"):
            change()
