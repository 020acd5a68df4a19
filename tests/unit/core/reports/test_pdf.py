from __future__ import annotations

import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from fontTools.ttLib import TTFont
from pypdf import PageObject, PdfReader
from pypdf.generic import ArrayObject, DictionaryObject
from reportlab.pdfbase.pdfdoc import PDFStream

from semblance.core.errors import BadArguments
from semblance.core.reports import pdf_text
from semblance.core.reports.document import ReportedQuery, ReportPlot
from semblance.core.reports.pdf import report_pdf
from semblance.core.reports.pdf_parts import ContributionBars, WrappedName
from semblance.core.reports.pdf_text import register, width_of
from semblance.core.reports.write_report import report_html
from tests.helpers.reports import HOSTILE, png, report, row
from tests.helpers.reports import vote as make_vote


def _read(content: bytes) -> tuple[PdfReader, str]:
    pdf = PdfReader(io.BytesIO(content))
    return pdf, "\n".join(page.extract_text() for page in pdf.pages)


def test_text_can_be_searched_and_pages_are_numbered() -> None:
    pdf, text = _read(report_pdf(report(rows=20)))
    total = len(pdf.pages)
    assert total >= 3
    for number, page in enumerate(pdf.pages, start=1):
        assert f"Page {number} of {total}" in page.extract_text()
    for expected in (
        "Similar cases",
        "4 nearest: 2 malignant, 2 benign",
        "No estimate. Not calibrated",
        "Not for decisions about a patient.",
        "Hidden: 1 of the same patient and 2 of the same lesion or copies.",
        "BDM+V, 200 rounds",
        "held-out patients",
        "30 × 20 px at 4, 5",
        "−0.050",
        "+0.150",
        "Case 21",
        "semblance 0.1.0",
    ):
        assert expected in text, expected
    assert pdf.metadata is not None
    assert pdf.metadata.title == "Similar cases"


def test_every_page_of_a_long_ranking_repeats_its_head() -> None:
    pdf, _ = _read(report_pdf(report(rows=60, plots=(), judgements=(), card=(), notes=())))
    with_rows = [text for page in pdf.pages[1:] if "Case" in (text := page.extract_text())]
    assert len(with_rows) > 3
    assert all("Contributions to the distance" in text for text in with_rows)


@pytest.mark.parametrize("with_logo", [False, True])
def test_it_is_a_pdf_for_archives(with_logo: bool) -> None:
    """The rules of ISO 19005-2 (PDF/A-2b) that a file by ReportLab breaks by itself."""
    content = report_pdf(
        report(rows=9, title="Names & <more>", logo=png() if with_logo else None, clinic="Clinic")
    )
    pdf, _ = _read(content)
    root = pdf.trailer["/Root"]
    metadata = root["/Metadata"]
    assert "/Filter" not in metadata
    xmp = metadata.get_data()
    assert b"<pdfaid:part>2</pdfaid:part>" in xmp
    assert b"<pdfaid:conformance>B</pdfaid:conformance>" in xmp
    titles = ElementTree.fromstring(xmp.decode()).iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li")
    assert next(titles).text == "Names & <more>"
    intent = root["/OutputIntents"][0]
    profile = intent["/DestOutputProfile"].get_data()
    assert profile[16:20] == b"RGB "
    assert profile[36:40] == b"acsp"
    assert "/Encrypt" not in pdf.trailer
    assert pdf.trailer["/ID"]
    assert root["/Lang"] == "en"
    fonts = [
        font.get_object() for page in pdf.pages for font in page["/Resources"]["/Font"].get_object().values()
    ]
    assert fonts
    for font in fonts:
        assert "/FontFile2" in font["/FontDescriptor"], font["/BaseFont"]
        assert "/ToUnicode" in font
    assert len(re.findall(rb"\nendstream", content)) == content.count(b"endstream") > 5
    # Other PDF files of the process are as ReportLab makes them.
    assert PDFStream.format.__module__ == PDFStream.__module__


def _dictionaries(part: object) -> Iterator[DictionaryObject]:
    if isinstance(part, DictionaryObject):
        yield part
        for value in part.values():
            yield from _dictionaries(value)
    elif isinstance(part, ArrayObject):
        for value in part:
            yield from _dictionaries(value)


