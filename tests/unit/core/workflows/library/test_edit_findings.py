"""Findings are added, renamed, merged, recoloured, ordered and deleted; every one of these can be undone."""

from __future__ import annotations

import shutil

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.workflows.library.describe_library import describe_library
from semblance.core.workflows.library.edit_cases import set_finding
from semblance.core.workflows.library.edit_findings import (
    add_finding,
    delete_finding,
    list_findings,
    merge_findings,
    order_findings,
    recolour_finding,
    rename_finding,
    set_finding_rule,
)
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.library.undo_edits import undo
from tests.helpers.bad_images import encoded, pattern
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


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rule")
    source = folder / "chest"
    source.mkdir()
    for i in range(4):
        (source / f"{i}.png").write_bytes(encoded(pattern(seed=i)))
    (source / "list.csv").write_text(
        "Image Index,Finding Labels,Patient ID,snomed\n0.png,Mass|Nodule,a,4147007|27925004\n1.png,Mass,b,4147007\n"
        "2.png,No Finding,c,\n3.png,Nodule|Mass,d,\n"
    )
    result = import_source(source, folder / "chest.semblance")
    return source, folder / "chest.semblance", result


@pytest.fixture
def library(imported, tmp_path):
    return shutil.copytree(imported[1], tmp_path / "chest.semblance")


def findings(library):
    return describe_library(library)["findings"]


def test_an_import_says_by_which_rule_and_so_does_the_library(imported):
    _, library, result = imported
    lists = result.to_json()["lists"]
    assert lists["columns"] == {
        "image": "Image Index",
        "finding": "Finding Labels",
        "patient": "Patient ID",
        "code": "snomed",
    }
    assert lists["rule"]["chosen"] == "combination"
    assert lists["cases_with_several"] == 2
    assert describe_library(library)["finding_rules"] == {"chest": lists["rule"]}
    assert findings(library) == {"Mass": 1, "Mass + Nodule": 2, "No Finding": 1}


def test_the_rule_is_changed_and_undone(library):
    assert set_finding_rule(library, "first", dry_run=True).changed == 2
    assert set_finding_rule(library, "first").changed == 2
    assert findings(library) == {"Mass": 2, "No Finding": 1, "Nodule": 1}
    assert describe_library(library)["finding_rules"]["chest"]["chosen"] == "first"
    undo(library)
    assert findings(library) == {"Mass": 1, "Mass + Nodule": 2, "No Finding": 1}
    assert describe_library(library)["finding_rules"]["chest"]["chosen"] == "combination"


def test_a_person_has_the_last_word_and_an_import_keeps_the_rule(imported, library):
    set_finding(library, ["chest/3.png"], "Cyst")
    result = set_finding_rule(library, "nodule")
    assert (result.changed, result.summary["kept"]) == (3, 1)
    expected = {"Cyst": 1, "No Nodule": 2, "Nodule": 1}
    assert findings(library) == expected
    again = import_source(imported[0], library)
    assert (again.unchanged, again.relabelled, again.lists["rule"]["chosen"]) == (4, 0, "Nodule")
    assert findings(library) == expected
    import_source(imported[0], library, settings=["several=first"])
    assert findings(library) == {"Cyst": 1, "Mass": 2, "No Finding": 1}


def test_a_rule_for_nothing_is_refused(library):
    with pytest.raises(BadArguments, match="No case of the list has the finding 'Hernia'"):
        set_finding_rule(library, "Hernia")
