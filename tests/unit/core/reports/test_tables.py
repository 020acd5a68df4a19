from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from semblance.core.csv_cells import cell
from semblance.core.reports.write_report import report_csv, report_json
from semblance.core.searches.similar_cases import RankedCase, Vote
from tests.helpers.reports import report, row


def _lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_for_every_case_and_a_column_for_every_part() -> None:
    lines = _lines(report_csv(report(rows=3)))
    assert [line["rank"] for line in lines] == ["1", "2", "3"]
    assert float(lines[1]["distance"]) == 0.1 * 2
    assert float(lines[1]["part: Gabor, 5 px"]) == pytest.approx(0.3)
    assert {line["metric"] for line in lines} == {"BDM+V"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "  =", "\r", "＝"])
def test_no_text_starts_a_formula(start: str) -> None:
    evil = f"{start}HYPERLINK(1)"
    document = report(
        metric=evil,
        ranking=(row(1, case_id=evil, finding=evil, judgement=evil, parts=((evil, 0.1),)),),
        identified=True,
    )
    for line in csv.reader(io.StringIO(report_csv(document))):
        for text in line:
            assert not text.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "＝")), text


def test_numbers_are_not_taken_for_formulas() -> None:
    assert cell(-1.5) == "-1.5"
    assert cell(np.float32(0.5)) == "0.5"
    assert cell(np.int64(-3)) == "-3"
    assert (cell(math.nan), cell(None), cell(True), cell("-a")) == ("", "", "yes", "'-a")


def test_json_has_the_shape_of_a_search() -> None:
    document = json.loads(report_json(report()))
    assert set(document) >= {"query", "metric", "results", "hidden", "vote", "no_good_match"}
    shared = {"near_duplicate_findings"} ^ set(RankedCase(1, 1, "c", 0.0, None, None, "").to_json())
    assert set(document["results"][0]) >= shared
    assert set(document["vote"]) == set(Vote().to_json())
    assert document["query"]["region"] == {"kind": "rectangle", "x": 4, "y": 5, "width": 30, "height": 20}
    assert document["hidden"] == {"same_patient": 1, "near_duplicates": 2}
    assert document["results"][0]["path"] is None
    assert sum(part["amount"] for part in document["results"][0]["parts"]) == pytest.approx(0.1)


def test_json_holds_no_number_json_has_not() -> None:
    document = report(
        ranking=(row(1, distance=math.nan, parts=(("a", math.inf),)), row(2, distance=np.float64(0.5)))
    )
    document = json.loads(report_json(document), parse_constant=pytest.fail)
    assert document["results"][0]["distance"] is None
    assert document["results"][1]["distance"] == 0.5