def test_nothing_in_it_is_forbidden_in_archives() -> None:
    """ISO 19005-2, by clause: what must not be there, and that fonts are as wide as the text states."""
    content = report_pdf(report(rows=9, notes=("Иванов גידול",), logo=png(), clinic="Clinic"))
    # 6.1.2: the header and a comment of bytes that are no text.
    assert re.match(rb"%PDF-1\.[4-7]\n%[\x80-\xff]{4}", content)
    pdf = PdfReader(io.BytesIO(content))
    objects = [pdf.get_object(number) for number in range(1, int(pdf.trailer["/Size"]))]
    parts = [one for made in objects for one in _dictionaries(made)]
    keys = {key for one in parts for key in one}
    # 6.1.7, 6.2.8, 6.5 to 6.10: outside data, interpolated images, actions, forms, layers, steps of a presentation.
    forbidden = {
        "/F",
        "/FFilter",
        "/Interpolate",
        "/Alternates",
        "/OPI",
        "/A",
        "/AA",
        "/OpenAction",
        "/JS",
        "/AcroForm",
    }
    assert not keys & (forbidden | {"/XFA", "/OCProperties", "/PresSteps", "/Requirements", "/EmbeddedFiles"})
    assert "LZWDecode" not in content.decode("latin-1")
    fonts = [one for one in parts if one.get("/Type") == "/Font"]
    assert len(fonts) >= 2
    for font in fonts:
        program = TTFont(io.BytesIO(font["/FontDescriptor"]["/FontFile2"].get_data()))
        # 6.2.11.6: a symbolic font has one table of characters; 6.2.11.8: none of them is missing.
        (table,) = program["cmap"].tables
        assert ".notdef" not in table.cmap.values()
        # 6.2.11.5
        for code, width in enumerate(font["/Widths"], int(font["/FirstChar"])):
            if code in table.cmap:
                in_program = 1000 * program["hmtx"][table.cmap[code]][0] / program["head"].unitsPerEm
                assert abs(in_program - float(width)) <= 1


def test_what_limits_the_test_of_the_metric_is_never_cut_off() -> None:
    tested = (
        f"The metric was tested with 128 queries: {'AUC 0.90 (0.80–0.97); ' * 20}this one may be too high."
    )
    _, text = _read(report_pdf(report(tested=tested)))
    # On the first page and with the plots.
    assert " ".join(text.split()).count("this one may be too high.") == 2


def test_characters_without_a_font_are_named() -> None:
    _, text = _read(report_pdf(report(notes=("Heart \U0001fac0.",))))
    assert "U+1FAC0" in text
    _, plain = _read(report_pdf(report(notes=("Иванов, Ελένη, Łukasz",))))
    assert "No font" not in plain


@pytest.mark.slow
def test_names_from_right_to_left_are_drawn_in_order() -> None:
    comment = "\n".join([f"{'גידול שפיר ' * 40}{number}" for number in range(60)])
    content = report_pdf(report(rows=7, notes=("צורה (12.5)",), comment=comment))
    _, text = _read(content)
    # The reader turns what is drawn from left to right into reading order again.
    assert "צורה" in text
    assert text.count("גידול שפיר") > 2000


def test_a_font_of_the_viewer_is_reported_and_is_not_pdf_a(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_text, "_eastern", lambda: None)
    content = report_pdf(report(notes=("乳腺病例",)))
    _, text = _read(content)
    assert "this file is not PDF/A" in " ".join(text.split())
    assert b"pdfaid:part" not in content


@pytest.mark.parametrize(
    "name",
    [
        HOSTILE,
        "Иванов Пётр.png",
        "患者の画像_乳腺.png",
        "한국어.png",
        "صورة.png",
        "🫀.png",
        "a\tb\nc",
        "x" * 250,
        "w" * 6000,
        "",
    ],
)
def test_any_name_can_be_printed(name: str) -> None:
    document = report(
        title=name,
        ranking=(row(1, case_id=name, finding=name, judgement=name, parts=((name, 0.1),)),),
        notes=(name,),
        identified=True,
    )
    _, text = _read(report_pdf(document))
    if name == HOSTILE:
        assert HOSTILE in text


