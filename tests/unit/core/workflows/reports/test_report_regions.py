"""The regions of a structured report are coordinates that select the pixels they were drawn on."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from highdicom.sr import srread
from PIL import Image
from pydicom import dcmread
from pypdf import PdfReader
from skimage.draw import polygon2mask

from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.slab import Slab, SlabMode
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.library import Library
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.imaging.deidentify_files import deidentify_files
from semblance.core.workflows.imaging.key_images import KeyImage, mark_key_image
from semblance.core.workflows.imaging.library_cache import close_libraries
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports import write_reports
from semblance.core.workflows.reports.write_reports import write_report_files
from tests.helpers.dicom_files import CT, ROOT, image, save, sequence_of

PLANTED, ROWS, COLUMNS = 3000, 40, 56
#: Enhanced CT Image Storage.
FRAMES = "1.2.840.10008.5.1.4.1.1.2.1"
#: The places of the frames of an object in mm: the file does not have them in the order of space.
HEIGHTS = (0.0, 4.0, 2.0, 6.0, 8.0)
#: The program counts slices from the head down.
LAST = len(HEIGHTS) - 1


def shape(kind: str) -> np.ndarray:
    """(40, 56) the pixels to be planted, no two sides alike."""
    mask = np.zeros((ROWS, COLUMNS), dtype=bool)
    mask[6:14, 4:25] = True
    if kind == "outline":
        mask[6:9, 4:10] = mask[12:14, 20:25] = False
    if kind == "hole":
        mask[9:11, 8:12] = False
    if kind == "parts":
        mask[30:33, 40:50] = True
    return mask


def planted(mask: np.ndarray | None, number: int) -> np.ndarray:
    pixels = np.random.default_rng(number).integers(0, 200, (ROWS, COLUMNS)).astype(np.int16)
    if mask is not None:
        pixels[mask] = PLANTED
    return pixels


def single(folder, patient: int, masks) -> None:
    mask = masks.get(0) if patient == 0 else None
    save(image(planted(mask, patient), **header(patient, 0)), folder / f"{patient}.dcm")


def series(folder, patient: int, masks) -> None:
    for place in range(len(HEIGHTS)):
        mask = masks.get(LAST - place) if patient == 0 else None
        made = image(
            planted(mask, 10 * patient + place),
            **header(patient, place),
            ImagePositionPatient=[0, 0, 2.0 * place],
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        )
        # Names that are not in the order of space.
        save(made, folder / f"{patient}" / f"{(3 * place) % 5}.dcm")


def frames(folder, patient: int, masks) -> None:
    order = LAST - np.argsort(np.argsort(HEIGHTS))
    pixels = np.stack(
        [
            planted(masks.get(int(place)) if patient == 0 else None, 10 * patient + n)
            for n, place in enumerate(order)
        ]
    )
    made = image(pixels, **{**header(patient, 0), "SOPClassUID": FRAMES})
    made.SharedFunctionalGroupsSequence = sequence_of(
        PixelMeasuresSequence=sequence_of(PixelSpacing=[0.5, 0.5], SliceThickness=2),
        PlaneOrientationSequence=sequence_of(ImageOrientationPatient=[1, 0, 0, 0, 1, 0]),
    )
    made.PerFrameFunctionalGroupsSequence = [
        sequence_of(PlanePositionSequence=sequence_of(ImagePositionPatient=[0, 0, height]))[0]
        for height in HEIGHTS
    ]
    save(made, folder / f"{patient}.dcm")


def header(patient: int, place: int) -> dict:
    return {
        "SOPClassUID": CT,
        "Modality": "CT",
        "PatientID": f"MRN{patient:04d}",
        "PatientName": f"Quixley{patient:02d}^Ann",
        "StudyInstanceUID": f"{ROOT}.5.{patient}",
        "SeriesInstanceUID": f"{ROOT}.6.{patient}",
        "SOPInstanceUID": f"{ROOT}.7.{patient}.{place + 1}",
        "InstanceNumber": place + 1,
        "SeriesNumber": 1,
        "PixelSpacing": [0.5, 0.5],
    }


KINDS = {"single": single, "series": series, "frames": frames}


def made_library(folder, kind: str, masks):
    for patient in range(4):
        KINDS[kind](folder / "in", patient, masks)
    library = folder / "planted.semblance"
    import_source(folder / "in", library)
    extract_features(library, "pixels", workers=1)
    train_metric(library, TrainRequest("euclidean", "plain"))
    return library


def first_patient(library) -> str:
    """The id of the case with planted pixels."""
    with Library.open(library) as opened:
        for row in opened.catalogue.all_cases():
            address = opened.catalogue.details([row.id])[row.id].address
            first = (address.slices or (address,))[0]
            if dcmread(first.container, stop_before_pixels=True).PatientID == "MRN0000":
                return row.case_id
    raise AssertionError("the case is not there")


def coordinates(file, group: int = 0) -> list:
    """The SCOORD items of a group of the report, by pydicom."""
    (groups,) = [
        item
        for item in dcmread(file).ContentSequence
        if item.ConceptNameCodeSequence[0].CodeValue == "126010"
    ]
    return [item for item in groups.ContentSequence[group].ContentSequence if item.ValueType == "SCOORD"]


def selected(items, folder) -> dict[tuple[str, int], np.ndarray]:
    """By instance and frame (from 0) the pixels that coordinates enclose, in the files of ``folder``."""
    files = {str(found.SOPInstanceUID): found for found in map(dcmread, sorted(folder.rglob("*.dcm")))}
    out: dict[tuple[str, int], np.ndarray] = {}
    for item in items:
        assert item.GraphicType == "POLYLINE"
        (source,) = item.ContentSequence
        assert (source.RelationshipType, source.ValueType) == ("SELECTED FROM", "IMAGE")
        (instance,) = source.ReferencedSOPSequence
        uid, frame = str(instance.ReferencedSOPInstanceUID), int(instance.get("ReferencedFrameNumber", 1)) - 1
        points = np.array(item.GraphicData).reshape(-1, 2)
        assert np.array_equal(points[0], points[-1])
        pixels = files[uid].pixel_array.reshape(-1, ROWS, COLUMNS)
        inside = polygon2mask((ROWS, COLUMNS), points[:, ::-1] - 0.5 + 1e-4)
        assert set(np.unique(pixels[frame][inside])) == {PLANTED}
        key = uid, frame
        out[key] = out.get(key, np.zeros_like(inside)) | inside
    for (uid, frame), inside in out.items():
        pixels = files[uid].pixel_array.reshape(-1, ROWS, COLUMNS)
        assert np.array_equal(inside, pixels[frame] == PLANTED)
    return out


def report_of(library, out, query: Query, *, identified: bool):
    options = ReportOptions(identified=identified, dicom="sr")
    file, *_ = write_report_files(library, Search("plain", query), out, options)
    assert errors(file) == []
    return file


def errors(file) -> list[str]:
    if shutil.which("dciodvfy") is None:
        return []
    said = subprocess.run(["dciodvfy", str(file)], capture_output=True, text=True, check=False).stderr
    return [line for line in said.splitlines() if line.startswith("Error")]


@pytest.mark.parametrize("kind", ["rectangle", "outline", "hole", "parts"])
@pytest.mark.parametrize("identified", [False, True])
def test_the_coordinates_of_the_query_select_the_planted_pixels(tmp_path, kind, identified):
    mask = shape(kind)
    library = made_library(tmp_path, "single", {0: mask})
    region = Region(4, 6, 21, 8) if kind == "rectangle" else region_of_mask(mask)
    query = Query(case=first_patient(library), region=region)
    file = report_of(library, tmp_path / "sr.dcm", query, identified=identified)
    folder = tmp_path / "in"
    if not identified:
        folder = tmp_path / "out"
        deidentify_files(library, folder)
    found = selected(coordinates(file), folder)
    assert len(found) == 1
    if kind in ("rectangle", "outline"):
        (group,) = [
            one for one in srread(file).content.get_planar_roi_measurement_groups() if one.roi is not None
        ]
        assert group.roi.value.tolist() == np.array(coordinates(file)[0].GraphicData).reshape(-1, 2).tolist()
    # No other group points at an image of the query.
    assert all(coordinates(file, group) == [] for group in range(1, 4))


@pytest.mark.parametrize("outline", ["ellipse", "polygon"])
def test_a_drawn_shape_selects_the_pixels_that_are_searched_with(tmp_path, outline):
    points = ((0.0, 3.5), (12.2, 0.0), (21.0, 8.0), (3.0, 6.5))
    drawn = Ellipse.filling(21, 8) if outline == "ellipse" else Polygon(points)
    region = Region(4, 6, 21, 8, drawn)
    library = made_library(tmp_path, "single", {0: region.mask(ROWS, COLUMNS)})
    file = report_of(
        library, tmp_path / "sr.dcm", Query(case=first_patient(library), region=region), identified=True
    )
    assert len(selected(coordinates(file), tmp_path / "in")) == 1


@pytest.mark.parametrize("kind", ["series", "frames"])
@pytest.mark.parametrize("places", [(3,), (2, 3, 4)])
def test_in_a_volume_each_slice_of_the_region_is_referred_to(tmp_path, kind, places):
    mask = shape("rectangle")
    library = made_library(tmp_path, kind, dict.fromkeys(places, mask))
    region = Region(4, 6, 21, 8, z=places[0], depth=len(places))
    query = Query(case=first_patient(library), region=region)
    file = report_of(library, tmp_path / "sr.dcm", query, identified=True)
    found = selected(coordinates(file), tmp_path / "in")
    assert len(found) == len(places)
    if kind == "frames":
        assert {frame for _, frame in found} == {int(np.argsort(HEIGHTS)[LAST - place]) for place in places}
    else:
        assert {uid for uid, _ in found} == {f"{ROOT}.7.0.{LAST - place + 1}" for place in places}


def test_a_region_on_no_certain_slice_is_on_the_one_that_is_shown(tmp_path):
    library = made_library(tmp_path, "series", {2: shape("rectangle")})
    query = Query(case=first_patient(library), region=Region(4, 6, 21, 8))
    file = report_of(library, tmp_path / "sr.dcm", query, identified=True)
    assert list(selected(coordinates(file), tmp_path / "in")) == [(f"{ROOT}.7.0.3", 0)]


def test_regions_of_similar_cases_are_in_the_de_identified_report_only(tmp_path, monkeypatch):
    mask = shape("outline")
    library = made_library(tmp_path, "single", {0: mask})
    planted_case = first_patient(library)
    details = Catalogue.details

    def with_region(self, rows):
        return {
            row: replace(one, region=region_of_mask(mask)) if one.case_id == planted_case else one
            for row, one in details(self, rows).items()
        }

    with Library.open(library) as opened:
        other = next(row.case_id for row in opened.catalogue.all_cases() if row.case_id != planted_case)
    monkeypatch.setattr(Catalogue, "details", with_region)
    file = report_of(library, tmp_path / "sr.dcm", Query(case=other), identified=False)
    deidentify_files(library, tmp_path / "out")
    found = [selected(coordinates(file, group), tmp_path / "out") for group in range(4)]
    assert [len(one) for one in found if one] == [1]
    assert found[0] == {}
    file = report_of(library, tmp_path / "own.dcm", Query(case=other), identified=True)
    assert [coordinates(file, group) for group in range(4)] == [[]] * 4


def found_at(monkeypatch, case: str, place: MatchedPlace):
    """Let searches be by place, and find the query at ``place`` of ``case`` and nowhere else."""
    real = write_reports.rank_cases

    def ranked(*args, **options):
        by_place = real(*args, **options)
        lines = tuple(
            replace(line, place=place if line.case_id == case else None) for line in by_place.result.ranked
        )
        return replace(by_place, result=replace(by_place.result, ranked=lines))

    monkeypatch.setattr(write_reports, "rank_cases", ranked)


@pytest.mark.parametrize("kind", ["single", "series", "frames"])
def test_a_matched_place_is_a_coordinate_on_its_slice_of_the_similar_case(tmp_path, monkeypatch, kind):
    number = 0 if kind == "single" else 3
    library = made_library(tmp_path, kind, {number: shape("rectangle")})
    planted_case = first_patient(library)
    with Library.open(library) as opened:
        other = next(row.case_id for row in opened.catalogue.all_cases() if row.case_id != planted_case)
    place = MatchedPlace(4, 6, 21, 8, None if kind == "single" else number + 1, 0.7, COLUMNS, ROWS)
    found_at(monkeypatch, planted_case, place)
    query = Query(case=other, region=Region(2, 3, 10, 10))
    file = report_of(library, tmp_path / "sr.dcm", query, identified=False)
    deidentify_files(library, tmp_path / "out")
    found = [coordinates(file, group) for group in range(4)]
    assert len(found[0]) == 1
    (case,) = [items for items in found[1:] if items]
    assert len(selected(case, tmp_path / "out")) == 1
    # An object for a patient's record does not refer to images of others.
    file = report_of(library, tmp_path / "own.dcm", query, identified=True)
    assert [len(coordinates(file, group)) for group in range(4)] == [1, 0, 0, 0]


def test_a_place_in_an_image_that_is_no_dicom_file_is_on_its_capture(tmp_path, monkeypatch):
    for number in range(3):
        pixels = np.random.default_rng(number).integers(0, 255, (600, 900)).astype(np.uint8)
        (tmp_path / "in").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "in" / f"{number}.png")
    library = tmp_path / "images.semblance"
    import_source(tmp_path / "in", library)
    extract_features(library, "pixels", workers=1)
    train_metric(library, TrainRequest("euclidean", "plain"))
    with Library.open(library) as opened:
        first, second, *_ = (row.case_id for row in opened.catalogue.all_cases())
    found_at(monkeypatch, second, MatchedPlace(90, 150, 360, 150, None, 0.7, 900, 600))
    query = Query(case=first, region=Region(90, 150, 360, 150))
    options = ReportOptions(dicom="sr")
    file, *others = write_report_files(library, Search("plain", query), tmp_path / "sr.dcm", options)
    assert errors(file) == []
    (case,) = [items for items in (coordinates(file, group) for group in (1, 2)) if items]
    points = np.array(case[0].GraphicData).reshape(-1, 2)
    (instance,) = case[0].ContentSequence[0].ReferencedSOPSequence
    capture = next(
        one for one in map(dcmread, others) if one.SOPInstanceUID == instance.ReferencedSOPInstanceUID
    )
    scale = capture.Columns / 900
    assert (*points.min(axis=0), *points.max(axis=0)) == pytest.approx(
        [scale * end for end in (90, 150, 450, 300)]
    )


def test_on_an_image_that_is_in_no_dicom_file_the_coordinates_are_those_of_its_capture(tmp_path):
    library = made_library(tmp_path, "single", {})
    pixels = np.zeros((600, 900), dtype=np.uint8)
    pixels[150:300, 90:450] = 255
    Image.fromarray(pixels).save(tmp_path / "query.png")
    query = Query(image=tmp_path / "query.png", region=Region(90, 150, 360, 150))
    options = ReportOptions(identified=True, dicom="sr")
    file, *others = write_report_files(library, Search("plain", query), tmp_path / "sr.dcm", options)
    (item,) = coordinates(file)
    (instance,) = item.ContentSequence[0].ReferencedSOPSequence
    (capture,) = [
        one for one in map(dcmread, others) if one.SOPInstanceUID == instance.ReferencedSOPInstanceUID
    ]
    points = np.array(item.GraphicData).reshape(-1, 2)
    left, top = points.min(axis=0)
    right, bottom = points.max(axis=0)
    assert (left, top, right, bottom) == pytest.approx((48, 80, 240, 160))
    grey = capture.pixel_array.mean(axis=2)
    # The outline is drawn on it, a pixel or two wide.
    inside = grey[int(top) + 3 : int(bottom) - 3, int(left) + 3 : int(right) - 3]
    outside = np.concatenate([grey[: int(top) - 3].ravel(), grey[int(bottom) + 3 :].ravel()])
    assert inside.min() > 200 and outside.max() < 50


def test_key_images_are_printed_and_are_the_key_objects(tmp_path):
    """As they were marked, and those slices in place of the whole series."""
    library = made_library(tmp_path, "series", {})
    query = first_patient(library)
    with Library.open(library) as opened:
        row = opened.catalogue.row_of(query)
    for key in (KeyImage(1), KeyImage(3, (0.0, 100.0), slab=Slab(SlabMode.MAXIMUM, 4.0))):
        mark_key_image(library, row, key, is_marked=True)
    close_libraries()
    search = Search("plain", Query(case=query))
    page, *_ = write_report_files(library, search, tmp_path / "r.html")
    text = page.read_text(encoding="utf-8")
    assert "Key images" in text
    assert text.index("Slice 2") < text.index("Slice 4, MIP 4 mm") < text.index("Similar cases</h2>")
    paper, *_ = write_report_files(library, search, tmp_path / "r.pdf")
    assert "Slice 4, MIP 4 mm" in "".join(page.extract_text() for page in PdfReader(paper).pages)
    options = ReportOptions(identified=True, dicom="kos")
    objects, *_ = write_report_files(library, search, tmp_path / "kos.dcm", options)
    named = {
        str(item.ReferencedSOPSequence[0].ReferencedSOPInstanceUID)
        for item in dcmread(objects).ContentSequence
        if item.ValueType == "IMAGE"
    }
    # Slices count from the head: the second lies fourth.
    assert {f"{ROOT}.7.0.{place + 1}" for place in (LAST - 1, LAST - 3)} <= named
    assert not {f"{ROOT}.7.0.{place + 1}" for place in (LAST, LAST - 2, LAST - 4)} & named
