from __future__ import annotations

import io
import json
import re

from pypdf import PdfReader

from semblance.core.reports.document import VoteFacts
from semblance.core.reports.html import report_html
from semblance.core.reports.json import report_json
from semblance.core.reports.pdf import report_pdf
from semblance.core.reports.visible_names import with_visible_names
from tests.helpers.reports import report, row

NAME, SHOWN = "cas\u202eeno\nx", r"cas\u202eeno\nx"


def test_readers_see_line_breaks_and_marks_of_direction_and_programs_the_name() -> None:
    document = report(
        library=NAME,
        ranking=(row(1, case_id=NAME, finding=NAME, patient=NAME, parts=((NAME, 0.1),)),),
        vote=VoteFacts({NAME: 1}),
        comment="one\ntwo\u202e",
        identified=True,
    )
    pdf = "".join(page.extract_text() for page in PdfReader(io.BytesIO(report_pdf(document))).pages)
    html = report_html(document)
    for text in (pdf.replace("\n", ""), html):
        assert text.count(SHOWN) >= 4
        assert re.search("[\u202a-\u202e]", text) is None
    assert json.loads(report_json(document))["results"][0]["case_id"] == NAME
    assert with_visible_names(document).comment == "one\ntwo\\u202e"