@pytest.mark.parametrize("name", ["Иванов Пётр", "患者の画像", "乳腺病例", "한국어 이름", "Ελένη"])
def test_names_of_other_scripts_can_be_searched(name: str) -> None:
    _, text = _read(report_pdf(report(title=name, notes=(name,), ranking=(row(1, case_id=name),))))
    assert text.replace("\n", "").count(name) >= 3


def test_long_names_wrap_and_nothing_is_lost() -> None:
    name = "".join(f"part{number:03d}" for number in range(35))
    _, text = _read(report_pdf(report(ranking=(row(1, case_id=name),), identified=True)))
    assert name in text.replace("\n", "")


def test_findings_have_a_letter_and_a_word() -> None:
    _, text = _read(report_pdf(report(rows=2)))
    lines = [line.strip() for line in text.splitlines()]
    assert {"M", "B"} <= {token for line in lines for token in line.split()}
    assert "malignant" in text


@pytest.mark.parametrize("content", [b"", b"no image", png()[:40]])
def test_unreadable_images_are_reported(content: bytes) -> None:
    document = report(ranking=(row(1, thumbnail=content),), plots=(ReportPlot("Curve", content),))
    _, text = _read(report_pdf(document))
    assert "no image" in text


@pytest.mark.parametrize("size", [(10, 2000), (3000, 20), (1, 1)])
def test_images_of_any_shape_fit(size: tuple[int, int]) -> None:
    document = report(
        ranking=(row(1, thumbnail=png(*size)),),
        plots=tuple(ReportPlot("Curve", png(*size)) for _ in range(3)),
    )
    report_pdf(document)


@pytest.mark.parametrize("identified", [False, True])
def test_an_empty_report_is_a_page(identified: bool) -> None:
    document = report(
        ranking=(), plots=(), judgements=(), card=(), notes=(), versions={}, hidden={}, identified=identified
    )
    pdf, text = _read(report_pdf(document))
    assert len(pdf.pages) == 1
    assert "No case was ranked." in text


def test_pages_are_a4_or_letter_and_nothing_else() -> None:
    for page, height in (("A4", 842), ("letter", 792)):
        pdf, _ = _read(report_pdf(report(), page))
        assert round(float(pdf.pages[0].mediabox.height)) == height
    with pytest.raises(BadArguments):
        report_pdf(report(), "A5")


def test_the_same_report_gives_the_same_bytes() -> None:
    assert report_pdf(report()) == report_pdf(report())


def _images(page: PageObject) -> list[tuple[float, float]]:
    """Width and height of the images on ``page`` in points."""
    sizes: list[tuple[float, float]] = []

    def before(operator: bytes, _operands: object, matrix: list[float], _text: object) -> None:
        if operator == b"Do":
            sizes.append((abs(matrix[0]), abs(matrix[3])))

    page.extract_text(visitor_operand_before=before)
    return sizes


@pytest.mark.parametrize("page", ["A4", "letter"])
@pytest.mark.parametrize("notes", [(), ("A note that is as long as notes are. " * 6,) * 4])
def test_page_one_shows_query_and_compared_cases_large(page: str, notes: tuple[str, ...]) -> None:
    vote = make_vote({"malignant": 7, "benign": 3}, "malignant", probability=0.71, interval=(0.49, 0.87))
    document = report(
        rows=20,
        vote=vote,
        tested="Tested with 60 queries.",
        notes=notes,
        comment="Biopsy advised.\nThen more.",
    )
    pdf, _ = _read(report_pdf(document, page))
    first, second, *_, last = (one.extract_text() for one in pdf.pages)
    for expected in (
        "Estimate for malignant: 0.71",
        "Tested with 60 queries.",
        "Marks and notes",
        "Then more.",
    ):
        assert expected in first.replace("\n", " "), expected
    assert [number for number in range(1, 8) if f"{number}. Case" in first] == [1, 2, 3, 4, 5, 6]
    sizes = sorted(height for _, height in _images(pdf.pages[0]))
    assert len(sizes) == 7
    # They fill the page; with long notes they are smaller.
    assert sizes[0] >= (50 if notes else 110)
    assert sizes[-1] >= (90 if notes else 180)
    for expected in ("Why these cases", "How the metric was tested"):
        assert expected in second, expected
    assert "semblance 0.1.0" in last


