"""Reports of refined searches, of many queries, and reports opened again."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pydicom
import pypdf
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.reports.document import COMPARED, compared_rows
from semblance.core.reports.options import MAX_COMMENT, ReportOptions, read_logo
from semblance.core.searches.feedback.judgements import comparison_judgement, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports import write_reports as reports
from semblance.core.workflows.reports.embedded_search import reopen_report
from semblance.core.workflows.reports.write_reports import write_reports, write_search_report
from semblance.core.workflows.searches.batch_queries import all_cases, held_out_cases, listed_cases
from semblance.core.workflows.searches.feedback import refine_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.ranked_searches import with_places
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reporting")
    table_library(folder / "table", n=60, metrics=(PLAIN,))
    striped_library(folder, n=12, name="images.semblance")
    return folder


@pytest.fixture
def table(made, tmp_path):
    return shutil.copytree(made / "table", tmp_path / "table") / "lib.semblance"


@pytest.fixture
def images(made, tmp_path):
    return shutil.copytree(made / "images.semblance", tmp_path / "images.semblance")


def search_of(case="t/c0", **more) -> Search:
    return Search("plain", Query(case=case), "mine", **more)


def words(file) -> str:
    return " ".join(" ".join(page.extract_text() for page in pypdf.PdfReader(file).pages).split())


def test_judgements_and_ranking_settings_are_reported(table, tmp_path):
    search = search_of(like=("t/c5",))
    refine_metric.add_judgements(
        table,
        search,
        [likeness_judgement(search, "t/c9", True), comparison_judgement(search, "t/c7", "t/c4")],
    )
    out = write_search_report(table, search, tmp_path / "r.json", ReportOptions(identified=True))
    document = json.loads(out.read_text())
    assert [one["verdict"] for one in document["judgements"]] == ["alike", "closer to the query"]
    assert document["judgements"][1]["c"].endswith("c4")
    assert document["order"].startswith("Ordered by 2 marks (2 more like the query, 0 less)")
    assert "marks refined" in document["notes"][0]
    assert document["order"].endswith("More like the query: t/c5, t/c9.")
    assert [line["case_id"] for line in document["results"]] == [
        line.case_id for line in rank_cases(table, search).result.ranked
    ]
    for line in document["results"]:
        assert sum(part["amount"] for part in line["parts"]) == pytest.approx(line["distance"], rel=1e-9)


def test_a_report_says_that_marks_ordered_its_cases(table, tmp_path):
    search = search_of()
    first, second, third = (line.case_id for line in rank_cases(table, search).result.ranked[:3])
    marks = ((first, True), (second, False), (third, True))
    refine_metric.add_judgements(
        table, search, [likeness_judgement(search, case, like) for case, like in marks]
    )
    ordered = "Ordered by 3 marks (2 more like the query, 1 less)."
    document = json.loads(write_search_report(table, search, tmp_path / "r.json").read_text())
    assert document["order"].startswith(ordered)
    # Marks on the query re-order its search; only other judgements refine the metric.
    assert not any("refined the metric" in note for note in document["notes"])
    for text in (
        words(write_search_report(table, search, tmp_path / "r.pdf")),
        write_search_report(table, search, tmp_path / "r.html").read_text(),
    ):
        assert ordered in text
        assert "10 nearest without marks: " in text
    search = replace(search, strength=0.0)
    before = write_search_report(table, search, tmp_path / "before.json")
    assert json.loads(before.read_text())["order"] == ""
    assert "10 nearest: " in words(write_search_report(table, search, tmp_path / "before.pdf"))


def test_a_report_of_a_search_by_place_prints_and_frames_both_places(images, tmp_path, monkeypatch):
    with Library.open(images) as opened:
        first = opened.catalogue.all_cases()[0]
        one = opened.catalogue.details([first.id])[first.id]
    place = MatchedPlace(8.5, 10, 16, 12, None, 0.71, one.width, one.height)
    ranked = rank_cases(images, Search("plain", Query(case=first.case_id)), k=20)
    search = Search("plain", Query(case=first.case_id, region=Region(3, 4, 20, 15)))

    results = [replace(one, query=search.query) for one in (ranked.result, with_places(ranked.result, place))]
    found = [replace(ranked, search=search, result=result) for result in results]
    monkeypatch.setattr(reports, "rank_cases", lambda *_given, **_options: found[0])
    plain = write_search_report(images, search, tmp_path / "plain.html").read_text()
    monkeypatch.setattr(reports, "rank_cases", lambda *_given, **_options: found[1])
    document = json.loads(write_search_report(images, search, tmp_path / "r.json").read_text())
    assert document["query"]["region"]["x"] == 3
    assert document["results"][0]["place"]["x"] == 8.5
    assert (
        document["order"] == "Ordered by how well the region is found inside each image. Frames show where."
    )
    header, line, *_ = csv.reader(
        write_search_report(images, search, tmp_path / "r.csv").read_text().splitlines()
    )
    row = dict(zip(header, line, strict=True))
    assert (row["query_region"], row["place_x"], row["place_similarity"]) == ("3,4,20,15", "8.5", "0.71")
    html = write_search_report(images, search, tmp_path / "r.html").read_text()
    said = "Place 17 × 12 px at 8, 10"
    assert said in html
    # The scores of the metric are not those of a search by place.
    assert "Search by place was not tested in this library." in html
    assert said in words(write_search_report(images, search, tmp_path / "r.pdf"))
    shown, framed = (pictures(text)[-1] for text in (plain, html))
    assert shown.size == framed.size
    scale = framed.width / one.width
    changed = np.argwhere((np.asarray(shown, int) != np.asarray(framed, int)).any(axis=2))
    assert len(changed)
    (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0)
    ends = [scale * end for end in (8.5, 10, 24.5, 22)]
    assert (left, top, right, bottom) == pytest.approx(ends, abs=6)


def pictures(html: str) -> list[Image.Image]:
    """The PNG and JPEG images of a report, in their order."""
    data = re.findall(r'src="data:image/(?:png|jpeg);base64,([^"]+)"', html)
    return [Image.open(io.BytesIO(base64.b64decode(one))).convert("RGB") for one in data]


def test_chosen_cases_and_notes_are_in_the_report_at_any_rank(table, tmp_path):
    ranked = rank_cases(table, search_of(), k=200).result.ranked
    near, deep = ranked[1], ranked[-1]
    assert deep.rank > 20
    search = replace(search_of(), in_report=(deep.case_id,), notes=((deep.case_id, "same margin"),))
    document = json.loads(write_search_report(table, search, tmp_path / "r.json").read_text())
    assert [line["rank"] for line in document["results"]] == [*range(1, 21), deep.rank]
    assert f"Rank {deep.rank}: same margin" in document["notes"]
    assert deep.case_id not in str(document)
    rows = [line.case_id for line in ranked]
    chosen = compared_rows(rows, [""] * len(rows), {len(rows) - 1})
    assert (chosen[-1], chosen[1], len(chosen)) == (deep.case_id, near.case_id, COMPARED)


def test_a_case_has_the_same_name_everywhere(table, tmp_path):
    near, other = (line.case_id for line in rank_cases(table, search_of()).result.ranked[:2])
    search = search_of(like=(other,))
    refine_metric.add_judgements(table, search, [likeness_judgement(search, near, True)])
    kinds = (ReportOptions(identified=True), ReportOptions())
    named, numbered = (
        json.loads(write_search_report(table, search, tmp_path / "r.json", options).read_text())
        for options in kinds
    )
    names = {
        one["case_id"]: other["case_id"]
        for one, other in zip(named["results"], numbered["results"], strict=True)
    }
    names[named["query"]["case_id"]] = numbered["query"]["case_id"]
    assert sorted(names.values()) == sorted(f"Case {n}" for n in range(1, len(names) + 1))
    assert names["t/c0"] == "Case 1"
    assert numbered["judgements"][0]["a"] == names[near]
    assert numbered["order"].endswith(f"More like the query: {names[other]}, {names[near]}.")


@pytest.mark.parametrize("identified", [False, True])
def test_a_json_report_reopens_as_the_search_it_was(table, tmp_path, identified):
    search = search_of(strength=0.7, group_duplicates=False, like=("t/c5",), without_patient=True)
    judged = refine_metric.add_judgements(
        table,
        search,
        [likeness_judgement(search, "t/c9", True), comparison_judgement(search, "t/c7", "t/c4")],
    )
    out = write_search_report(table, search, tmp_path / "r.json", ReportOptions(identified=identified))
    if not identified:
        sealed = json.dumps(json.loads(out.read_text())["search"])
        assert "t/c" not in sealed
        assert "plain" not in sealed
    again = reopen_report(table, out)
    assert again.ledger != search.ledger
    assert replace(again, ledger=search.ledger) == replace(search, like=())
    ranked = [(line.case_id, line.distance) for line in rank_cases(table, again).result.ranked]
    assert ranked == [(line.case_id, line.distance) for line in judged.result.ranked]


def test_a_report_says_that_the_metric_knew_the_query(table, tmp_path):
    train_metric(table, TrainRequest("lda", "trained"))
    fresh = held_out_cases(table, "trained")
    remembered = "No estimate: this case trained the ranking."
    for case in (next(case for case in all_cases(table) if case not in fresh), fresh[0]):
        search, known = Search("trained", Query(case=case)), case not in fresh
        document = json.loads(write_search_report(table, search, tmp_path / "r.json").read_text())
        assert document["vote"]["query_trained_on"] is known
        assert (document["vote"]["why_not"] == remembered) is known
        assert (remembered in words(write_search_report(table, search, tmp_path / "r.pdf"))) is known


def test_an_image_from_outside_is_found_beside_the_report(made, images, tmp_path):
    outside = tmp_path / "outside" / "Zebrovich.png"
    outside.parent.mkdir()
    shutil.copy(sorted((made / "images" / "level").iterdir())[0], outside)
    search = Search("plain", Query(image=outside, region=Region(1, 1, 9, 9)))
    out = write_search_report(images, search, tmp_path / "r.json")
    with pytest.raises(BadInput, match="was not found"):
        reopen_report(images, out)
    beside = shutil.copy(outside, tmp_path / "another name.png")
    assert reopen_report(images, out).query == replace(search.query, image=beside)
    beside.unlink()
    document = write_search_report(images, search, tmp_path / "i.json", ReportOptions(identified=True))
    assert reopen_report(images, document).query == search.query


def test_marked_images_from_outside_are_found_beside_the_report(made, images, tmp_path):
    outside = tmp_path / "outside" / "Zebrovich.png"
    outside.parent.mkdir()
    shutil.copy(sorted((made / "images" / "level").iterdir())[0], outside)
    search = Search("plain", Query(case=all_cases(images)[5]), "marks")
    marked = refine_metric.add_judgements(images, search, [likeness_judgement(search, str(outside), False)])
    assert marked.result.marks.disliked == (str(outside),)

    def marks_of_report(identified: bool) -> tuple[str, ...]:
        options = ReportOptions(identified=identified)
        out = write_search_report(images, search, tmp_path / f"{identified}.json", options)
        assert ("Zebrovich" in json.dumps(json.loads(out.read_text())["search"])) is identified
        return rank_cases(images, reopen_report(images, out)).result.marks.disliked

    assert marks_of_report(identified=True) == (str(outside),)
    assert marks_of_report(identified=False) == ()
    beside = shutil.copy(outside, tmp_path / "another name.png")
    assert marks_of_report(identified=False) == (str(beside),)


def test_what_cannot_be_reopened_is_reported(table, images, tmp_path):
    out = write_search_report(table, search_of(), tmp_path / "r.json")
    with pytest.raises(BadInput, match="was not made from"):
        reopen_report(images, out)
    values = json.loads(out.read_text())
    for damage in (
        "{",
        "[]",
        '{"search": 3}',
        json.dumps(values | {"search": values["search"] | {"query": 7}}),
        json.dumps(values | {"search": values["search"] | {"judgements": [{"kind": "x"}]}}),
    ):
        (tmp_path / "bad.json").write_text(damage)
        with pytest.raises(BadInput, match="damaged"):
            reopen_report(table, tmp_path / "bad.json")
    (tmp_path / "new.json").write_text(json.dumps(values | {"search": values["search"] | {"version": 99}}))
    with pytest.raises(BadInput, match="another version"):
        reopen_report(table, tmp_path / "new.json")
    with pytest.raises(BadInput, match="cannot be read"):
        reopen_report(table, tmp_path / "gone.json")


def test_a_metric_or_case_that_is_missing_is_reported(table, tmp_path):
    out = write_search_report(table, search_of(), tmp_path / "r.json")
    with Library.open(table) as opened, opened.catalogue.transaction() as connection:
        connection.exec_driver_sql("UPDATE cases SET case_id='t/moved' WHERE case_id='t/c0'")
    with pytest.raises(BadInput, match="A case of"):
        reopen_report(table, out)
    with Library.open(table) as opened, opened.catalogue.transaction() as connection:
        connection.exec_driver_sql("UPDATE metrics SET name='other'")
    with pytest.raises(BadInput, match="The metric of"):
        reopen_report(table, out)


def test_letterhead_and_comment_are_on_the_pages(table, tmp_path):
    logo = tmp_path / "logo.png"
    Image.new("RGB", (300, 90), "navy").save(logo)
    comment = "Seen with Dr. Q.\n\n" + "A long remark. " * 400
    options = ReportOptions("letter", "St. Elsewhere", read_logo(logo), comment)
    file = write_search_report(table, search_of(), tmp_path / "r.pdf", options)
    pdf = pypdf.PdfReader(file)
    assert tuple(pdf.pages[0].mediabox[2:]) == (612, 792)
    document = words(file)
    assert "St. Elsewhere" in document
    # A page may end within a sentence.
    assert document.count("remark.") == 400
    page = write_search_report(table, search_of(), tmp_path / "r.html", options).read_text()
    assert "St. Elsewhere" in page
    assert page.count("A long remark.") == 400


def test_what_no_report_can_take_is_refused(tmp_path):
    with pytest.raises(BadArguments, match="no page size"):
        ReportOptions("A3")
    with pytest.raises(BadInput, match="characters long"):
        ReportOptions(comment="x" * (MAX_COMMENT + 1))
    with pytest.raises(BadInput, match="no logo"):
        read_logo(tmp_path / "gone.png")
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(BadInput, match="not a PNG or JPEG"):
        read_logo(tmp_path / "text.png")
    Image.new("L", (5000, 10)).save(tmp_path / "wide.png")
    with pytest.raises(BadInput, match="5000 x 10"):
        read_logo(tmp_path / "wide.png")


def test_a_logo_carries_nothing_but_pixels(tmp_path):
    from PIL.PngImagePlugin import PngInfo

    note = PngInfo()
    note.add_text("Author", "Zebrovich")
    Image.new("RGB", (20, 20)).save(tmp_path / "logo.png", pnginfo=note)
    assert b"Zebrovich" in (tmp_path / "logo.png").read_bytes()
    assert b"Zebrovich" not in read_logo(tmp_path / "logo.png")


def test_the_region_is_shown_on_its_image(made, images, tmp_path):
    with Library.open(images) as opened:
        case = next(row.case_id for row in opened.catalogue.all_cases())
    whole, part = (
        write_search_report(images, Search("plain", Query(case=case, region=region)), tmp_path / "r.html")
        .read_text()
        .count("The region on its image")
        for region in (None, Region(2, 2, 12, 12))
    )
    assert (whole, part) == (0, 1)


@pytest.mark.parametrize("identified", [False, True])
def test_an_archive_of_images_can_keep_it(table, tmp_path, identified):
    out = write_search_report(
        table, search_of(), tmp_path / "r.dcm", ReportOptions(clinic="Ward 7", identified=identified)
    )
    dataset = pydicom.dcmread(out)
    assert dataset.SOPClassUID.name == "Encapsulated PDF Storage"
    assert dataset.InstitutionName == "Ward 7"
    assert dataset.PatientName == ""
    with Library.open(table) as opened:
        patient = next(row.patient for row in opened.catalogue.all_cases() if row.case_id == "t/c0")
    assert dataset.PatientID == (patient if identified else "")
    assert dataset.PatientIdentityRemoved == ("NO" if identified else "YES")
    assert dataset.BurnedInAnnotation == ("YES" if identified else "NO")
    pdf = dataset.EncapsulatedDocument[: dataset.EncapsulatedDocumentLength]
    assert "Retrieval report" in pypdf.PdfReader(io.BytesIO(pdf)).pages[0].extract_text()


def test_a_batch_is_numbered_and_listed_and_continues_after_a_failure(table, tmp_path):
    result = write_reports(table, search_of(), ["t/c0", "t/gone", "t/c3"], tmp_path / "out", "html")
    assert [file.name for file in result.files] == ["report-0001.html", "report-0003.html"]
    assert [case for case, _ in result.failed] == ["t/gone"]
    listed = (tmp_path / "out" / "reports.csv").read_text()
    assert "report-0003.html" in listed
    assert "c3" in (tmp_path / "out" / "report-0003.html").read_text()
    with pytest.raises(BadArguments, match="kind 'docx'"):
        write_reports(table, search_of(), ["t/c0"], tmp_path / "out", "docx")
    with pytest.raises(BadArguments, match="No case"):
        write_reports(table, search_of(), [], tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(SemblanceError, match="cannot be made"):
        write_reports(table, search_of(), ["t/c0"], tmp_path / "file" / "out")


def test_the_cases_of_a_batch(table, tmp_path):
    everything = all_cases(table)
    held_out = held_out_cases(table, "plain")
    assert len(everything) == 60
    assert 0 < len(held_out) < 60
    with Library.open(table) as opened:
        trained = set(opened.metric("plain").training.tolist())
        rows = {row.case_id: row.id for row in opened.catalogue.all_cases()}
    assert not trained & {rows[case] for case in held_out}
    (tmp_path / "list.txt").write_text("t/c3\n\nt/c1\nt/c3\n")
    assert listed_cases(tmp_path / "list.txt") == ["t/c3", "t/c1"]
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    for name in ("empty.txt", "bytes.txt", "gone.txt"):
        with pytest.raises(BadInput):
            listed_cases(tmp_path / name)


def test_the_first_pages_are_drawn_and_all_counted():
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(200, 100))
    for _ in range(3):
        canvas.rect(0, 0, 100, 100, fill=1)
        canvas.showPage()
    canvas.save()
    pages, count = reports.rendered_pages(out.getvalue(), 400, 2)
    assert (len(pages), count) == (2, 3)
    with Image.open(io.BytesIO(pages[0])) as image:
        assert image.size == (400, 200)
        assert (image.getpixel((100, 100)), image.getpixel((300, 100))) == ((0, 0, 0), (255, 255, 255))


def test_previews_of_one_dialog_make_again_only_what_changes(table, monkeypatch):
    made, plain = [], ReportOptions()
    document = reports.report_document
    monkeypatch.setattr(reports, "report_document", lambda *a, **k: made.append(a) or document(*a, **k))
    for options, dialog, count in (
        (plain, "a", 1),
        (replace(plain, comment="looks benign"), "a", 1),
        (replace(plain, page="letter", clinic="Ward 3"), "a", 1),
        (replace(plain, identified=True), "a", 2),
        (replace(plain, identified=True), "b", 3),
        (replace(plain, identified=True), "", 4),
    ):
        preview = reports.preview_report(table, search_of(), ".json", options, 300, dialog=dialog)
        assert len(made) == count, options
        shown = json.loads(preview.text)
        assert (shown["comment"], shown["clinic"]) == (options.comment, options.clinic)
        assert shown["report"]["identified"] == options.identified
