from __future__ import annotations

import io

import numpy as np
import pytest
from pydicom import Dataset

from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.dicom import cad_marks
from semblance.core.imaging.dicom.attributes import text
from semblance.core.imaging.dicom.dicom_file import looks_like_dicom, open_dicom
from semblance.core.imaging.dicom.geometry import (
    calibrations_of,
    directions,
    distance_between,
    gaps_in,
    slice_plane,
    spacing_of,
)
from semblance.core.imaging.dicom.patient_identity import patient_of
from semblance.core.imaging.dicom.structure_sets import structures
from semblance.core.imaging.image import Calibration
from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.library.importers.dicom import named_files
from tests.helpers.dicom_files import ct_series, ct_slice, encoded


def planes(heights, spacing=(0.5, 0.5)) -> list[SlicePlane]:
    return [SlicePlane((-10.0, -20.0, float(z)), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), spacing) for z in heights]


@pytest.mark.parametrize(
    ("row", "column", "expected"),
    [
        ((1, 0, 0), (0, 1, 0), ("S", "P", "L")),
        ((1, 0, 0), (0, 0, -1), ("P", "I", "L")),
        ((0, 1, 0), (0, 0, -1), ("R", "I", "P")),
        ((0.98, 0.199, 0), (-0.199, 0.98, 0), ("S", "P", "L")),
    ],
    ids=["axial", "coronal", "sagittal", "oblique"],
)
def test_directions_are_named_by_the_nearest_axis(row, column, expected):
    assert directions(SlicePlane((0, 0, 0), row, column)) == expected


def test_distance_and_gaps():
    assert distance_between(planes([0, 2, 4, 6])) == 2
    assert distance_between(planes([5])) is None
    assert gaps_in(planes([0, 2, 4, 6])) == []
    assert gaps_in(planes([0, 2, 4, 8, 10])) == [2]


def test_points_become_pixels_with_their_middles_at_one_half():
    plane = planes([6], (0.5, 0.25))[0]
    found = plane.pixels_of(np.array([[-10.0, -20.0, 6.0], [-9.0, -18.0, 9.0]]))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0], [4.5, 4.5, 3]])


@pytest.mark.parametrize("cosines", [[0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0], ["x"] * 6])
def test_directions_that_cannot_be_are_no_plane(cosines):
    dataset = ct_slice(np.zeros((4, 4), np.int16))
    dataset.ImageOrientationPatient = cosines if len(cosines) == 6 and cosines[0] != "x" else [1, 0, 0]
    assert slice_plane(dataset) is None


def test_a_series_of_files_has_spacing_and_directions(tmp_path):
    files = [ImageAddress(path) for path in ct_series(tmp_path)]
    with ImageReader() as reader:
        stack = reader.stack(ImageAddress(files[0].container, slices=tuple(files)))
        assert stack.spacing_mm == (2.0, 0.5, 0.5)
        assert stack.directions == ("S", "P", "L")
        volume = stack.volume()
        assert volume.voxels.shape == (6, 24, 32)
        assert volume.values.unit == "HU"
        assert volume.physical_values()[3].mean() == pytest.approx(300 + 24.5 - 1024, abs=3)


@pytest.mark.filterwarnings("ignore:Invalid value for VR CS")
@pytest.mark.parametrize(
    ("name", "inside"),
    [
        (["A", "B"], True),
        ("IM1", True),
        (["..", "IM1"], False),
        (["A", "..", "..", "IM1"], False),
        (["", "etc", "passwd"], False),
        (["A/../../B"], False),
        (["C:", "X"], False),
    ],
)
def test_a_dicomdir_names_only_files_below_itself(name, inside):
    record = Dataset()
    record.add_new(0x00041500, "CS", name)
    directory = Dataset()
    directory.DirectoryRecordSequence = [record]
    files, refused = named_files(directory)
    assert (len(files), len(refused)) == ((1, 0) if inside else (0, 1))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chrFrenMulti", "Buc^Jérôme"),
        ("chrGerm", "Äneas^Rüdiger"),
        ("chrH31", "Yamada^Tarou=山田^太郎=やまだ^たろう"),
        ("chrRuss", "Люкceмбypг"),
    ],
)
def test_names_in_other_scripts_are_understood(data, name, expected):
    with (data / f"dicom/charset/{name}.dcm").open("rb") as file:
        assert text(open_dicom(file, name).dataset, "PatientName") == expected


