"""One call measures a paper's learners on its public tables and writes its page; the next continues."""

from __future__ import annotations

import csv

import pytest
from sklearn.datasets import load_wine

from semblance.core.errors import BadArguments, BadInput
from semblance.core.workflows.research.papers import PapersRequest, run_papers


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The wine table in a folder below."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "tables").mkdir()
    X, y = load_wine(return_X_y=True)
    with (folder / "tables" / "wine.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow([*(f"c{number}" for number in range(13)), "label"])
        writer.writerows([*row.tolist(), f"class {label}"] for row, label in zip(X, y, strict=True))
    return folder


def test_a_paper_is_measured_and_its_page_written(data, tmp_path):
    request = PapersRequest(data, tmp_path / "out", ("ccml",), repeats=1)
    found = run_papers(request, workers=1)
    assert found["papers"] == [
        {"paper": "ccml", "values": 12, "printed": 12, "inside": found["papers"][0]["inside"]}
    ]
    page = (tmp_path / "out" / "ccml.html").read_text(encoding="utf-8")
    assert "6 of 6 cells done, 0 failed" in page
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "experiments").rglob("cells/*")}
    assert before
    assert run_papers(request, workers=1)["papers"] == found["papers"]
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_unknown_papers_and_missing_tables_are_named(data, tmp_path):
    with pytest.raises(BadArguments, match="'ccml2'"):
        run_papers(PapersRequest(data, tmp_path, ("ccml2",)))
    with pytest.raises(BadArguments, match="'iris2'"):
        run_papers(PapersRequest(data, tmp_path, tables=("iris2",)))
    with pytest.raises(BadInput, match="none of the tables of the paper 'boostmetric'") as error:
        run_papers(PapersRequest(data, tmp_path, tables=("letter",)))
    assert "letter" in error.value.hint
