from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from pypdf import PdfReader

from semblance.core.reports.document import with_visible_names
from semblance.core.reports.formatting import digits_for, distance_text
from semblance.core.reports.pdf import report_pdf
from semblance.core.reports.write_report import report_html, report_json
from tests.helpers.reports import report, row
from tests.helpers.reports import vote as make_vote

NAME, SHOWN = "cas\u202eeno\nx", r"cas\u202eeno\nx"


def texts(*distances: float) -> list[str]:
    digits = digits_for(distances)
    return [distance_text(one, digits) for one in distances]


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ((1.9171, 1.9702, 2.0823), ["1.917", "1.970", "2.082"]),
        ((1.9171, 2.08231, 2.08244), ["1.9171", "2.0823", "2.0824"]),
        ((0.00121, 0.00134, 0.00138), ["0.0012", "0.0013", "0.0014"]),
        ((0.001211, 0.001212), ["0.001211", "0.001212"]),
        ((12.3451, 12.3452), ["12.345", "12.345"]),
        ((1234.1, 1234.2), ["1234", "1234"]),
        ((0.00041, 0.00042), ["4.10e-04", "4.20e-04"]),
        ((0.00041001, 0.00041004), ["4.1001e-04", "4.1004e-04"]),
        ((1.2e-7, 3.4e-7, 0.5), ["1.20e-07", "3.40e-07", "0.500"]),
        ((0.0, 0.0, 0.25), ["0.000", "0.000", "0.250"]),
    ],
)
def test_neighbours_differ_with_as_few_digits_as_that_takes(distances, expected) -> None:
    assert texts(*distances) == expected


def test_what_is_one_distance_computed_twice_asks_for_no_digits() -> None:
    assert texts(0.25, 0.25 * (1 + 1e-9), 0.5) == ["0.250", "0.250", "0.500"]


def test_nearly_equal_distances_add_no_digits_to_the_others() -> None:
    assert texts(2.1, 2.1 + 1e-5, 2.9) == ["2.100", "2.100", "2.900"]


def test_only_the_first_distances_set_the_digits() -> None:
    near = np.linspace(1.0, 2.0, 20)
    assert digits_for([*near, 3.00001, 3.0002]) == digits_for(near) == 3


@pytest.mark.parametrize("distances", [(), (0.0,), (float("inf"), 1.0), (0.3,)])
def test_rankings_without_neighbours_have_three_digits(distances) -> None:
    assert digits_for(distances) == 3


def test_it_is_written_as_the_language_does(german) -> None:
    assert texts(0.00121, 0.00134) == ["0,0012", "0,0013"]
    assert texts(0.00041001, 0.00041004) == ["4,1001e-04", "4,1004e-04"]


def test_readers_see_line_breaks_and_marks_of_direction_and_programs_the_name() -> None:
    document = report(
        library=NAME,
        ranking=(row(1, case_id=NAME, finding=NAME, patient=NAME, parts=((NAME, 0.1),)),),
        vote=make_vote({NAME: 1}),
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
