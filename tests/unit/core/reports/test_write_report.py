from __future__ import annotations

import errno
import html
import io
import itertools
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pydicom import dcmread
from pypdf import PdfReader

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.files import write_file
from semblance.core.purpose import PURPOSE
from semblance.core.reports.document import UNKNOWN_MARK, ReportedQuery, ReportPlot
from semblance.core.reports.write_report import WRITERS, check_suffix, report_bytes, report_html
from tests.helpers.reports import HOSTILE, png, report, row
from tests.helpers.reports import vote as make_vote


def write_report(document, path):
    check_suffix(path)
    write_file(path, report_bytes(document, path.suffix), private=False)


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


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "col", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _page(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    assert page.open == []
    return page


def test_nothing_is_loaded_from_anywhere() -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    html = report_html(report(plots=(ReportPlot("Curve", png(), svg),), identified=True))
    assert not re.search(r"https?://|//[a-z]|url\(|@import|<script|<link|<iframe", html, re.IGNORECASE)
    page = _page(html)
    addresses = [attrs[name] or "" for _, attrs in page.tags for name in ("src", "href") if name in attrs]
    assert len(addresses) == 1 + 4 + 4 + 1  # query, large and small images of four cases, plot
    assert all(address.startswith("data:image/") for address in addresses)
    assert any(address.startswith("data:image/svg+xml") for address in addresses)


def test_hostile_names_stay_text() -> None:
    document = report(
        title=HOSTILE,
        library=HOSTILE,
        metric=HOSTILE,
        notes=(HOSTILE,),
        findings=(),
        ranking=(row(1, case_id=HOSTILE, finding=HOSTILE, judgement=HOSTILE, parts=((HOSTILE, 0.1),)),),
        vote=make_vote({HOSTILE: 1}),
        identified=True,
    )
    html = report_html(document)
    page = _page(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert page.text.count(HOSTILE) >= 8


def test_html_report_contains_the_estimate_the_privacy_note_and_hidden_cases() -> None:
    page = _page(report_html(report()))
    text = " ".join(page.text.split())
    for expected in (
        "de-identified",
        "4 nearest: 2 malignant, 2 benign",
        "No estimate. Not calibrated on held-out cases.",
        "Not for decisions about a patient.",
        "2026-03-01 14:05 UTC",
        "Hidden: 1 of the same patient and 2 of the same lesion or copies.",
        "−0.050",
        "held-out patients",
    ):
        assert expected in text, expected
    assert text.count("Not for decisions about a patient.") == 1


def test_a_calibrated_estimate_says_on_what() -> None:
    vote = make_vote(
        {"malignant": 7, "benign": 3},
        "malignant",
        probability=0.71,
        interval=(0.49, 0.87),
        measured_on="held-out patients",
    )
    text = _page(report_html(report(vote=vote))).text
    assert "Estimate for malignant: 0.71 (0.49–0.87), from held-out patients." in text


def test_the_nearest_without_a_finding_are_counted_too() -> None:
    html = report_html(report(vote=make_vote({"malignant": 2}, "malignant", without=8)))
    assert "10 nearest: 2 malignant, 8 not given" in _page(html).text
    chips = html[html.index('class="vote"') :].partition("</div>")[0]
    assert chips.count('class="chip"') == 10


def test_bars_stay_inside_their_columns() -> None:
    rows = (row(1, distance=0.0, parts=()), row(2, distance=0.4, parts=(("a", -0.2), ("b", 0.6))))
    html = report_html(report(ranking=rows))
    places = re.findall(r"left:([\d.]+)%;width:([\d.]+)%", html)
    assert len(places) == 2
    assert all(float(left) + float(width) <= 100.1 for left, width in places)
    assert re.findall(r'class="bar"><i style="width:([\d.]+)%', html) == ["0.0", "100.0"]


def test_cases_without_an_image_say_so() -> None:
    text = _page(report_html(report(ranking=(row(1, thumbnail=None), row(2, thumbnail=b"broken"))))).text
    assert text.count("no image") == 2 + 2


def test_an_empty_report_is_explained() -> None:
    assert "No case was ranked." in report_html(report(ranking=(), vote=make_vote({})))


@pytest.mark.parametrize("with_images", [True, False])
def test_it_can_be_read_with_a_screen_reader(with_images: bool) -> None:
    changes = {"thumbnail": png()} if with_images else {"thumbnail": None}
    rows = tuple(row(rank, **changes) for rank in range(1, 12))
    query = ReportedQuery("query", finding="benign", **changes)
    page = _page(report_html(report(ranking=rows, query=query, tested="Tested with 60 queries.")))
    tags = [tag for tag, _ in page.tags]
    assert dict(page.tags[0][1])["lang"] == "en"
    assert [tags.count(one) for one in ("title", "header", "main", "footer", "h1")] == [1] * 5
    # A header or footer inside of main is no landmark.
    assert tags.index("header") < tags.index("main") < tags.index("footer")
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    images = [attributes["alt"] for tag, attributes in page.tags if tag == "img"]
    assert all(images)
    assert sum("Case 3, benign" in (alt or "") for alt in images) == (2 if with_images else 0)
    heads = [attributes.get("scope") for tag, attributes in page.tags if tag == "th"]
    assert set(heads) == {"col", "row"}
    assert tags.count("table") >= 2
    assert not any(tabindex for _, attributes in page.tags if (tabindex := attributes.get("tabindex")))


def test_every_head_of_a_column_has_a_text() -> None:
    assert not re.search(r"<th[^>]*></th>", report_html(report()))


def test_texts_have_enough_contrast() -> None:
    html = report_html(report())
    colours = dict(re.findall(r"--(\w+): (#\w{6})", html))
    for name in ("text", "second", "third"):
        assert _contrast(colours[name], colours["panel"]) >= 4.5
    assert _contrast("#94949C", colours["well"]) >= 4.5
    for mark in [UNKNOWN_MARK, *report(findings=tuple("abcdefg")).marks().values()]:
        assert _contrast(mark.ink, mark.colour) >= 4.5


def test_findings_have_the_colours_of_the_library() -> None:
    marks = report(findings=("a", "b"), finding_colours=(6, 0)).marks()
    assert [marks[name].colour for name in "ab"] == ["#F0E442", "#D55E00"]
