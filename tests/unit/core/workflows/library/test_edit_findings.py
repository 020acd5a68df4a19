"""Findings are added, renamed, merged, recoloured, ordered and deleted; every one of these can be undone."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.workflows.library.edit_findings import (
    add_finding,
    delete_finding,
    list_findings,
    merge_findings,
    order_findings,
    recolour_finding,
    rename_finding,
)
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.library.undo_edits import undo
from tests.helpers.libraries import finding_of, make_library


@pytest.fixture
def path(tmp_path):
    return make_library(tmp_path / "lib.semblance", findings=("benign", "malignant", "cyst"))


def listed(path):
    return [(one.name, one.colour, one.cases) for one in list_findings(path)]


ORIGINAL = [("malignant", "vermillion", 2), ("benign", "sky blue", 2), ("cyst", "bluish green", 2)]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda path: add_finding(path, "normal"), [*ORIGINAL, ("normal", "orange", 0)]),
        (
            lambda path: rename_finding(path, "malignant", "zz"),
            [("zz", "vermillion", 2), ("benign", "sky blue", 2), ("cyst", "bluish green", 2)],
        ),
        (
            lambda path: merge_findings(path, ["benign", "cyst"], "benign"),
            [("malignant", "vermillion", 2), ("benign", "sky blue", 4)],
        ),
        (
            lambda path: merge_findings(path, ["benign", "cyst"], "harmless"),
            [("malignant", "vermillion", 2), ("harmless", "sky blue", 4)],
        ),
        (
            lambda path: recolour_finding(path, "cyst", "blue"),
            [("malignant", "vermillion", 2), ("benign", "sky blue", 2), ("cyst", "blue", 2)],
        ),
        (
            lambda path: order_findings(path, ["cyst"]),
            [("cyst", "bluish green", 2), ("malignant", "vermillion", 2), ("benign", "sky blue", 2)],
        ),
        (
            lambda path: delete_finding(path, "malignant"),
            [("benign", "sky blue", 2), ("cyst", "bluish green", 2)],
        ),
    ],
)
def test_findings_are_changed_and_changed_back(path, edit, expected):
    assert listed(path) == ORIGINAL
    before = finding_of(path)
    edit(path)
    assert listed(path) == expected
    snapshot = read_snapshot(path)
    assert list(snapshot.columns.findings) == [name for name, _, _ in expected]
    assert snapshot.columns.finding_counts.tolist()[:-1] == [cases for _, _, cases in expected]
    undo(path)
    assert listed(path) == ORIGINAL
    assert finding_of(path) == before


def test_cases_of_a_deleted_finding_have_none(path):
    delete_finding(path, "malignant")
    assert list(finding_of(path).values()).count(None) == 2


def test_prevalences_follow_their_findings(path):
    with Library.open(path) as library:
        library.set_prevalences({"benign": 0.2, "cyst": 0.1})
    rename_finding(path, "cyst", "simple cyst")
    merge_findings(path, ["simple cyst"], "benign")
    with Library.open(path) as library:
        assert library.prevalences == pytest.approx({"benign": 0.3})
    undo(path)
    undo(path)
    with Library.open(path) as library:
        assert library.prevalences == {"benign": 0.2, "cyst": 0.1}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda path: add_finding(path, "benign"),
        lambda path: rename_finding(path, "cyst", "benign"),
        lambda path: rename_finding(path, "other", "x"),
        lambda path: merge_findings(path, ["benign"], "benign"),
        lambda path: recolour_finding(path, "benign", "red"),
        lambda path: delete_finding(path, "other"),
    ],
)
def test_what_makes_no_sense_is_refused(path, wrong):
    with pytest.raises(BadArguments):
        wrong(path)
    assert listed(path) == ORIGINAL
