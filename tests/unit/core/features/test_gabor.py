from __future__ import annotations

import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image as PILImage
from skimage.filters import gabor, gabor_kernel

from semblance.core.features import make_extractor
from semblance.core.features.gabor import (
    FREQUENCIES,
    ORIENTATIONS,
    Gabor,
    gabor_bank,
    kernel,
    reflecting_matrix,
)
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.image import Image

SIDE = 128


def reference(grey):
    """(5, 8, 128, 128) magnitudes by scikit-image in float64."""
    grey = np.asarray(grey, dtype=np.float64)
    planes = np.empty((5, 8, SIDE, SIDE))
    for scale, frequency in enumerate(FREQUENCIES):
        for turn, theta in enumerate(ORIENTATIONS):
            real, imaginary = gabor(grey, frequency, theta, mode="reflect")
            planes[scale, turn] = np.sqrt(real**2 + imaginary**2)
    return planes


def blocks(planes):
    return planes.reshape(5, 8, 8, 16, 8, 16).mean(axis=(3, 5))


def scenes():
    y, x = np.mgrid[:SIDE, :SIDE]
    rng = np.random.default_rng(3)
    one_pixel = np.zeros((SIDE, SIDE))
    one_pixel[0, SIDE - 1] = 1.0
    return {
        "noise": rng.random((SIDE, SIDE)),
        "checkerboard": (x + y) % 2.0,
        "stripes aslant": 0.5 + 0.5 * np.cos(2 * np.pi * 0.2 * (x * np.cos(0.6) + y * np.sin(0.6))),
        "disc": ((x - 30) ** 2 + (y - 90) ** 2 < 400) * 0.8,
        "corner pixel": one_pixel,
        "ramp": x / SIDE,
        "constant": np.full((SIDE, SIDE), 0.7),
        "beyond black and white": rng.normal(size=(SIDE, SIDE)) * 50.0,
    }


@pytest.mark.parametrize("name", scenes())
def test_equals_scikit_image(name):
    grey = scenes()[name].astype(np.float32)
    planes = reference(grey)
    scale = planes.max()
    bank = gabor_bank()
    ours = np.stack([bank.magnitudes(grey, s).copy() for s in range(5)])
    assert np.abs(ours - planes).max() < 1e-4 * scale
    # Images show nothing blacker than black or whiter than white; the bank itself takes any numbers.
    shown = reference(grey.clip(0.0, 1.0))
    numbers = make_extractor("gabor").extract(Image(grey, 1.0)).reshape(Gabor.LAYOUT)
    assert np.abs(numbers - blocks(shown)).max() < 1e-4 * shown.max()


@pytest.mark.parametrize("archive", ["corel1k_a.zip", "medical_mnist_a.zip", "busi_256.zip"])
def test_equals_scikit_image_on_real_images(data, archive):
    container = data / "images" / archive
    with zipfile.ZipFile(container) as entries:
        member = next(name for name in entries.namelist() if name.endswith((".png", ".jpg", ".jpeg")))
    with ImageReader() as reader:
        image = reader.open(ImageAddress(container, member))
    grey = np.asarray(PILImage.fromarray(image.grey()).resize((SIDE, SIDE), PILImage.Resampling.BILINEAR))
    planes = reference(grey)
    numbers = make_extractor("gabor", burnt_in_marks="keep").extract(image).reshape(Gabor.LAYOUT)
    assert np.abs(numbers - blocks(planes)).max() < 1e-4 * planes.max()


@pytest.mark.parametrize("frequency", FREQUENCIES)
@pytest.mark.parametrize("turn", range(5))
def test_the_kernel_is_the_product_of_two(frequency, turn):
    along_x, along_y = kernel(frequency, turn), kernel(frequency, 4 - turn)
    whole = gabor_kernel(frequency, np.pi * turn / 8)
    assert whole.shape == (len(along_y), len(along_x))
    np.testing.assert_allclose(np.outer(along_y, along_x), whole, atol=1e-15)


def test_matrix_equals_convolution_by_hand():
    rng = np.random.default_rng(0)
    values, taps = rng.random(12), rng.random(9) + 1j * rng.random(9)
    beyond = np.pad(values, 4, mode="symmetric")
    by_hand = [sum(taps[t] * beyond[row + 8 - t] for t in range(9)) for row in range(12)]
    np.testing.assert_allclose(reflecting_matrix(taps, 12) @ values, by_hand, atol=1e-14)


def test_stripes_raise_the_response_of_their_width_and_direction():
    y, x = np.mgrid[:SIDE, :SIDE]
    for scale, frequency in enumerate(FREQUENCIES):
        for turn, theta in enumerate(ORIENTATIONS):
            wave = np.cos(2 * np.pi * frequency * (x * np.cos(theta) + y * np.sin(theta)))
            image = Image((0.5 * wave).astype(np.float32), 1.0)
            means = make_extractor("gabor").extract(image).reshape(Gabor.LAYOUT)[:, :, 2:6, 2:6]
            strongest = np.unravel_index(means.mean(axis=(2, 3)).argmax(), (5, 8))
            assert strongest == (scale, turn)


def test_a_spot_raises_the_responses_of_its_own_block():
    pixels = np.zeros((SIDE, SIDE), np.float32)
    pixels[16 * 6 + 8, 16 * 1 + 8] = 1.0
    means = make_extractor("gabor").extract(Image(pixels, 1.0)).reshape(Gabor.LAYOUT)
    for scale in range(5):
        for turn in range(8):
            assert np.unravel_index(means[scale, turn].argmax(), (8, 8)) == (6, 1)


def test_names_follow_the_layout():
    names = make_extractor("gabor").feature_names
    at = np.arange(len(names)).reshape(Gabor.LAYOUT)
    chosen = names[at[2, 3, 0, 7]]
    assert chosen.name == "Gabor 5 px, 67.5°, row 1, column 8"
    assert chosen.group == "Gabor, 5 px"
    assert list(dict.fromkeys(name.group for name in names)) == [
        f"Gabor, {width} px" for width in ("2.5", "3.5", "5", "7.1", "10")
    ]


def test_threads_do_not_disturb_each_other():
    extractor = make_extractor("gabor")
    images = [Image(np.random.default_rng(i).random((SIDE, SIDE), dtype=np.float32), 1.0) for i in range(4)]
    alone = [extractor.extract(image) for image in images]

    def differs(index):
        return any(not np.array_equal(extractor.extract(images[index]), alone[index]) for _ in range(10))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(differs, range(4))) == [False] * 4
