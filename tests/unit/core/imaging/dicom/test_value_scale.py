"""What stored numbers mean: rescale, units, windows, look-up tables and padding."""

from __future__ import annotations

import numpy as np
import pytest
from pydicom import Dataset
from pydicom.pixels import apply_modality_lut

from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.dicom.value_scale import (
    MAX_WINDOWS,
    grey_range,
    modality_lut_values,
    values_of,
)
from semblance.core.imaging.image import ValueScale, ValueWindow
from tests.helpers.dicom_files import ct_slice, first_image, image, sequence_of

GREY = np.arange(64, dtype=np.int16).reshape(8, 8) * 40


def test_ct_is_as_grey_wherever_it_was_made():
    plain = first_image(ct_slice(GREY))
    other = ct_slice((GREY * 2).astype(np.int16))
    other.RescaleSlope = 0.5
    np.testing.assert_allclose(first_image(other).grey(), plain.grey(), atol=1e-6)
    np.testing.assert_array_equal(plain.physical_values(), GREY.astype(np.float32) - 1024)
    np.testing.assert_allclose(plain.grey(), np.clip(GREY / 2048, 0, 1), atol=1e-6)


def test_windows_come_with_their_names_and_edges():
    dataset = image(GREY, Modality="MR", WindowCenter=[100, 50], WindowWidth=[200, 11])
    dataset.WindowCenterWidthExplanation = ["WIDE", "NARROW"]
    found = first_image(dataset)
    assert found.values.windows == (ValueWindow(0.0, 199.0, "WIDE"), ValueWindow(44.5, 54.5, "NARROW"))
    assert (found.black, found.white) == (0.0, 199.0)
    dataset.VOILUTFunction = "LINEAR_EXACT"
    assert first_image(dataset).values.windows[0] == ValueWindow(0.0, 200.0, "WIDE")


def test_a_window_without_width_is_left_out():
    assert first_image(image(GREY, WindowCenter=[1, 2], WindowWidth=[0, -5])).values.windows == ()


def test_without_a_window_grey_runs_over_what_is_no_padding():
    found = first_image(image(GREY, PixelPaddingValue=0, PixelPaddingRangeLimit=80))
    assert found.values.padding == (0.0, 80.0)
    assert (found.black, found.white) == (120.0, 2520.0)
    assert found.grey()[0, 0] == 0
    assert found.padding_mask()[0, :4].tolist() == [True, True, True, False]


def test_monochrome1_is_dark_where_numbers_are_high():
    up, down = image(GREY), image(GREY, PhotometricInterpretation="MONOCHROME1")
    np.testing.assert_allclose(first_image(down).grey(), 1 - first_image(up).grey(), atol=1e-6)
    assert first_image(down).values.inverse


def test_a_modality_table_gives_the_numbers(data):
    from pydicom import dcmread

    path = data / "dicom/samples/mlut_18.dcm"
    reference = dcmread(path)
    with path.open("rb") as file:
        found = DicomImages(file, "mlut").image(0)
    np.testing.assert_array_equal(found.pixels, apply_modality_lut(reference.pixel_array, reference))


def lut(descriptor, data, **more) -> Dataset:
    """A look-up table of a Modality or VOI LUT sequence; ``data`` as numbers, or as bytes."""
    entry = Dataset()
    for keyword, value in {"LUTDescriptor": descriptor, "LUTData": data, **more}.items():
        setattr(entry, keyword, value)
    return entry


def layout(**more) -> PixelLayout:
    plain = {"samples": 1, "allocated": 16, "stored": 16, "high": 15, "signed": True, "floating": False}
    return PixelLayout(frames=1, rows=2, columns=2, photometric="MONOCHROME2", planar=False, **(plain | more))


def scale_of(elements: dict, frame: int = 0, **more) -> ValueScale:
    dataset = Dataset()
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return values_of(dataset, layout(**more), frame)


