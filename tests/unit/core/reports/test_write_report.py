from __future__ import annotations

import errno
import html
import io
import os
from pathlib import Path

import pytest
from pydicom import dcmread
from pypdf import PdfReader

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.purpose import PURPOSE
from semblance.core.reports.write_report import WRITERS, write_report
from tests.helpers.reports import report

STARTS = {
    ".pdf": b"%PDF-",
    ".html": b"<!DOCTYPE html>",
    ".csv": b"query,",
    ".json": b"{",
    ".HTM": b"<!DOCTYPE",
}


@pytest.mark.parametrize("suffix", STARTS)
def test_the_ending_chooses_the_kind(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"a report{suffix}"
    write_report(report(), target)
    assert target.read_bytes().startswith(STARTS[suffix])
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("identified", [False, True])
@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_states_the_intended_purpose(tmp_path: Path, suffix: str, identified: bool) -> None:
    target = tmp_path / f"report{suffix}"
    write_report(report(identified=identified), target)
    content = target.read_bytes()
    if suffix == ".dcm":
        content = bytes(dcmread(target).EncapsulatedDocument)
    text = content.decode("utf-8", "ignore")
    if content.startswith(b"%PDF"):
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]
        # At the foot of every page.
        assert all(PURPOSE in " ".join(page.split()) for page in pages)
        return
    assert PURPOSE in html.unescape(" ".join(text.split()))


@pytest.mark.parametrize("name", ["report.docx", "report", "report.pdf.exe"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadArguments, match="report") as caught:
        write_report(report(), tmp_path / name)
    assert ".pdf, .html, .csv, .json or .dcm" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SemblanceError, match="nowhere"):
        write_report(report(), tmp_path / "nowhere" / "report.csv")


def test_a_folder_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / "report.csv").mkdir()
    with pytest.raises(SemblanceError, match=r"report\.csv"):
        write_report(report(), tmp_path / "report.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]


def test_a_name_too_long_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SemblanceError, match="was not written") as caught:
        write_report(report(), tmp_path / f"{'x' * 300}.csv")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("number", "message"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "was not written")]
)
def test_a_failed_write_keeps_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, message: str
) -> None:
    target = tmp_path / "report.csv"
    target.write_text("earlier")

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SemblanceError, match=message) as caught:
        write_report(report(), target)
    assert caught.value.hint
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]
