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
    modality_lut_of,
    values_of,
    with_positive_slope,
)
from semblance.core.imaging.image import Curve, ValueScale, ValueWindow, window_greys
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
        ({"RescaleSlope": 0, "RescaleIntercept": -5}, 1.0, 0.0, ""),
        ({"Modality": "CT", "RescaleSlope": 0, "RescaleIntercept": -1024}, 1.0, 0.0, ""),
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
    """PS3.3 C.11.2.1.2: LINEAR needs a width of 1, where it is a step, the others one above 0."""
    two = {"WindowCenter": [10, 20], "WindowWidth": [0.5, 5]}
    assert scale_of(two).windows == (ValueWindow(17.5, 21.5, ""),)
    step = scale_of({"WindowCenter": 10, "WindowWidth": 1}).windows[0]
    assert window_greys(np.array([9, 10]), step.low, step.high).tolist() == [0, 1]
    for function, curve in (("LINEAR_EXACT", None), ("SIGMOID", Curve())):
        windows = scale_of(two | {"VOILUTFunction": function}).windows
        assert windows == (ValueWindow(9.75, 10.25, "", curve), ValueWindow(17.5, 22.5, "", curve))
        assert windows[0].stated == (10, 0.5)
    named = two | {"WindowWidth": [9, 5], "WindowCenterWidthExplanation": ["L" * 64]}
    assert [window.name for window in scale_of(named).windows] == ["L" * 64, ""]
    many = {"WindowCenter": [1] * 40, "WindowWidth": [9] * 40}
    assert len(scale_of(many).windows) == MAX_WINDOWS


def test_a_voi_table_is_a_curve_over_its_numbers():
    """PS3.3 C.11.2.1.1; a table that is cut off or maps one number is left out."""
    rising = lut([6, 100, 16], [0, 0, 10, 20, 20, 65535], LUTExplanation="BONE")
    falling = lut([3, 65534, 8], np.array([255, 51, 0], "<u2").tobytes())
    short, none, one = lut([9, 0, 16], [0, 1, 2]), Dataset(), lut([1, 5, 16], [9])
    windows = scale_of({"VOILUTSequence": [rising, short, none, one, falling]}).windows
    assert [(window.low, window.high, window.name) for window in windows] == [(100, 105, "BONE"), (-2, 0, "")]
    assert greys(windows[0], [0, 101, 103, 105, 999]) == pytest.approx([0, 0, 20 / 65535, 1, 1])
    assert greys(windows[1], [-9, -2, -1, 0, 9]) == pytest.approx([1, 1, 0.2, 0, 0])
    both = {"WindowCenter": 1, "WindowWidth": 9, "VOILUTSequence": [rising]}
    assert [window.name for window in scale_of(both).windows] == ["", "BONE"]


def greys(window: ValueWindow, numbers) -> list[float]:
    return window_greys(np.array(numbers), window.low, window.high, window.curve).tolist()


def mapped(entry: Dataset, stored, *, little: bool = True, **more) -> list[int] | None:
    dataset = Dataset()
    dataset.ModalityLUTSequence = [entry]
    found = modality_lut_of(dataset, layout(**more), little=little)
    return None if found is None else found[0].mapped(np.array(stored)).tolist()


def test_a_modality_table_maps_what_lies_outside_to_its_ends():
    dataset = Dataset()
    assert modality_lut_of(dataset, layout()) is None
    assert mapped(lut([3, 10, 16], [500, 600, 700]), [-9, 10, 11, 99]) == [500, 500, 600, 700]
    for kind, unit in (("HU", "HU"), ("US", ""), ("UNSPECIFIED", "")):
        dataset.ModalityLUTSequence = [lut([1, 0, 16], [5], ModalityLUTType=kind)]
        assert modality_lut_of(dataset, layout())[1] == unit
        assert modality_lut_of(dataset, layout(floating=True)) is None
    assert mapped(lut([0, 0, 16], [0, 70_000]), [1]) is None


