"""The rule by which cases with several findings have one is stored, changed without an import, and undone."""

from __future__ import annotations

import shutil

import pytest

from semblance.core.errors import BadArguments
from semblance.core.workflows.library.describe_library import describe_library
from semblance.core.workflows.library.edit_cases import set_finding
from semblance.core.workflows.library.edit_finding_rule import set_finding_rule
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.undo_edits import undo
from tests.helpers.bad_images import encoded, pattern


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
