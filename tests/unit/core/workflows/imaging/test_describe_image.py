"""What the program sees in one image file, and that it is what the viewer and thumbnails show."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as PILImage

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging import open_image
from semblance.core.imaging.image import linear_window
from semblance.core.imaging.shown_range import as_shown, shown_bytes
from semblance.core.workflows.imaging.describe_image import describe_image
from tests.helpers.dicom_files import ct_slice, image, save, sequence_of

RAMP = np.arange(80, dtype=np.int16).reshape(8, 10) * 40


def test_values_windows_and_greys_of_a_slice(tmp_path):
    file = save(
        ct_slice(
            RAMP, WindowCenter=[-24, 40], WindowWidth=[1001, 400], WindowCenterWidthExplanation=["A", "B"]
        ),
        tmp_path / "a.dcm",
    )
    found = describe_image(file, at=[(0, 0), (9, 7)], out=tmp_path / "a.png")
    assert (found["rows"], found["columns"], found["frames"], found["slices"]) == (8, 10, 1, 1)
    assert (found["unit"], found["photometric"], found["pixel_spacing_mm"]) == (
        "HU",
        "MONOCHROME2",
        [0.5, 0.5],
    )
    assert found["windows"] == [
        {"center": -24, "width": 1001, "explanation": "A"},
        {"center": 40, "width": 400, "explanation": "B"},
    ]
    assert found["values"] == [
        {"x": 0, "y": 0, "value": -1024.0, "shown": 0},
        {"x": 9, "y": 7, "value": 2136.0, "shown": 255},
    ]
    png = np.asarray(PILImage.open(tmp_path / "a.png"))
    assert png.shape == (8, 10)
    assert abs(int(png[2, 5]) - 255 * (25 * 40 - 1024 + 524.5) / 1000) <= 1


def test_another_window_shows_other_greys_of_the_same_values(tmp_path):
    file = save(ct_slice(RAMP, WindowCenter=-24, WindowWidth=1001), tmp_path / "a.dcm")
    found = describe_image(file, window=linear_window(-1004, 41), at=[(0, 0), (1, 0), (2, 0)])
    assert [point["value"] for point in found["values"]] == [-1024, -984, -944]
    assert [point["shown"] for point in found["values"]] == [3, 255, 255]
    assert len(found["windows"]) == 1


def test_a_table_of_the_file_is_what_viewer_thumbnail_and_features_see(tmp_path):
    falling = sequence_of(LUTDescriptor=[4, 10, 8], LUTData=np.array([255, 200, 30, 0], "<u2").tobytes())
    pixels = np.array([[5, 10, 11], [12, 13, 99]], np.uint16)
    file = save(image(pixels, Modality="MR", VOILUTSequence=falling), tmp_path / "a.dcm")
    places = [(x, y) for y in range(2) for x in range(3)]
    shown = [point["shown"] for point in describe_image(file, at=places)["values"]]
    assert shown == [255, 255, 200, 30, 0, 0]
    opened = open_image(file)
    for greys in (opened.grey(), as_shown(opened).grey(), shown_bytes(opened) / 255):
        np.testing.assert_allclose(255 * greys.ravel(), shown, atol=1)


def test_frames_are_counted_as_they_lie_in_the_file(tmp_path):
    dataset = image(np.stack([RAMP, RAMP + 7, RAMP + 9]), Modality="CT")
    dataset.SharedFunctionalGroupsSequence = sequence_of(
        PixelMeasuresSequence=sequence_of(PixelSpacing=[0.5, 0.25], SpacingBetweenSlices=3)
    )
    file = save(dataset, tmp_path / "a.dcm")
    found = describe_image(file, frame=2, at=[(0, 0)])
    assert (found["frames"], found["slices"], found["values"][0]["value"]) == (3, 3, 7)
    assert (found["slice_spacing_mm"], found["pixel_spacing_mm"]) == (3, [0.5, 0.25])
    for missing in ({"frame": 4}, {"place": 4}, {"place": 0}):
        with pytest.raises(BadInput, match="3"):
            describe_image(file, **missing)


def test_plain_images_are_shown_as_they_are(tmp_path):
    colours = np.random.default_rng(3).integers(0, 256, (6, 7, 3), dtype=np.uint8)
    PILImage.fromarray(colours).save(tmp_path / "a.png")
    found = describe_image(tmp_path / "a.png", at=[(4, 2)])
    assert (found["photometric"], found["unit"], found["windows"], found["notes"]) == ("RGB", None, [], [])
    assert found["values"] == [
        {"x": 4, "y": 2, "value": colours[2, 4].tolist(), "shown": colours[2, 4].tolist()}
    ]
    pages = [PILImage.fromarray(np.full((4, 5), level, np.uint8)) for level in (10, 90)]
    pages[0].save(tmp_path / "b.tif", save_all=True, append_images=pages[1:])
    second = describe_image(tmp_path / "b.tif", frame=2, at=[(0, 0)])
    assert (second["frames"], second["values"][0]["shown"]) == (2, 90)


def test_what_is_no_image_or_no_pixel_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("no image")
    with pytest.raises(BadInput, match=r"a\.txt"):
        describe_image(tmp_path / "a.txt")
    with pytest.raises(BadInput):
        describe_image(tmp_path / "missing.dcm")
    PILImage.fromarray(np.zeros((4, 5), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(BadArguments, match="5,0"):
        describe_image(tmp_path / "a.png", at=[(5, 0)])