def test_the_patient_is_the_id_and_never_the_name():
    dataset = Dataset()
    dataset.PatientName = "Nobody^Nowhere"
    assert patient_of(dataset) is None
    dataset.StudyInstanceUID = "1.2.3"
    assert patient_of(dataset) == "1.2.3"
    dataset.PatientID = " P7 "
    assert patient_of(dataset) == "P7"


@pytest.mark.parametrize(
    "head",
    [b"", b"\x08", b"just a text that is long enough", b"\x08\0\x05\0ZZ\x0a\0" + bytes(20), bytes(136)],
)
def test_other_bytes_are_not_taken_for_dicom(head):
    assert not looks_like_dicom(head)


def square(side: float, z: float, left: float = 0.0) -> Dataset:
    contour = Dataset()
    contour.ContourGeometricType = "CLOSED_PLANAR"
    corners = [(left, 0), (left + side, 0), (left + side, side), (left, side)]
    contour.ContourData = [part for x, y in corners for part in (x - 10.25, y - 20.25, z)]
    return contour


def test_structures_become_regions_of_the_slices_they_are_drawn_on():
    named, drawn = Dataset(), Dataset()
    named.ROINumber, named.ROIName = 4, "LUNG"
    drawn.ReferencedROINumber = 4
    drawn.ContourSequence = [square(5, 2), square(5, 4), square(2, 4, 1.0), square(5, 90)]
    dataset = Dataset()
    dataset.StructureSetROISequence, dataset.ROIContourSequence = [named], [drawn]
    (found,) = structures(dataset, planes([0, 2, 4, 6]), (30, 30))
    region = found.region
    assert (found.label, region.z, region.depth) == ("LUNG", 1, 2)
    assert (region.x, region.y, region.width, region.height) == (0, 0, 10, 10)
    voxels = region.outline.voxels()
    # 5 mm of 0.5 mm pixels; the hole of 2 mm counts on its own slice only.
    assert voxels.sum(axis=(1, 2)).tolist() == [100, 100 - 16]


def coded(meaning: str, value: str = "1") -> list[Dataset]:
    code = Dataset()
    code.CodeValue, code.CodeMeaning, code.CodingSchemeDesignator = value, meaning, "DCM"
    return [code]


def drawing(graphic: str, points: list[float], *, instance: str = "", place: list[int] | None = None,
            concept: str = "111041") -> Dataset:  # fmt: skip
    image, found = Dataset(), Dataset()
    if place:
        image.ReferencedContentItemIdentifier = place
    else:
        reference = Dataset()
        reference.ReferencedSOPInstanceUID = instance
        image.ValueType, image.ReferencedSOPSequence = "IMAGE", [reference]
    found.ValueType, found.GraphicType, found.GraphicData = "SCOORD", graphic, points
    found.ConceptNameCodeSequence, found.ContentSequence = coded("Outline", concept), [image]
    return found


def test_marks_are_found_wherever_they_hang_in_the_tree():
    library, finding, lonely = Dataset(), Dataset(), Dataset()
    reference, imaged = Dataset(), Dataset()
    reference.ReferencedSOPInstanceUID = "1.2.9"
    imaged.ValueType, imaged.ReferencedSOPSequence = "IMAGE", [reference]
    library.ValueType, library.ContentSequence = "CONTAINER", [imaged]
    finding.ValueType, finding.ConceptCodeSequence = "CODE", coded("Mammography breast mass")
    finding.ContentSequence = [
        drawing("POINT", [50, 60], place=[1, 1, 1], concept="111010"),
        drawing("POLYLINE", [10, 20, 30, 20, 30, 50, 10, 20], place=[1, 1, 1]),
    ]
    lonely.ValueType, lonely.ConceptCodeSequence = "CODE", coded("Calcification cluster")
    lonely.ContentSequence = [
        drawing("POINT", [100, 200], instance="1.2.8", concept="111010"),
        drawing("CIRCLE", [70, 70, 75, 70], instance="1.2.8"),
        drawing("POINT", [1, 1], place=[1, 9, 9]),
    ]
    root = Dataset()
    root.ContentSequence = [library, finding, lonely]
    mass, circle = cad_marks.cad_marks(root)
    assert (mass.instance, mass.kind) == ("1.2.9", "Mammography breast mass")
    assert (mass.region.x, mass.region.y, mass.region.width, mass.region.height) == (10, 20, 20, 30)
    assert isinstance(mass.region.outline, Polygon)
    assert (circle.instance, circle.region.x, circle.region.width) == ("1.2.8", 65, 10)
    lonely.ContentSequence = [drawing("POINT", [100, 200], instance="1.2.8", concept="111010")]
    assert cad_marks.cad_marks(root)[1].region.width == cad_marks.POINT_SIDE


