from __future__ import annotations

import re
from html.parser import HTMLParser

from semblance.core.reports.document import Plot, VoteFacts
from semblance.core.reports.html import report_html
from tests.helpers.reports import HOSTILE, png, report, row


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


def _page(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    assert page.open == []
    return page


def test_nothing_is_loaded_from_anywhere() -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    html = report_html(report(plots=(Plot("Curve", png(), svg),), identified=True))
    assert not re.search(r"https?://|//[a-z]|url\(|@import|<script|<link|<iframe", html, re.IGNORECASE)
    page = _page(html)
    addresses = [attrs[name] or "" for _, attrs in page.tags for name in ("src", "href") if name in attrs]
    assert len(addresses) == 1 + 4 + 1
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
        vote=VoteFacts({HOSTILE: 1}),
        identified=True,
    )
    html = report_html(document)
    page = _page(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert page.text.count(HOSTILE) >= 8


def test_what_it_tells() -> None:
    page = _page(report_html(report()))
    text = " ".join(page.text.split())
    for expected in (
        "de-identified",
        "4 nearest: 2 malignant, 2 benign",
        "Counts only. Not calibrated on held-out cases.",
        "Support, not a diagnosis.",
        "2026-03-01 14:05 UTC",
        "Hidden: 1 of the same patient and 2 near-duplicates.",
        "−0.050",
        "held-out patients",
    ):
        assert expected in text, expected
    assert text.count("Support, not a diagnosis.") == 1


def test_a_calibrated_estimate_says_on_what() -> None:
    vote = VoteFacts(
        {"malignant": 7, "benign": 3}, "malignant", True, 0.71, (0.49, 0.87), "held-out patients"
    )
    text = _page(report_html(report(vote=vote))).text
    assert "Estimate for malignant: 0.71 (0.49–0.87), from held-out patients." in text


def test_the_nearest_without_a_finding_are_counted_too() -> None:
    html = report_html(report(vote=VoteFacts({"malignant": 2}, "malignant", without=8)))
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


def test_cases_without_a_image_say_so() -> None:
    text = _page(report_html(report(ranking=(row(1, thumbnail=None), row(2, thumbnail=b"broken"))))).text
    assert text.count("no image") == 2


def test_an_empty_report_is_explained() -> None:
    assert "No case was ranked." in report_html(report(ranking=(), vote=VoteFacts()))