def test_notes_longer_than_a_page_are_whole_and_leave_the_images_large() -> None:
    note = f"{'A finding that is described at length. ' * 150}The end."
    pdf, text = _read(report_pdf(report(rows=20, notes=(note,))))
    assert min(height for _, height in _images(pdf.pages[0])) >= 110
    assert "The end." in " ".join(text.split())


@pytest.mark.parametrize(("parts", "shown"), [((("Encoder", 0.4),), False), ((("A", 0.3), ("B", 0.1)), True)])
def test_a_distance_of_one_part_is_not_shown_twice(parts: tuple[tuple[str, float], ...], shown: bool) -> None:
    document = report(ranking=(row(1, parts=parts),))
    assert ("Contributions to the distance" in _read(report_pdf(document))[1]) is shown
    assert ("Contributions to the distance" in report_html(document)) is shown


def test_marked_cases_are_compared_with_the_nearest() -> None:
    rows = tuple(row(rank, judgement="alike" if rank in (9, 12) else "") for rank in range(1, 15))
    assert [one.rank for one in report(ranking=rows).compared()] == [1, 2, 3, 4, 9, 12]
    many = tuple(row(rank, judgement="not alike" if rank > 3 else "") for rank in range(1, 15))
    assert [one.rank for one in report(ranking=many).compared()] == [1, 2, 3, 4, 5, 6]


def test_long_names_below_images_keep_their_ends() -> None:
    names = [f"archive/{'very long folder/' * 9}case {rank}.png" for rank in range(1, 7)]
    document = report(
        ranking=tuple(row(rank, case_id=name) for rank, name in enumerate(names, start=1)), identified=True
    )
    first = " ".join(_read(report_pdf(document))[0].pages[0].extract_text().split())
    for rank in range(1, 7):
        assert f"case {rank}.png" in first
    assert "1. …" in first.replace("\u00a0", " ")


def test_a_library_without_images_lists_its_cases() -> None:
    rows = tuple(row(rank, thumbnail=None) for rank in range(1, 21))
    document = report(ranking=rows, query=ReportedQuery("query", finding="benign"))
    pdf, text = _read(report_pdf(document))
    assert "no image" not in text
    first = pdf.pages[0].extract_text()
    assert "Case 11" in first
    assert "Judgement" not in first
    assert "Case 12" not in first


def test_names_break_where_they_can_be_read() -> None:
    """Never inside a number, before the ending of a file, or in the middle of a word that has underscores."""
    register()
    uid = "1.2.840.113619.2.55.3.604688119.868.1261234567.123" * 2
    for lines in (["collection/benign/benign_", "129.png"], ["against the rest ", "0.89 (0.76)"]):
        label = WrappedName("".join(lines))
        # Room for some of what a break after the dot would leave.
        label.wrap(width_of(f"{lines[0]}{lines[1].partition('.')[0]}.", label.style.fontSize) + 1, 100)
        assert label._lines == lines
    label = WrappedName(uid)
    label.wrap(150, 100)
    assert len(label._lines) > 1 and all(line.endswith(".") for line in label._lines[:-1])
    parts = (("alcalinity_of_ash", 0.2), ("proanthocyanins", 0.1))
    bars = ContributionBars(row(1, parts=parts))
    bars.wrap(bars.needed_width, 100)
    assert [name._lines for name in bars._names[:2]] == [[name] for name, _ in parts]


@pytest.mark.parametrize(("notes", "thumbnail"), [(("A long note. " * 300,), png()), ((), None)])
def test_no_page_is_left_empty_after_long_notes_or_rows(
    notes: tuple[str, ...], thumbnail: bytes | None
) -> None:
    rows = tuple(row(rank, thumbnail=thumbnail) for rank in range(1, 9))
    query = ReportedQuery("query", finding="benign", thumbnail=thumbnail)
    pages = [
        page.extract_text()
        for page in _read(report_pdf(report(ranking=rows, query=query, notes=notes)))[0].pages
    ]
    at = next(number for number, text in enumerate(pages) if "Why these cases" in text)
    assert ("A long note" if notes else "Similar cases") in pages[at]
