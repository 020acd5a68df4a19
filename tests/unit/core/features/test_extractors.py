"""What every extractor that reads images must keep; a new one is one line in the registry."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features import extractors, make_extractor
from semblance.core.imaging.burnt_in_marks import hide_marks
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from tests.helpers.burnt_in_marks import draw_mark

#: Those of volumes, and those that need a user's files or feature sets, are tested beside this file.
OF_IMAGES = [
    extractor.name
    for extractor in extractors()
    if extractor.needs_image and extractor.name not in ("onnx", "fusion") and not extractor.needs_volume
]


#: Extractors that also measure what surrounds a region.
LOOKS_AROUND = {"encoder", "mass"}


@pytest.fixture(params=OF_IMAGES)
def extractor(request):
    return make_extractor(request.param)


def noise(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_the_known_extractors():
    names = [extractor.name for extractor in extractors()]
    assert names == [
        "encoder",
        "gabor",
        "mass",
        "colour_edge_texture",
        "polyp",
        "lung_texture",
        "visual_words",
        "textons",
        "pixels",
        "onnx",
        "raw",
        "clinical",
        "fusion",
    ]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BadArguments) as caught:
        make_extractor("sift")
    assert "'sift'" in caught.value.message
    assert (
        "encoder, gabor, mass, colour_edge_texture, polyp, lung_texture, visual_words, textons, pixels, onnx, raw, "
        "clinical, fusion" in caught.value.hint
    )


def test_an_unknown_setting_is_refused(extractor):
    with pytest.raises(BadArguments):
        make_extractor(extractor.name, no_such_setting=1)


def test_importing_the_registry_loads_nothing_heavy():
    heavy = "{'scipy', 'skimage', 'sklearn', 'PIL', 'matplotlib', 'zarr'}"
    code = f"import sys, semblance.core.features; print(sorted({heavy} & {{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_as_many_unique_names_as_numbers(extractor):
    numbers = extractor.extract(Image(noise(40, 50), 255.0))
    names = [feature.name for feature in extractor.feature_names]
    assert numbers.shape == (len(names),)
    assert numbers.dtype == np.float32
    assert len(set(names)) == len(names)
    assert all(feature.group for feature in extractor.feature_names)


def test_the_same_image_gives_the_same_numbers(extractor):
    image = Image(noise(70, 90, 3), 255.0)
    first = extractor.extract(image)
    copy = first.copy()
    extractor.extract(Image(noise(70, 90, 3, seed=1), 255.0))
    again = make_extractor(extractor.name).extract(image)
    np.testing.assert_array_equal(first, copy, "a later image changed earlier numbers")
    np.testing.assert_array_equal(again, copy)


def test_it_travels_to_a_worker(extractor):
    image = Image(noise(30, 30), 255.0)
    before = extractor.extract(image)
    copy = pickle.loads(pickle.dumps(extractor))
    np.testing.assert_array_equal(copy.extract(image), before)


@pytest.mark.parametrize("colour", [False, True])
def test_a_region_is_the_image_cut_out(extractor, colour):
    if extractor.name in LOOKS_AROUND:
        pytest.skip("what surrounds the region counts too")
    pixels = noise(60, 80, 3) if colour else noise(60, 80)
    part = extractor.extract(Image(pixels, 255.0), Region(10, 20, 33, 27))
    alone = extractor.extract(Image(pixels[20:47, 10:43].copy(), 255.0))
    np.testing.assert_array_equal(part, alone)


def test_a_region_reaching_over_the_border_is_clipped_and_one_outside_refused(extractor):
    image = Image(noise(60, 80), 255.0)
    over = extractor.extract(image, Region(70, 50, 100, 100))
    np.testing.assert_array_equal(over, extractor.extract(image, Region(70, 50, 10, 10)))
    with pytest.raises(BadInput):
        extractor.extract(image, Region(80, 0, 5, 5))


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 1, 3), (1, 300), (300, 1), (2, 3), (9, 7, 3), (5, 2000), (3000, 4, 3)]
)
def test_every_size_gives_finite_numbers(extractor, shape):
    assert np.isfinite(extractor.extract(Image(noise(*shape), 255.0))).all()


@pytest.mark.parametrize("value", [0, 90, 255])
@pytest.mark.parametrize("shape", [(40, 60), (40, 60, 3)])
def test_a_constant_image_gives_finite_numbers(extractor, shape, value):
    assert np.isfinite(extractor.extract(Image(np.full(shape, value, np.uint8), 255.0))).all()


@pytest.mark.parametrize("shape", [(50, 64), (50, 64, 3)])
def test_depth_does_not_matter(extractor, shape):
    eight = noise(*shape)
    sixteen = Image(eight.astype(np.uint16) * np.uint16(257), 65535.0)
    real = Image(eight.astype(np.float32) / np.float32(255), 1.0)
    expected = extractor.extract(Image(eight, 255.0))
    for image in (sixteen, real):
        np.testing.assert_allclose(extractor.extract(image), expected, rtol=1e-4, atol=2e-5)


def test_sixteen_bits_are_not_cut_to_eight(extractor):
    faint = (noise(64, 64) // 32).astype(np.uint16)
    flat = extractor.extract(Image(np.zeros((64, 64), np.uint16), 65535.0))
    assert not np.array_equal(extractor.extract(Image(faint, 65535.0)), flat)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_pixels_that_are_no_numbers_are_refused_by_name(extractor, bad):
    pixels = np.full((200, 700), 0.5, dtype=np.float32)
    pixels[3, 4] = bad
    with pytest.raises(BadInput, match=r"scan7\.tif"):
        extractor.extract(Image(pixels, 1.0, name="scan7.tif"))


def test_images_that_may_not_be_written_to(extractor):
    pixels = noise(128, 128)
    pixels.flags.writeable = False
    copy = pixels.copy()
    extractor.extract(Image(pixels, 255.0))
    np.testing.assert_array_equal(pixels, copy)


def test_many_equals_one_by_one(extractor):
    images = [Image(noise(30 + i, 40, seed=i), 255.0) for i in range(3)]
    together = extractor.extract_many(images)
    np.testing.assert_array_equal(together, np.stack([extractor.extract(p) for p in images]))


def test_raw_sends_images_elsewhere():
    raw = make_extractor("raw")
    assert not raw.needs_image
    assert raw.feature_names == ()
    with pytest.raises(BadInput) as caught:
        raw.extract(Image(noise(4, 4), 255.0, name="breast.png"))
    assert "table" in caught.value.message
    assert "breast.png" in caught.value.message
    assert "gabor" in caught.value.hint


def test_no_extractor_sees_burnt_in_marks_unless_it_is_told_to(extractor):
    grey = gaussian_filter(noise(160, 160), 1.5)
    marked = draw_mark(grey, "calipers", seed=3).pixels
    plain, shown = Image(grey, 255.0), Image(marked, 255.0)
    visible = hide_marks(shown)
    assert visible.hidden_marks
    again = replace(visible, hidden_marks=None)
    kept = make_extractor(extractor.name, burnt_in_marks="keep")
    region = Region(40, 40, 80, 80)
    np.testing.assert_array_equal(extractor.extract(shown, region), kept.extract(again, region))
    np.testing.assert_array_equal(
        extractor.measure([extractor.prepare(shown, region)]), kept.measure([kept.prepare(again, region)])
    )
    assert (kept.extract(shown) != extractor.extract(shown)).any()
    np.testing.assert_array_equal(extractor.extract(plain), kept.extract(plain))
