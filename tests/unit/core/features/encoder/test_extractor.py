"""What the encoder is shown of an image, a region and a volume."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import skimage.data

from semblance.core.features import make_extractor
from semblance.core.imaging.image import Image, ValueScale, ValueWindow
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import ArrayStack, Volume
from tests.helpers.recording_reporter import RecordingReporter


def noise(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def encoder(**settings):
    return make_extractor("encoder", **settings)


def test_nothing_is_reported_to_the_maker_of_onnxruntime(private_home):
    code = (
        "import numpy as np; from semblance.core.features import make_extractor; "
        "from semblance.core.imaging.image import Image; "
        "make_extractor('encoder').extract(Image(np.zeros((8, 8), np.uint8), 255.0))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(private_home.rglob("*.onnx"))
    assert not list(private_home.rglob("*deviceid*"))


def test_a_whole_image_is_squeezed_and_nothing_cut():
    pixels = np.zeros((100, 300), dtype=np.uint8)
    pixels[:, :10], pixels[:, -10:] = 255, 200
    prepared = encoder(burnt_in_marks="keep").prepare(Image(pixels, 255.0))
    assert (prepared.shape, prepared.dtype) == ((224, 224, 3), np.uint8)
    assert (prepared[:, 0] == 255).all()
    assert (prepared[:, -1] == 200).all()


def test_colours_stay_and_grey_is_shown_in_all_channels():
    colour = noise(224, 224, 3)
    assert (encoder().prepare(Image(colour, 255.0)) == colour).all()
    grey = noise(224, 224)
    assert (encoder().prepare(Image(grey, 255.0)) == grey[:, :, np.newaxis]).all()


def test_the_window_of_the_file_decides():
    stored = np.linspace(-1000, 3000, 224 * 224).astype(np.int16).reshape(224, 224)
    values = ValueScale(intercept=-24.0, unit="HU", windows=(ValueWindow(-160.0, 240.0), ValueWindow(0, 9)))
    prepared = encoder().prepare(Image(stored, 3000.0, black=-1000.0, values=values))
    expected = np.clip((stored - 24.0 + 160.0) / 400.0, 0, 1) * 255.0
    assert np.abs(prepared[:, :, 0] - expected).max() <= 0.51


@pytest.mark.parametrize(
    ("margin", "expected"), [(0.0, (30, 50, 40, 60)), (0.25, (25, 55, 35, 65)), (0.5, (20, 60, 30, 70))]
)
def test_of_a_region_a_square_with_a_margin_is_shown(margin, expected):
    pixels = noise(100, 120)
    left, right, top, bottom = expected
    around = encoder(margin=margin).prepare(Image(pixels, 255.0), Region(30, 45, 20, 10))
    square = encoder().prepare(Image(pixels[top:bottom, left:right].copy(), 255.0))
    assert (around == square).all()


def test_a_finding_twice_as_large_is_shown_the_same():
    y, x = np.mgrid[:400, :400]
    shades = (127 + 120 * np.sin(x / 40) * np.cos(y / 50)).astype(np.uint8)
    half = shades[::2, ::2].copy()
    large = encoder().prepare(Image(shades, 255.0), Region(160, 120, 96, 80))
    small = encoder().prepare(Image(half, 255.0), Region(80, 60, 48, 40))
    assert np.abs(large.astype(int) - small).max() <= 6


def test_beyond_the_border_the_image_is_mirrored():
    pixels = noise(100, 100)
    corner = encoder(margin=0.5).prepare(Image(pixels, 255.0), Region(0, 0, 20, 20))
    mirrored = np.pad(pixels, 10, mode="symmetric")[:40, :40]
    assert (corner == encoder().prepare(Image(mirrored, 255.0))).all()
    whole = encoder(margin=4.0).prepare(Image(pixels, 255.0), Region(0, 0, 100, 100))
    assert whole.std() > 0


def test_of_a_volume_the_middle_slice_or_the_mean():
    voxels = noise(5, 40, 40)
    stack = ArrayStack(Volume(voxels))
    each = encoder().extract_many([Image(one, 255.0) for one in voxels])
    middle, mean = encoder(), encoder(slices="mean")
    assert (middle.volumes, mean.volumes) == (False, True)
    assert middle.measure([middle.prepare_stack(stack)])[0] == pytest.approx(each[2], abs=1e-4)
    assert mean.measure([mean.prepare_stack(stack)])[0] == pytest.approx(each.mean(axis=0), abs=1e-4)
    some = mean.prepare_stack(stack, Region(0, 0, 40, 40, z=1, depth=2))
    around = [mean.prepare(Image(one, 255.0), Region(0, 0, 40, 40)) for one in voxels[1:3]]
    assert some == pytest.approx(mean.measure(around).mean(axis=0), abs=1e-4)


def test_the_conversion_is_reported_and_done_once_before_images_are_measured(monkeypatch):
    from semblance.core.features.encoder import extractor

    made = []
    monkeypatch.setattr(extractor, "model_file", made.append)
    for existing in (None, "encoder.onnx"):
        reporter = RecordingReporter()
        monkeypatch.setattr(extractor, "converted_file", lambda _weights, there=existing: there)
        encoder(weights="random").get_ready(reporter)
        assert [str(what) for *_, what in reporter.messages] == (
            [] if existing else ["Preparing the encoder"]
        )
    assert made == ["random"]


def test_8_bits_are_a_choice_of_weights_and_leave_the_others_as_they_were():
    assert encoder().settings == {
        "margin": 0.25,
        "slices": "middle",
        "weights": "imagenet",
        "burnt_in_marks": "hide",
    }
    photograph = Image(skimage.data.coffee(), 255.0)
    both = [encoder(weights=one).extract(photograph) for one in ("imagenet", "imagenet-8-bit")]
    assert 0.95 <= np.corrcoef(*both)[0, 1] < 0.9999