@pytest.mark.parametrize(
    ("elements", "slope", "intercept", "unit"),
    [
        ({}, 1.0, 0.0, ""),
        ({"RescaleSlope": 2, "RescaleIntercept": -5}, 2.0, -5.0, ""),
        ({"RescaleSlope": 0, "RescaleIntercept": -5}, 1.0, -5.0, ""),
        ({"Modality": "CT", "RescaleSlope": 1}, 1.0, 0.0, "HU"),
        ({"Modality": "CT", "RescaleIntercept": -1024, "RescaleType": "US"}, 1.0, -1024.0, "HU"),
        ({"Modality": "CT", "RescaleSlope": 1, "RescaleType": "MGML"}, 1.0, 0.0, "MGML"),
        ({"Modality": "CT"}, 1.0, 0.0, ""),
        ({"Modality": "MR", "RescaleSlope": 1, "RescaleType": "us"}, 1.0, 0.0, ""),
        ({"RescaleSlope": 1, "RescaleType": "UNSPECIFIED"}, 1.0, 0.0, ""),
        ({"RescaleSlope": 1, "RescaleType": "A UNIT OF NO STANDARD"}, 1.0, 0.0, "A UNIT OF NO STA"),
        ({"DoseGridScaling": "0.001", "DoseUnits": "GY"}, 0.001, 0.0, "Gy"),
        ({"DoseGridScaling": "0.001", "RescaleSlope": 2, "RescaleType": "HU"}, 2.0, 0.0, "HU"),
    ],
)
def test_slope_intercept_and_unit(elements, slope, intercept, unit):
    scale = scale_of(elements)
    assert (scale.slope, scale.intercept, scale.unit) == (slope, intercept, unit)


def test_a_frame_takes_its_own_group_before_the_shared_one_before_the_header():
    header = {"RescaleSlope": 9, "WindowCenter": 9, "WindowWidth": 9}
    shared = sequence_of(
        PixelValueTransformationSequence=sequence_of(RescaleSlope=2),
        FrameVOILUTSequence=sequence_of(WindowCenter=100, WindowWidth=201),
    )
    own = [
        *sequence_of(
            PixelValueTransformationSequence=sequence_of(RescaleSlope=3),
            FrameVOILUTSequence=sequence_of(WindowCenter=50, WindowWidth=101),
        ),
        Dataset(),
    ]
    groups = {"SharedFunctionalGroupsSequence": shared, "PerFrameFunctionalGroupsSequence": own}
    scales = [scale_of(header | groups, frame) for frame in range(3)]
    assert [scale.slope for scale in scales] == [3, 2, 2]
    assert [(scale.windows[0].low, scale.windows[0].high) for scale in scales] == [
        (-0.5, 99.5),
        (-0.5, 199.5),
        (-0.5, 199.5),
    ]
    assert scale_of(header).slope == 9


@pytest.mark.parametrize(
    ("elements", "more", "padding"),
    [
        ({}, {}, None),
        ({"PixelPaddingValue": 5}, {}, (5.0, 5.0)),
        ({"PixelPaddingValue": 9, "PixelPaddingRangeLimit": 5}, {"signed": False}, (5.0, 9.0)),
        # Signed padding that the writer stored as unsigned.
        ({"PixelPaddingValue": 63536}, {}, (-2000.0, -2000.0)),
        ({"PixelPaddingValue": 32767}, {}, (32767.0, 32767.0)),
        ({"PixelPaddingValue": 32768}, {}, (-32768.0, -32768.0)),
        ({"PixelPaddingValue": 63536}, {"signed": False}, (63536.0, 63536.0)),
        ({"PixelPaddingValue": 5}, {"samples": 3}, None),
    ],
)
def test_padding(elements, more, padding):
    assert scale_of(elements, **more).padding == padding


def test_windows_of_every_function():
    """PS3.3 C.11.2.1.2: LINEAR needs a width above 1, the others above 0."""
    two = {"WindowCenter": [10, 20], "WindowWidth": [1, 5]}
    assert scale_of(two).windows == (ValueWindow(17.5, 21.5, ""),)
    for function in ("LINEAR_EXACT", "SIGMOID"):
        windows = scale_of(two | {"VOILUTFunction": function}).windows
        assert windows == (ValueWindow(9.5, 10.5, ""), ValueWindow(17.5, 22.5, ""))
    named = two | {"WindowWidth": [9, 5], "WindowCenterWidthExplanation": ["L" * 64]}
    assert [window.name for window in scale_of(named).windows] == ["L" * 64, ""]
    many = {"WindowCenter": [1] * 40, "WindowWidth": [9] * 40}
    assert len(scale_of(many).windows) == MAX_WINDOWS


