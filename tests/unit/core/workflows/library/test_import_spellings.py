"""Names, findings and files that are written differently and mean the same, from import to search."""

from __future__ import annotations

import unicodedata

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.check_data import check_data
from semblance.core.workflows.library.data_issues import IssueKind
from semblance.core.workflows.library.edit_cases import set_finding
from semblance.core.workflows.library.edit_findings import add_finding, rename_finding
from semblance.core.workflows.library.find_cases import find_cases
from semblance.core.workflows.library.import_labels import LabelLineStatus, import_labels
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.bad_images import encoded, pattern

FORMS = ("NFC", "NFD")


def source_of(folder, on_disk: str, in_list: str) -> None:
    folder.mkdir()
    lines = ["file;finding;patient"]
    for i, name in enumerate(("Läsion", "Käfer", "Ödem")):
        (folder / unicodedata.normalize(on_disk, f"{name}{i}.png")).write_bytes(encoded(pattern(seed=i)))
        finding = unicodedata.normalize(FORMS[i % 2], "bösartig").upper() if i != 1 else "Bösartig"
        lines.append(unicodedata.normalize(in_list, f"{name}{i}.png") + f";{finding};nan")
    (folder / "labels.csv").write_text("\n".join(lines), encoding="utf-16")


@pytest.mark.parametrize("on_disk", FORMS)
@pytest.mark.parametrize("in_list", FORMS)
def test_names_are_found_in_any_form_of_their_letters(tmp_path, on_disk, in_list):
    source_of(tmp_path / "s", on_disk, in_list)
    library = tmp_path / "l.semblance"
    result = import_source(tmp_path / "s", library)
    assert (result.failed, result.findings, result.patients) == ([], {"Bösartig": 3}, None)
    assert any("differ only in spelling" in note for note in result.notes)
    again = import_source(tmp_path / "s", library)
    assert (again.unchanged, again.relabelled, again.removed) == (3, 0, [])
    with Library.open(library) as opened:
        for form in FORMS:
            assert opened.catalogue.row_of(unicodedata.normalize(form, "s/Käfer1.png"))
    for form in FORMS:
        assert len(find_cases(library, unicodedata.normalize(form, "käf")).cases) == 1
        assert len(find_cases(library, unicodedata.normalize(form, "BÖSART")).cases) == 3
    labels = tmp_path / "x.csv"
    labels.write_text(
        f"file,finding\n{unicodedata.normalize(on_disk, 'Ödem2.png')},Köper\nKäfer1,?\n", "utf-16"
    )
    lines = import_labels(library, labels).lines
    assert [line.state for line in lines] == [LabelLineStatus.CHANGED, LabelLineStatus.SAME]


def test_findings_stay_apart_if_they_are_taken_exactly(tmp_path):
    source_of(tmp_path / "s", "NFC", "NFC")
    result = import_source(
        tmp_path / "s", tmp_path / "l.semblance", settings=["findings=exact", "encoding=utf-16"]
    )
    assert result.findings == {"BÖSARTIG": 2, "Bösartig": 1}
    assert not any("spelling" in note for note in result.notes)


def test_a_finding_given_by_hand_has_the_name_of_the_library(tmp_path):
    source_of(tmp_path / "s", "NFC", "NFC")
    library = tmp_path / "l.semblance"
    import_source(tmp_path / "s", library)
    set_finding(library, ["s/Käfer1.png"], "gutartig")
    set_finding(library, ["s/Käfer1.png"], "BÖSARTIG ")
    with Library.open(library) as opened:
        assert opened.summary()["findings"] == {"Bösartig": 3}
    with pytest.raises(BadArguments, match="finding 'Bösartig' already"):
        add_finding(library, unicodedata.normalize("NFD", "bösartig"))
    rename_finding(library, "Bösartig", "bösartig")
    with Library.open(library) as opened:
        assert opened.summary()["findings"] == {"bösartig": 3}


def test_import_evaluation_and_data_check_say_that_a_column_tells_the_finding(tmp_path):
    rows = [f"{i % 7 + i / 100},{i + i % 2 / 2},{'ab'[i >= 30]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("a,made,label\n" + "\n".join(rows) + "\n")
    library = tmp_path / "l.semblance"
    result = import_source(tmp_path / "t.csv", library)
    assert [note for note in result.notes if "one column alone determines the finding: 'made'" in note]
    request = EvaluateRequest(("euclidean",), "metricboost", table=str(tmp_path / "t.csv"), repeats=1)
    (note,) = evaluate(request)["notes"]
    assert "'made' (1.000)" in note
    extract_features(library, "raw")
    (issue,) = [one for one in check_data(library).issues if one.check == IssueKind.TELLING_COLUMN]
    assert "'made'" in issue.text
    assert len(issue.case_ids) == 2
