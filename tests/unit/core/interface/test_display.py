"""What a notebook shows: well-formed HTML that loads nothing from elsewhere, escapes names and identifies nobody."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import semblance as sb
from semblance.display import library_html, question_html, table_html
from tests.helpers.images import stripes

HOSTILE = '<img src=x onerror=alert(1)>&"quoted"'
PATIENT = "Zzyzx^Quenya"
VOID = {"img", "br", "meta", "hr"}


class Balance(HTMLParser):
    """Raises AssertionError at a tag that closes another one."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images with a hostile finding, and patients and files whose names must not be shown."""
    folder = tmp_path_factory.mktemp("display")
    lines, rng = ["path,label,patient_id"], np.random.default_rng(0)
    for number in range(12):
        name = f"{PATIENT.replace('^', '_')}{number}.png"
        Image.fromarray(stripes(rng, upright=number % 2 == 0)).save(folder / name)
        finding = HOSTILE if number % 2 else "benign"
        escaped = finding.replace('"', '""')
        lines.append(f'{name},"{escaped}",{PATIENT}{number}')
    (folder / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def location(folder):
    lib = sb.create_library(
        folder.parent / "Shown.semblance", folder, extract=False, identified=True, progress=False
    )
    cases = list(lib.cases["case_id"])
    apart = [[float(number) / 100, float(number % 2)] for number in range(len(cases))]
    lib.add_features("given", apart, case_ids=cases)
    with warnings.catch_warnings():
        # Of so few cases the difference to chance is not significant.
        warnings.simplefilter("ignore", UserWarning)
        lib.train("euclidean", name=f"by {HOSTILE}", control=False)
    return lib.location


@pytest.fixture
def lib(location):
    return sb.open_library(location, progress=False)


def check_safe(text):
    """Balanced, self-contained, and without markup from a name."""
    found = Balance(text)
    assert "script" not in found.tags
    assert "onerror" not in dict(found.attributes)
    sources = [value for name, value in found.attributes if name in ("src", "href")]
    assert all(one.startswith("data:image/jpeg;base64,") for one in sources)
    assert not re.search(r"https?:|url\(", text)
    return found


def test_a_ranking_shows_images_findings_and_distances_and_names_nobody(lib):
    ranking = lib.search(lib.cases["case_id"][0], k=5)
    text = ranking._repr_html_()
    found = check_safe(text)
    # The query and five cases.
    assert found.tags.count("img") == 6
    assert "&lt;img src=x onerror" in text
    assert "Zzyzx" not in text
    assert len(text) < 6 * 12_000
    identified = ranking.show(identified=True)._repr_html_()
    check_safe(identified)
    assert PATIENT in identified and ranking[0].case_id in identified


def test_marks_are_on_the_cards(lib):
    ranking = lib.search(lib.cases["case_id"][0], k=11)
    text = ranking.mark(like=ranking[0], unlike=ranking[1])._repr_html_()
    assert "more like this" in text and "less like this" in text


def test_libraries_and_cards_show_themselves_safely(lib, location):
    found = check_safe(lib._repr_html_())
    assert found.tags.count("img") == 4
    assert "Zzyzx" not in library_html(location, "name")
    card = lib.metric()._repr_html_()
    check_safe(card)
    assert "Zzyzx" not in card and "Euclidean" in card


def test_a_question_hides_findings(lib, location):
    first, second, third = list(lib.cases["case_id"])[:3]
    text = question_html(location, first, second, third)
    assert check_safe(text).tags.count("img") == 3
    assert "benign" not in text and "Zzyzx" not in text


def test_a_table_escapes_its_cells_and_puts_numbers_right():
    text = table_html("t<", ["a&b", "n"], [[HOSTILE, "1.5"], ["line\nbreak", "2"]], ["note"])
    check_safe(text)
    assert "a&amp;b" in text and "line\\nbreak" in text
    assert text.count("text-align:right") == 3
