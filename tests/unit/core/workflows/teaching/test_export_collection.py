"""Exports of a collection hold its cases, and name nobody unless they are asked to."""

from __future__ import annotations

import io
import re
import zipfile

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.measurements import LINE, Figure
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import LINE as LINE_COLOUR
from semblance.core.library.annotations import KEY_IMAGE, Annotation
from semblance.core.library.collections import CollectionItem
from semblance.core.library.export_log import read_exports
from semblance.core.library.library import Library
from semblance.core.library.records import CaseDetails
from semblance.core.library.schema import cases
from semblance.core.workflows.imaging.deidentify_files import deidentify_files
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.teaching.export_collection import (
    CollectionExport,
    export_collection,
    item_image,
    place_of,
)
from tests.helpers.dicom_files import ROOT, image, save
from tests.helpers.images import striped_folder
from tests.helpers.mammogram_library import mammogram

#: The patients of the collection of mammograms.
LISTED = (2, 0)
NAME, SECRET = "Stripes of PAT-0042", "Mueller, PAT-0042"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A collection of two cases, a place in one of them, and a case that is gone."""
    folder = tmp_path_factory.mktemp("teaching")
    import_source(striped_folder(folder / "images", n=4), folder / "lib")
    with Library.open(folder / "lib", writable=True) as opened:
        ids = sorted(row.case_id for row in opened.catalogue.all_cases())
        with opened.catalogue.transaction() as connection:
            connection.execute(cases.update().where(cases.c.case_id == ids[0]).values(patient="PAT-0042"))
        items = [
            CollectionItem(ids[0], notes=SECRET),
            CollectionItem(ids[-1], Region(2, 2, 9, 9)),
            CollectionItem("gone/Meier.png"),
        ]
        opened.collections.make(NAME, items, f"For {SECRET}")
        opened.notes.set(ids[0], "a note, as in gone/Meier.png")
    return folder / "lib"


def unpacked(file) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_measurements_are_drawn_on_slides_and_in_teaching_sets_when_asked(library, tmp_path):
    figure = Figure(LINE, ((1.0, 4.0), (12.0, 4.0)))
    with Library.open(library, writable=True) as opened:
        (case, *_) = opened.collections.get(NAME).cases
        opened.annotations.replace(case, [Annotation(LINE, figure.to_json())])
    images = {}
    for marks in (False, True):
        (file,) = export_collection(
            library, NAME, tmp_path / f"{marks}.zip", CollectionExport(marks=marks)
        ).files
        images[marks] = {
            name: content for name, content in unpacked(file).items() if "case-001" in name
        }.popitem()[1]
    with Image.open(io.BytesIO(images[True])) as drawn:
        assert (np.asarray(drawn) == 255).all(axis=2).sum() > 40
    assert images[True] != images[False]
    with Library.open(library, writable=True) as opened:
        opened.annotations.replace(case, [])


def test_the_quiz_shows_the_place_that_it_asks_about(library):
    with Library.open(library) as opened:
        item = opened.collections.get(NAME).items[1]
        row = opened.catalogue.row_of(item.case)
    shown = item_image(library, row, item).pixels
    assert (shown == LINE_COLOUR).all(axis=2).sum() > 10
    assert item_image(library, row, CollectionItem(item.case)).pixels.ndim == 2


def test_a_teaching_set_covers_its_findings_and_names_nobody(library, tmp_path):
    (file,) = export_collection(library, NAME, tmp_path / "set.zip").files
    files = unpacked(file)
    page, key = files["index.html"].decode(), files["key.csv"].decode("utf-8-sig")
    assert sorted(files) == ["images/case-001.jpg", "images/case-002.png", "index.html", "key.csv"]
    for text in (page, key):
        assert not re.search("Mueller|PAT-0042|a note|p00", text)
    assert page.count("<details>") == 2 and page.count('type="radio"') == 4
    assert "no longer in the library" in page and "http" not in page.replace("http-equiv", "")
    # What a finding is called is under cover, or a choice.
    assert all("level" not in part for part in re.findall(r"<h2.*?</h2>|<img.*?>", page))
    assert [line.split(",")[:2] for line in key.splitlines()[1:]] == [
        ["1", "Case 1"],
        ["2", "Case 2"],
        ["3", "Case 3"],
    ]
    (file,) = export_collection(
        library, NAME, tmp_path / "all.zip", CollectionExport(identified=True, free_text=True)
    ).files
    page = unpacked(file)["index.html"].decode()
    assert all(text in page for text in (SECRET, "a note", "PAT-0042", "p00"))
    exports = read_exports(library)[-2:]
    assert [(one["what"], one["kind"], one["identified"]) for one in exports] == [
        ("collection", "zip", False),
        ("collection", "zip", True),
    ]


def test_slides_have_a_page_for_each_case(library, tmp_path):
    from pypdf import PdfReader

    (file,) = export_collection(library, NAME, tmp_path / "s.pdf", CollectionExport(free_text=True)).files
    pages = PdfReader(io.BytesIO(file.read_bytes())).pages
    texts = [page.extract_text() for page in pages]
    assert len(pages) == 4 and all(len(page.images) == 1 for page in pages[1:3])
    assert "Case 1" in texts[1] and "a note" in texts[1] and "no longer in the library" in texts[3]
    assert not any(re.search("PAT-0042|Meier", text) for text in texts)


def test_what_cannot_be_exported_is_said(library, tmp_path):
    with pytest.raises(BadArguments, match=r"\.pptx"):
        export_collection(library, NAME, tmp_path / "s.pptx")
    with pytest.raises(BadInput, match="in a DICOM file"):
        export_collection(library, NAME, tmp_path / "s.dcm")
    with pytest.raises(BadInput, match="not empty"):
        export_collection(library, NAME, library)
    assert len(export_collection(library, NAME, tmp_path / "new folder").files) == 4
    with pytest.raises(BadArguments, match="There are: Stripes"):
        export_collection(library, "none", tmp_path / "s.pdf")


def test_an_item_is_about_its_own_slice():
    of_three, of_all = Region(1, 1, 4, 4, z=3, depth=3), Region(1, 1, 4, 4)
    for region, item, shown in (
        (None, CollectionItem("a", of_all, 2), 2),
        (of_all, CollectionItem("a", of_three, of_three.middle_slice), 4),
        (of_three, CollectionItem("a", slice=5), 5),
        (of_all, CollectionItem("a", slice=5), 5),
        (of_three, CollectionItem("a"), 4),
        (of_three, CollectionItem("a", slice=8), None),
    ):
        case = CaseDetails(1, "a", None, None, region, {}, 9, 9, "", "", None, "", "", depth=9)
        place = place_of(case, item)
        assert (place and place.middle_slice) == shown, item


@pytest.fixture(scope="module")
def mammograms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("collections")
    for patient in range(3):
        save(mammogram(patient), folder / "in" / f"{patient:02d}.dcm")
    path = folder / "lib.semblance"
    import_source(folder / "in", path)
    with Library.open(path) as opened:
        found = opened.catalogue.details([row.id for row in opened.catalogue.all_cases()]).values()
        third, first = (
            next(one for one in found if one.address.container.stem == f"{n:02d}") for n in LISTED
        )
        items = [
            CollectionItem(third.case_id, Region(4, 4, 20, 20)),
            CollectionItem(first.case_id),
        ]
        opened.collections.make("spiculated", [*items, CollectionItem("no longer there")])
    return path


def references(document) -> set[str]:
    """The images that a key object selects, which must be those of its evidence."""
    content = {
        str(item.ReferencedSOPSequence[0].ReferencedSOPInstanceUID)
        for item in document.ContentSequence
        if item.ValueType == "IMAGE"
    }
    evidence = {
        str(instance.ReferencedSOPInstanceUID)
        for study in document.CurrentRequestedProcedureEvidenceSequence
        for series in study.ReferencedSeriesSequence
        for instance in series.ReferencedSOPSequence
    }
    assert content == evidence
    return content


def test_key_objects_refer_to_the_images_of_the_collection(mammograms, tmp_path):
    options = CollectionExport(identified=True)
    result = export_collection(mammograms, "spiculated", tmp_path / "k.dcm", options)
    assert result.failed == (("no longer there", "This case is no longer in the library."),)
    documents = [dcmread(file) for file in result.files]
    assert [str(one.StudyInstanceUID) for one in documents] == [f"{ROOT}.5.{n}" for n in LISTED]
    for document, patient in zip(documents, LISTED, strict=True):
        assert document.SOPClassUID.name == "Key Object Selection Document Storage"
        assert document.PatientID == f"MRN{patient:04d}"
        assert references(document) == {f"{ROOT}.7.{patient}"}
        assert document.ConceptNameCodeSequence[0].CodeMeaning == "For Teaching"


def test_key_objects_name_the_frames_that_are_meant(tmp_path):
    frames = np.zeros((5, 12, 16), np.uint8)
    uids = dict.fromkeys(("StudyInstanceUID", "SeriesInstanceUID"), f"{ROOT}.8")
    save(image(frames, Modality="US", PatientID="P1", **uids), tmp_path / "in" / "us.dcm")
    path = tmp_path / "lib.semblance"
    import_source(tmp_path / "in", path, kind="dicom")
    with Library.open(path, writable=True) as opened:
        (case,) = (row.case_id for row in opened.catalogue.all_cases())
        collection = opened.collections.make("frames", [])
        # Without a slice the whole case is meant, once it has key images those.
        cases = (((3, 1, 3), [2, 4]), ((2,), 3), (range(5), None), ((3, None), None), ((None,), 2))
        for slices, expected in cases:
            opened.collections.set_items(collection, [CollectionItem(case, slice=one) for one in slices])
            (file,) = export_collection(path, "frames", tmp_path / "k.dcm").files
            references = [
                item.ReferencedSOPSequence[0]
                for item in dcmread(file).ContentSequence
                if item.ValueType == "IMAGE"
            ]
            assert [one.get("ReferencedFrameNumber") for one in references] == [expected], slices
            if slices == (3, None):
                opened.annotations.replace(case, [Annotation(KEY_IMAGE, {}, 1)])


def test_de_identified_key_objects_refer_to_the_de_identified_files(mammograms, tmp_path):
    # Before there are any pseudonyms: what is exported first must name what is exported later.
    files = export_collection(mammograms, "spiculated", tmp_path / "k.dcm").files
    again = export_collection(mammograms, "spiculated", tmp_path / "again.dcm").files
    deidentify_files(mammograms, tmp_path / "out")
    images = {str(one.SOPInstanceUID): one for one in map(dcmread, (tmp_path / "out").rglob("*.dcm"))}
    assert len(files) == len(again) == len(LISTED)
    for file, other in zip(files, again, strict=True):
        document = dcmread(file)
        assert references(document) == references(dcmread(other)) <= set(images)
        same_study = [one for one in images.values() if one.StudyInstanceUID == document.StudyInstanceUID]
        assert [one.PatientID for one in same_study] == [document.PatientID]
        content = file.read_bytes()
        assert not [word for word in (b"MRN", b"Quixley", b"ACC0", ROOT.encode()) if word in content]
