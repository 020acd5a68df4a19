"""Reports in the user's language: what people read is translated, what scripts read is not."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from pypdf import PdfReader

from semblance.core.language import tr_lazy, translate
from semblance.core.reports.pdf import report_pdf
from semblance.core.reports.redaction import Redactor
from semblance.core.reports.write_report import report_csv, report_html, report_json
from tests.helpers.reports import report
from tests.helpers.use_language import use_language

GERMAN = (
    "Ähnliche Fälle",
    "Befund",
    "Beiträge zum Abstand",
    "4 nächste: 2 malignant, 2 benign",
    "Ausgeblendet: 1 desselben Patienten und 2 derselben Läsion oder Kopien.",
    "zurückgehaltene Patienten",
    "30 × 20 px bei 4, 5",
    "−0,050",
    "De-identifiziert: Fälle sind",
    "Nicht für Entscheidungen über einen Patienten.",
    "Bibliothek mit 1.200 Fällen",
)


def german_report():
    return replace(report(rows=3), library=tr_lazy("Library of {n:,} cases", n=1200))


def test_the_pdf_is_german(german):
    pdf = PdfReader(io.BytesIO(report_pdf(german_report())))
    text = "\n".join(page.extract_text() for page in pdf.pages)
    assert "Seite 1 von" in text
    assert [expected for expected in GERMAN if expected not in " ".join(text.split())] == []


def test_the_page_is_german(german):
    page = report_html(german_report())
    assert '<html lang="de">' in page
    assert [expected for expected in GERMAN if expected not in " ".join(page.split())] == []


def test_what_scripts_read_stays_english(german):
    document = report(rows=3)
    formats = report_json(document), report_csv(document)
    with use_language("en"):
        assert formats == (report_json(document), report_csv(document))
    assert "De-identified" in json.loads(formats[0])["report"]["removed"][0]


def test_what_is_filled_in_is_cleaned_of_patients(german):
    redactor = Redactor(False, {"MUSTER-1234"}, {"/home/MUSTER-1234/a.png": "a"})
    text = redactor.redact(
        tr_lazy("The image {image} is not there any more.", image="/home/MUSTER-1234/a.png")
    )
    assert "MUSTER" not in str(text) + translate(text) + repr(getattr(text, "values", ""))
    parted = redactor.redact(tr_lazy("{a}-{b}", a="MUSTER", b="1234"))
    assert translate(parted) == str(parted) == "[1]"
