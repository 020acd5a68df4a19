"""What readers accept and reject leaves as a DICOM object that refers to the report of the search."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from highdicom.sr import srread
from pydicom import dcmread

from semblance.app.cli.main import run
from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.library import Library
from semblance.core.purpose import PURPOSE
from semblance.core.reports.dicom.structured_report import person_name
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.reports import report_objects
from semblance.core.workflows.reports.embedded_search import reopen_report
from semblance.core.workflows.reports.write_reports import write_report_files, write_reports
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from tests.helpers.mammogram_library import PATIENTS, mammogram_library

LIKED, DISLIKED = JudgementKind.ALIKE, JudgementKind.NOT_ALIKE


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return mammogram_library(tmp_path_factory.mktemp("assessed"))


@pytest.fixture(scope="module")
def cases(library) -> list[str]:
    with Library.open(library) as opened:
        return [row.case_id for row in opened.catalogue.all_cases()]


def search(cases, **changes) -> Search:
    return Search("plain", Query(case=cases[0]), **changes)


def written(library, out, asked: Search, *, identified: bool = False, **options):
    chosen = ReportOptions(identified=identified, dicom="assessment", **options)
    return write_report_files(library, asked, out / "assessment.dcm", chosen)


def read(file) -> dict[tuple[str, str], str]:
    """(category, tracking UID) -> what is said, of the groups of an assessment, by highdicom."""
    found = {}
    for group in srread(file).content.get_image_measurement_groups():
        (said,) = [one for one in group.get_qualitative_evaluations() if one.name.value == "assessment"]
        assert said.name.scheme_designator == "99SEMBLANCE"
        assert said.value.scheme_designator == "99SEMBLANCE"
        found[group.finding_category.value, str(group.tracking_uid)] = said.value.value
    return found


def item(made, code: str):
    (found,) = [one for one in made.ContentSequence if one.ConceptNameCodeSequence[0].CodeValue == code]
    return found


def observer(made) -> str:
    return str(item(made, "121008").PersonName)


def tracking_uids(report) -> dict[str, str]:
    """Tracking UID -> category of the groups of a structured report."""
    groups = srread(report).content.get_image_measurement_groups()
    return {str(group.tracking_uid): group.finding_category.value for group in groups}


def said_errors(file) -> list[str]:
    said = subprocess.run(["dciodvfy", str(file)], capture_output=True, text=True, check=False).stderr
    return [line for line in said.splitlines() if line.startswith("Error")]


@pytest.mark.parametrize("identified", [False, True])
def test_marks_are_accepted_and_rejected_cases_of_the_report(library, cases, tmp_path, identified):
    asked = search(cases, like=(cases[3], cases[5]), unlike=(cases[2],))
    file, report, *_ = written(library, tmp_path, asked, identified=identified, reader="Ann^Other")
    made, assessed = dcmread(file), dcmread(report)
    reference = item(made, "assessed-result").ReferencedSOPSequence[0]
    assert (reference.ReferencedSOPClassUID, reference.ReferencedSOPInstanceUID) == (
        assessed.SOPClassUID,
        assessed.SOPInstanceUID,
    )
    evidence = made.CurrentRequestedProcedureEvidenceSequence[0].ReferencedSeriesSequence[0]
    assert evidence.ReferencedSOPSequence[0].ReferencedSOPInstanceUID == assessed.SOPInstanceUID
    for keyword in ("PatientID", "PatientName", "StudyInstanceUID", "AccessionNumber"):
        assert made.get(keyword) == assessed.get(keyword), keyword
    assert made.CodingSchemeIdentificationSequence[0].CodingSchemeDesignator == "99SEMBLANCE"
    assert item(made, "purpose").TextValue == PURPOSE
    groups = read(file)
    assert sorted(groups.values()) == ["accepted", "accepted", "rejected"]
    known = tracking_uids(report)
    assert all(known[uid] == category == "similar-case" for category, uid in groups)
    assert observer(made) == ("Ann Other^" if identified else "Reader 1^")
    content = file.read_bytes()
    assert (b"Ann Other" in content) == identified
    if not identified:
        assert b"MRN" not in content and b"Quixley" not in content
    assert not any(case.encode() in content for case in cases)


def test_a_rejected_case_is_in_the_report_that_is_assessed(library, cases, tmp_path):
    # Marks put it last; the result that is assessed is that before them.
    with_marks = search(cases, unlike=(cases[1],))
    _, marked, *_ = written(library, tmp_path, with_marks)
    (plain, *_) = write_report_files(library, search(cases), tmp_path / "sr.dcm", ReportOptions(dicom="sr"))
    assert list(tracking_uids(marked)) == list(tracking_uids(plain))
    assert len(tracking_uids(marked)) == PATIENTS


def test_judgements_in_force_count_and_each_reader_has_a_document(library, cases, tmp_path):
    asked = search(cases, ledger="two readers")

    def mark(case: str, kind: JudgementKind, author: str) -> list[int]:
        return add_judgements(library, asked, [Judgement(kind, cases[0], case)], author=author).entries[-1:]

    mark(cases[1], LIKED, "anna")
    mark(cases[2], DISLIKED, "anna")
    mark(cases[2], LIKED, "bert")
    # Changed her mind, and a comparison that is no mark.
    mark(cases[1], DISLIKED, "anna")
    add_judgements(
        library, asked, [Judgement(JudgementKind.CLOSER, cases[0], cases[4], cases[5])], author="anna"
    )
    # A mark on another query.
    add_judgements(library, asked, [Judgement(LIKED, cases[6], cases[7])], author="anna")
    anna, bert, report, *_ = written(library, tmp_path, asked, identified=True)
    assert [observer(dcmread(one)) for one in (anna, bert)] == ["anna^", "bert^"]
    assert sorted(read(anna).values()) == ["rejected", "rejected"]
    assert list(read(bert).values()) == ["accepted"]
    assert dcmread(report).SOPInstanceUID not in (dcmread(anna).SOPInstanceUID, dcmread(bert).SOPInstanceUID)
    names = [observer(dcmread(one)) for one in written(library, tmp_path, asked)[:2]]
    assert names == ["Reader 1^", "Reader 2^"]


@pytest.mark.parametrize("word", ["accepted", "rejected"])
def test_the_estimate_is_accepted_or_rejected(library, cases, tmp_path, word, monkeypatch):
    estimated(monkeypatch)
    file, report, *_ = written(library, tmp_path, search(cases), estimate=word)
    ((category, uid), said), *others = read(file).items()
    assert (category, said, others) == ("estimate", word, [])
    assert tracking_uids(report)[uid] == "query"


def estimated(monkeypatch) -> None:
    """Let the document have an estimate; twelve cases are too few to be calibrated."""
    document = report_objects.report_document

    def with_estimate(*args, **kwargs):
        made = document(*args, **kwargs)
        vote = made.vote
        for name, value in (("probability", 0.7), ("finding", "malignant")):
            object.__setattr__(vote, name, value)
        return made

    monkeypatch.setattr(report_objects, "report_document", with_estimate)


def test_what_is_not_there_cannot_be_assessed(library, cases, tmp_path):
    with pytest.raises(BadInput, match="Nothing is assessed"):
        written(library, tmp_path, search(cases))
    with pytest.raises(BadInput, match="no estimate"):
        written(library, tmp_path, search(cases), estimate="accepted")
    with pytest.raises(BadArguments, match="'perhaps'"):
        ReportOptions(dicom="assessment", estimate="perhaps")
    with pytest.raises(BadArguments, match="assessment"):
        ReportOptions(dicom="sr", estimate="accepted")
    options = ReportOptions(dicom="assessment", estimate="accepted")
    with pytest.raises(BadArguments, match="one query"):
        write_reports(library, search(cases), cases[:2], tmp_path / "many", "dcm", options)
    assert list(tmp_path.iterdir()) == []


def test_an_assessment_is_no_search(library, cases, tmp_path):
    file, report, *_ = written(library, tmp_path, search(cases, like=(cases[3],)))
    assert reopen_report(library, report).query.case == cases[0]
    with pytest.raises(BadInput):
        reopen_report(library, file)


def test_the_terminal_writes_it(library, cases, tmp_path, capsys):
    out = tmp_path / "a.dcm"
    asked = ["report", str(library), "--metric", "plain", "--case", cases[0], "--out", str(out)]
    assert run([*asked, "--as", "assessment", "--like", cases[1], "--unlike", f"{cases[2]},{cases[3]}"]) == 0
    assert sorted(read(out).values()) == ["accepted", "rejected", "rejected"]
    assert capsys.readouterr().out.split() == [str(out), str(tmp_path / "a-sr.dcm")]
    assert run([*asked, "--as", "assessment", "--like", "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err
    assert run([*asked, "--as", "assessment", "--like", cases[1], "--unlike", cases[1]]) == 2
    assert run([*asked, "--as", "assessment"]) == 1
    assert "Nothing is assessed" in capsys.readouterr().err


def test_a_name_of_an_account_is_one_component():
    assert person_name("Doe^Jane=X\\Y\n") == "Doe Jane X Y^"
    assert person_name("  ") == "Reader^"
    assert len(person_name("x" * 200)) == 64


@pytest.mark.skipif(shutil.which("dciodvfy") is None, reason="dciodvfy of dicom3tools is not installed")
@pytest.mark.parametrize("identified", [False, True])
def test_the_object_is_valid(library, cases, tmp_path, identified, monkeypatch):
    estimated(monkeypatch)
    asked = search(cases, like=(cases[3],))
    for file in written(library, tmp_path, asked, identified=identified, estimate="rejected"):
        assert said_errors(file) == [], file