def test_a_voi_table_is_the_window_between_its_first_and_last_change():
    rising = lut([6, 100, 16], [0, 0, 10, 20, 20, 20], LUTExplanation="BONE")
    flat, short, none = lut([3, 0, 16], [7, 7, 7]), lut([9, 0, 16], [0, 1, 2]), Dataset()
    packed = lut([4, -2, 16], np.array([0, 1, 2, 3], "<u2").tobytes() + b"!")
    step = lut([2, 5, 16], [9, 0])
    windows = scale_of({"VOILUTSequence": [rising, flat, short, none, packed, step]}).windows
    assert windows == (ValueWindow(101, 103, "BONE"), ValueWindow(-2, 1, ""))
    both = {"WindowCenter": 1, "WindowWidth": 9, "VOILUTSequence": [rising]}
    assert [window.name for window in scale_of(both).windows] == ["", "BONE"]


def test_a_modality_table_maps_what_lies_outside_to_its_ends():
    stored = np.array([[-9, 10], [11, 99]], dtype=np.int16)
    dataset = Dataset()
    assert modality_lut_values(stored, dataset) is None
    dataset.ModalityLUTSequence = [lut([3, 10, 16], [500, 600, 700], ModalityLUTType="HU")]
    mapped, unit = modality_lut_values(stored, dataset)
    assert (mapped.tolist(), unit) == ([[500, 500], [600, 700]], "HU")
    assert modality_lut_values(stored.astype(np.float32), dataset) is None
    for kind in ("US", "UNSPECIFIED"):
        dataset.ModalityLUTSequence[0].ModalityLUTType = kind
        assert modality_lut_values(stored, dataset)[1] == ""
    dataset.ModalityLUTSequence = [lut([0, 0, 16], [0, 70_000])]
    assert modality_lut_values(stored, dataset) is None
    full = np.arange(65536, dtype="<u2").tobytes()
    dataset.ModalityLUTSequence = [lut([0, 0, 16], full)]
    assert modality_lut_values(stored, dataset)[0].tolist() == [[0, 10], [11, 99]]


@pytest.mark.parametrize(
    ("scale", "modality", "more", "edges"),
    [
        (ValueScale(2.0, -1024.0, "HU"), "CT", {}, (0.0, 1024.0)),
        (ValueScale(-2.0, 0.0, "HU"), "CT", {}, (-512.0, 512.0)),
        (ValueScale(1.0, 0.0, "HU"), "MR", {}, (-7.0, 9.0)),
        (ValueScale(1.0, 0.0, ""), "CT", {}, (-7.0, 9.0)),
        (ValueScale(2.0, 10.0, windows=(ValueWindow(20.0, 40.0),)), "MR", {}, (5.0, 15.0)),
        # A window beyond what float32 holds does not count, nor one that is a single number.
        (ValueScale(1e-40, windows=(ValueWindow(20.0, 40.0),)), "MR", {}, (-7.0, 9.0)),
        (ValueScale(windows=(ValueWindow(4.0, 4.0),)), "MR", {}, (-7.0, 9.0)),
        (ValueScale(), "MR", {"stored": 8, "signed": False}, (0.0, 255.0)),
        (ValueScale(), "MR", {"stored": 6, "signed": False}, (0.0, 63.0)),
        (ValueScale(), "MR", {"stored": 8}, (-7.0, 9.0)),
        (ValueScale(), "MR", {"stored": 8, "signed": False, "floating": True}, (-7.0, 9.0)),
        (ValueScale(padding=(-7.0, -7.0)), "MR", {}, (2.0, 9.0)),
        (ValueScale(padding=(9.0, 20.0)), "MR", {}, (-7.0, 3.0)),
        (ValueScale(padding=(2.0, 20.0)), "MR", {}, (-7.0, -6.0)),
        (ValueScale(padding=(-99.0, 99.0)), "MR", {}, (-7.0, 9.0)),
    ],
)
def test_which_stored_numbers_are_black_and_white(scale, modality, more, edges):
    stored = np.array([[-7, 2], [3, 9]], dtype=np.int16)
    assert grey_range(scale, stored, layout(**more), modality) == edges


def test_a_uniform_image_has_a_display_range():
    assert grey_range(ValueScale(), np.full((2, 2), 5, np.int16), layout(), "MR") == (5.0, 6.0)