def test_a_tree_that_contains_itself_ends():
    root = Dataset()
    root.ContentSequence = [root]
    assert cad_marks.cad_marks(root) == []


def test_a_header_is_read_without_its_pixels():
    data = encoded(ct_slice(np.zeros((64, 64), np.int16)))
    short = io.BytesIO(data[: -64 * 64])
    opened = open_dicom(short, "short", ("Rows", "PatientID"))
    assert (opened.dataset.Rows, opened.pixels, "PatientName" in opened.dataset) == (64, "PixelData", False)


def header(**elements) -> Dataset:
    dataset = Dataset()
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return dataset


def ultrasound_region(ends, delta=0.01, units=3) -> Dataset:
    region = header(PhysicalDeltaX=delta, PhysicalDeltaY=-2 * delta)
    region.PhysicalUnitsXDirection = region.PhysicalUnitsYDirection = units
    for end, value in zip(("MinX0", "MinY0", "MaxX1", "MaxY1"), ends, strict=True):
        setattr(region, f"RegionLocation{end}", value)
    return region


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ({"PixelSpacing": [0.5, 0.4]}, Calibration(0.5, 0.4)),
        ({"ImagerPixelSpacing": [0.2, 0.2]}, Calibration(0.2, 0.2, "detector")),
        ({"ImagerPixelSpacing": [0.2, 0.2], "PixelSpacing": [0.1, 0.1]}, Calibration(0.1, 0.1)),
        ({"ImagerPixelSpacing": [0.2, 0.2], "PixelSpacing": [0.2, 0.2]}, Calibration(0.2, 0.2, "detector")),
        (
            {
                "ImagerPixelSpacing": [0.2, 0.2],
                "PixelSpacing": [0.2, 0.2],
                "PixelSpacingCalibrationType": "FIDUCIAL",
            },
            Calibration(0.2, 0.2),
        ),
        (
            {"ImagerPixelSpacing": [0.2, 0.2], "EstimatedRadiographicMagnificationFactor": 2},
            Calibration(0.1, 0.1, "magnification"),
        ),
        ({"NominalScannedPixelSpacing": [0.3, 0.3]}, Calibration(0.3, 0.3, "film")),
        ({"PixelAspectRatio": [2, 1]}, Calibration(2, 1, "aspect")),
        ({"PixelSpacing": [0, 0.4]}, None),
    ],
)
def test_a_calibration_says_where_it_is_known_from(elements, expected):
    assert calibrations_of(header(**elements)) == (() if expected is None else (expected,))


def test_ultrasound_is_calibrated_in_its_regions_alone():
    image, trace = ultrasound_region((10, 0, 99, 49)), ultrasound_region((10, 50, 99, 79), units=4)
    found = calibrations_of(header(SequenceOfUltrasoundRegions=[image, trace], PixelSpacing=[1, 1]))
    assert found[0] == Calibration(0.2, 0.1, "ultrasound", (10, 0, 100, 50))
    assert found[1] == Calibration(0, 0, "ultrasound", (10, 50, 100, 80))
    assert spacing_of(header(SequenceOfUltrasoundRegions=[image])) == (0.2, 0.1)
    assert spacing_of(header(SequenceOfUltrasoundRegions=[image, trace])) is None


def test_each_frame_has_its_own_calibration():
    groups = [header(PixelMeasuresSequence=[header(PixelSpacing=[mm, mm])]) for mm in (0.5, 0.7)]
    dataset = header(PerFrameFunctionalGroupsSequence=groups, PixelSpacing=[3, 3])
    assert [calibrations_of(dataset, frame)[0].spacing for frame in range(2)] == [(0.5, 0.5), (0.7, 0.7)]
