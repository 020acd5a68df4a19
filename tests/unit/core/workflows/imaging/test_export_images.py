"""Images of several cases are exported in screen or full size, without what identifies patients unless asked for."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread

from semblance.core.errors import BadArguments
from semblance.core.imaging.measurements import LINE, Figure
from semblance.core.imaging.region import Region
from semblance.core.library.annotations import Annotation
from semblance.core.library.collections import CollectionItem
from semblance.core.library.open_library import open_library
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.imaging.export_images import (
    INDEX,
    ImageExportOptions,
    cases_of_collection,
    export_images,
)
from semblance.core.workflows.library.audit_log import list_exports
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series, ct_slice, save


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Two images of a patient called Doe, one larger than a screen, and a DICOM file."""
    folder = tmp_path_factory.mktemp("source") / "images"
    folder.mkdir()
    Image.fromarray(np.full((600, 1500), 90, np.uint8)).save(folder / "doe1.png")
    Image.fromarray(np.full((40, 60), 90, np.uint8)).save(folder / "doe2.png")
    location = folder.parent / "l.semblance"
    import_source(folder, location, kind="folder")
    return location


def ids_of(library):
    with open_library(library) as opened:
        return [one.case_id for one in opened.catalogue.details([1, 2]).values()]


def test_images_are_numbered_and_listed_without_ids(library, tmp_path):
    cases = ids_of(library)
    result = export_images(library, [*cases, "gone"], tmp_path / "out")
    assert result.files == ("image-0001.png", "image-0002.png")
    assert [case for case, _ in result.failed] == ["gone"]
    sizes = []
    for name in result.files:
        with Image.open(tmp_path / "out" / name) as image:
            sizes.append(image.size)
    assert sizes == [(1024, 410), (60, 40)]
    listed = (tmp_path / "out" / INDEX).read_text()
    assert "doe" not in listed
    assert [row["file"] for row in csv.DictReader(listed.splitlines())] == list(result.files)
    assert list_exports(library)[-1]["what"] == "images"
    with pytest.raises(BadArguments, match="has files already"):
        export_images(library, cases, tmp_path / "out")


def test_what_a_cancelled_export_left_is_listed_and_logged(library, tmp_path):
    class Cancels(Reporter):
        def progress(self, done: int, total: int | None, what: str) -> None:
            if done:
                raise Cancelled

    before = len(list_exports(library))
    with pytest.raises(Cancelled):
        export_images(library, ids_of(library), tmp_path / "out", reporter=Cancels())
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["image-0001.png", INDEX]
    assert "image-0001.png" in (tmp_path / "out" / INDEX).read_text()
    assert [one["files"] for one in list_exports(library)[before:]] == [1]


def test_full_size_keeps_the_pixels_and_names_cases_only_when_asked(library, tmp_path):
    cases = ids_of(library)
    options = ImageExportOptions("tiff", "full", identified=True)
    (large, _) = export_images(library, cases, tmp_path / "full", options).files
    assert "doe1" in large
    with Image.open(tmp_path / "full" / large) as image:
        assert (image.size, image.getpixel((5, 5))) == ((1500, 600), 90)


def test_marks_are_regions_and_measurements(library, tmp_path):
    case = ids_of(library)[1]
    figures = [Figure(LINE, ((5.0, 20.0), (50.0, 20.0))), Figure.of_region(Region(10, 5, 8, 8))]
    with open_library(library, writable=True) as opened:
        stored = [Annotation(one.kind, one.to_json()) for one in figures]
        opened.annotations.replace(case, stored)
    for marks in (False, True):
        out = tmp_path / str(marks)
        export_images(library, [case], out, ImageExportOptions("png", "full", marks=marks))
        with Image.open(out / "image-0001.png") as image:
            pixels = np.asarray(image.convert("RGB")).astype(int)
        assert ((pixels == 255).all(axis=2).sum() > 40) == marks


def test_the_cases_of_a_collection_are_found_by_its_name(library):
    cases = ids_of(library)
    with open_library(library, writable=True) as opened:
        opened.collections.make("Teaching", [CollectionItem(cases[number]) for number in (1, 0, 1)])
    assert cases_of_collection(library, "Teaching") == [cases[1], cases[0]]


def test_dicom_files_are_deidentified_or_copied_as_they_are(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    file = save(ct_slice(np.zeros((12, 16), np.int16), StudyDescription="of Jane Doe"), source / "a.dcm")
    library = tmp_path / "l.semblance"
    import_source(source, library, kind="dicom")
    (case,) = ids_of(library)
    (name,) = export_images(library, [case], tmp_path / "clean", ImageExportOptions("dicom")).files
    dataset = dcmread(tmp_path / "clean" / name)
    assert not {"Doe", "Nobody"} & set(str(dataset).replace("^", " ").split())
    assert dataset.PatientID != "P1"
    (copied,) = export_images(
        library, [case], tmp_path / "same", ImageExportOptions("dicom", identified=True)
    ).files
    assert (tmp_path / "same" / copied).read_bytes() == file.read_bytes()
    with pytest.raises(BadArguments, match="without marks"):
        ImageExportOptions("dicom", marks=True)


def test_of_a_volume_the_slice_that_was_measured_is_shown_with_its_marks(tmp_path):
    ct_series(tmp_path / "in", count=7)
    library = tmp_path / "l.semblance"
    import_source(tmp_path / "in", library, kind="dicom")
    with open_library(library, writable=True) as opened:
        (row,) = (one.id for one in opened.catalogue.all_cases())
        (case,) = opened.catalogue.details([row]).values()
        for number, place in enumerate((3, 2, None)):
            figure = Figure(LINE, ((2.0, 12.0), (25.0, 12.0)), slice=place)
            opened.annotations.replace(case.case_id, [Annotation(LINE, figure.to_json(), place)])
            out = tmp_path / str(number)
            export_images(library, [case.case_id], out, ImageExportOptions(size="full", marks=True))
            with Image.open(out / "image-0001.png") as image:
                assert (np.asarray(image.convert("RGB")) == 255).all(axis=2).any(), place
