from __future__ import annotations

import csv
import dataclasses
import io
import json
import re

from pypdf import PdfReader

from semblance.core.reports.document import LabelledValue, ReportDocument, ReportedQuery
from semblance.core.reports.pdf import report_pdf
from semblance.core.reports.redaction import CaseNames, Redactor
from semblance.core.reports.write_report import report_csv, report_html, report_json
from tests.helpers.reports import PATIENT, QUERY_PATIENT, report, row


def _everything(document: ReportDocument) -> str:
    pdf = PdfReader(io.BytesIO(report_pdf(document)))
    text = "".join(page.extract_text() for page in pdf.pages) + str(pdf.metadata)
    return report_html(document) + report_csv(document) + report_json(document) + text + repr(document)


def test_no_patient_and_no_file_is_named_by_default() -> None:
    texts = _everything(
        report(
            title=f"Cases like study/{QUERY_PATIENT}/query.png",
            library="/home/someone/Breast.semblance",
            notes=(
                f"{PATIENT} was seen twice.",
                "Read from /srv/images/a.png",
                "PAT-9 came from elsewhere.",
                "The file case 2.png is small.",
            ),
            card=(LabelledValue("Features", r"C:\data\someone\gabor"),),
            patients=("PAT-9",),
        )
    )
    secrets = (
        PATIENT,
        QUERY_PATIENT,
        PATIENT.lower(),
        "PAT-9",
        "/srv",
        "someone",
        "study/",
        "study\\",
        "query.png",
    )
    for secret in (*secrets, "case 1.png", "case 2.png"):
        assert secret not in texts, secret
    assert "Cases like Case 1" in texts
    assert "The file Case 3 is small." in texts
    assert "Breast.semblance" in texts
    assert "De-identified" in texts


def test_an_identified_report_shows_everything() -> None:
    texts = _everything(report(identified=True))
    for identifying in (PATIENT, QUERY_PATIENT, "/srv/images"):
        assert identifying in texts
    assert "Identified: patient ids and file paths are included." in texts


def test_cases_are_numbered_from_the_query_on() -> None:
    names = ("b.png", "a", f"x/{PATIENT}.png", "7")
    document = report(ranking=tuple(row(n, case_id=name) for n, name in enumerate(names, start=1)))
    assert document.query.case_id == "Case 1"
    assert [ranked.case_id for ranked in document.ranking] == ["Case 2", "Case 3", "Case 4", "Case 5"]
    assert (document.judgements[0].a, document.judgements[0].b) == ("Case 1", "Case 6")


def test_reports_that_share_names_call_a_case_the_same() -> None:
    names = CaseNames()
    first = report(case_names=names)
    second = report(case_names=names, ranking=(row(1, case_id="new"), row(3)))
    assert [one.case_id for one in second.ranking] == ["Case 6", first.ranking[2].case_id]
    assert first.case_names is None


def test_short_ids_leave_words_alone() -> None:
    ranking = (row(1, patient="7", case_id="7-L17.png", path=None),)
    document = report(ranking=ranking, notes=("7 of 17 rounds, patient 7.",))
    assert document.notes == ("7 of 17 rounds, patient 7.",)


def test_ids_are_not_found_within_longer_ones() -> None:
    document = report(notes=("12345678", "12345"), patients=("12345",))
    assert document.notes == ("12345678", "[1]")
    assert "Patient ids inside texts are replaced by numbers in brackets." in document.removed
    document = report(ranking=(row(1, case_id="t/c1", path=None),), notes=("t/c12 and t/c1",))
    assert document.notes == ("t/c12 and Case 2",)


def test_names_of_100000_patients_are_redacted() -> None:
    patients = tuple(f"QX{number:07d}" for number in range(100_000))
    document = report(notes=(f"{patients[77_777]} came back.",), patients=patients)
    assert re.fullmatch(r"\[\d+\] came back\.", document.notes[0])
    assert document.patients == ()


def test_an_image_from_outside_is_not_named_by_its_file_name() -> None:
    query = ReportedQuery(image="/home/someone/query.png")
    assert report(query=query).query.image == "Query image"
    assert report(query=query, identified=True).query.image == "/home/someone/query.png"


def test_a_document_made_from_another_stays_clean() -> None:
    again = dataclasses.replace(report(), title="Again")
    assert again.ranking[0].patient is None
    assert again.ranking[0].case_id == "Case 2"


def test_fractions_and_slashes_in_notes_stay() -> None:
    note = "Split 70/30, w / h = 3, and/or 1 / 2."
    assert report(notes=(note,)).notes == (note,)


def test_tables_name_patients_only_when_identified() -> None:
    assert "patient_id" not in report_csv(report()).splitlines()[0]
    lines = list(csv.DictReader(io.StringIO(report_csv(report(identified=True)))))
    assert lines[0]["patient_id"] == PATIENT
    assert "patient" not in json.loads(report_json(report()))["results"][0]
    assert json.loads(report_json(report(identified=True)))["results"][0]["patient"] == PATIENT


def test_names_no_encoding_has_are_replaced() -> None:
    document = report(ranking=(row(1, case_id="bad\udcff\x07name.png"),), identified=True)
    assert document.ranking[0].case_id == r"bad?\x07name.png"
    _everything(document).encode()


def test_numbers_of_studies_and_series_are_not_reported():
    uid = "1.2.826.0.1.3680043.10.1430.2"
    hidden = Redactor(False, ()).redact(
        {"series": uid, "size": "1.25 x 2.5", "text": f"of {uid}, as reported"}
    )
    assert hidden == {"series": "(DICOM id)", "size": "1.25 x 2.5", "text": "of (DICOM id), as reported"}
    assert Redactor(True, ()).redact(uid) == uid