@pytest.mark.parametrize(
    ("entry", "more", "stored", "outputs"),
    [
        # 65,536 entries are written as 0.
        (lut([0, 0, 16], np.arange(65536, dtype="<u2").tobytes()), {}, [10, 99], [10, 99]),
        (lut([3, 0, 16], np.array([1, 515, 9], ">u2").tobytes()), {"little": False}, [1], [515]),
        # Eight bits packed two to a word, which a big-endian file swaps.
        (lut([4, 0, 8], bytes([9, 8, 7, 6])), {}, [0, 1, 3], [9, 8, 6]),
        (lut([4, 0, 8], bytes([8, 9, 6, 7])), {"little": False}, [0, 1, 3], [9, 8, 6]),
        (lut([3, 0, 8], bytes([9, 8, 7, 0])), {}, [0, 2], [9, 7]),
        # Entries as SS, and the first number of signed pixels as US.
        (lut([2, 0, 16], [-1, -32768]), {}, [0, 1], [65535, 32768]),
        (lut([2, 65408, 16], [1, 2]), {}, [-128, -127], [1, 2]),
        (lut([2, -2, 16], [1, 2]), {"signed": False}, [0, 65535], [1, 2]),
    ],
)
def test_tables_are_read_in_every_form(entry, more, stored, outputs):
    assert mapped(entry, stored, **more) == outputs


def test_padding_stays_padding_under_a_modality_table():
    entry = lut([4, 0, 8], np.array([9, 40, 80, 90], "<u2").tobytes(), ModalityLUTType="US")
    stored = np.array([[0, 1], [2, 3]], np.uint16)
    found = first_image(image(stored, PixelPaddingValue=3, ModalityLUTSequence=[entry]))
    assert found.padding_mask().tolist() == [[False, False], [False, True]]
    assert found.physical_values().tolist()[0] == [9, 40]
    assert found.grey().tolist() == [[0, pytest.approx(31 / 71)], [1, 0]]


def test_the_modality_table_of_an_angiogram_is_not_applied():
    """PS3.3 C.8.7.1.1.2."""
    dataset = Dataset()
    dataset.SOPClassUID = "1.2.840.10008.5.1.4.1.1.12.1"
    dataset.ModalityLUTSequence = [lut([1, 0, 16], [5])]
    dataset.RescaleSlope, dataset.RescaleIntercept = 3, 7
    assert modality_lut_of(dataset, layout()) is None
    assert (values_of(dataset, layout(), 0).slope, values_of(dataset, layout(), 0).intercept) == (1, 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32])
def test_a_slope_below_0_keeps_the_values_and_gives_high_numbers_to_high_ones(dtype):
    stored = np.array([[0, 5], [90, 7]], dtype)
    scale = ValueScale(-2.5, 10.0, padding=(5, 7))
    turned, positive, ends = with_positive_slope(stored, scale, (0.0, 90.0))
    assert positive.slope == 2.5
    np.testing.assert_allclose(turned * 2.5 + positive.intercept, stored * -2.5 + 10)
    assert [end * 2.5 + positive.intercept for end in ends] == [-215, 10]
    assert ((turned >= positive.padding[0]) & (turned <= positive.padding[1])).tolist() == [
        [False, True],
        [False, True],
    ]


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


@pytest.mark.parametrize(
    ("kernel", "part", "centres", "widths", "first"),
    [
        ("LUNG", "", [], [], (-1250, 250)),
        ("B70f", "CHEST", [40], [400], (-1250, 250)),
        ("Bl57d\\3", "", [40, -600], [400, 1200], (-1200, 0)),
        # The file has a better one, or the kernel is for bones.
        ("B70f", "CHEST", [-500], [1600], (-1300, 300)),
        ("B70f", "CHEST", [300], [2000], (-700, 1300)),
        ("B70f", "HEAD", [40], [400], (-160, 240)),
        ("B30f", "CHEST", [40, -600], [400, 1200], (-160, 240)),
    ],
)
def test_a_lung_kernel_opens_in_the_lung_window(kernel, part, centres, widths, first):
    dataset = ct_slice(np.zeros((4, 4), np.int16), ConvolutionKernel=kernel, BodyPartExamined=part)
    if centres:
        dataset.WindowCenter, dataset.WindowWidth = centres, widths
    window = first_image(dataset).values.windows[0]
    assert (window.low, window.high) == pytest.approx(first, abs=1)
    assert len(first_image(dataset).values.windows) == max(len(centres), 1) + (
        first == (-1250, 250) and bool(centres)
    )
