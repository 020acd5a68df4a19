"""Features of masses on shapes with known answers, against scikit-image, shifted and turned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from skimage.filters import threshold_otsu
from skimage.measure import perimeter_crofton, regionprops, shannon_entropy

from semblance import resources
from semblance.core.errors import BadArguments
from semblance.core.features import make_extractor
from semblance.core.features.mass import (
    FEATURES,
    breast,
    fourier_factor,
    moments,
    outline_points,
    perimeter,
    size_and_shape,
)
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse, MaskOutline
from semblance.core.imaging.region import Region, region_of_mask

SIDE = 160


def disc(radius=40, centre=(80, 80), side=SIDE):
    y, x = np.mgrid[:side, :side]
    return (x - centre[0]) ** 2 + (y - centre[1]) ** 2 <= radius**2


def ellipse(a=50, b=20):
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    return (x / a) ** 2 + (y / b) ** 2 <= 1


def square(half=30):
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    return (np.abs(x) < half) & (np.abs(y) < half)


def star(points=8, depth=0.4, radius=45):
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    return np.hypot(x, y) <= radius * (1 - depth / 2 + depth / 2 * np.cos(points * np.arctan2(y, x)))


SHAPES = {"disc": disc(), "ellipse": ellipse(), "square": square(), "star": star()}


def shown(mask, seed=0, noise=0.03, blur=1.5, spacing=None):
    rng = np.random.default_rng(seed)
    grey = 0.3 + 0.3 * ndimage.gaussian_filter(mask.astype(float), blur) + rng.normal(0, noise, mask.shape)
    return Image(np.clip(grey, 0, 1).astype(np.float32), 1.0, spacing_mm=spacing)


def numbers(image, mask, **settings):
    values = make_extractor("mass", **settings).extract(image, region_of_mask(mask))
    return dict(zip([feature.name for feature in FEATURES], values.tolist(), strict=True))


def test_thirty_eight_numbers_nine_of_the_breast():
    assert len(FEATURES) == 38
    assert sum(feature.group == "Breast" for feature in FEATURES) == 9
    assert all(feature.formula for feature in FEATURES)


def test_the_help_page_holds_the_table():
    page = (resources.path("help") / "mass_features.md").read_text(encoding="utf-8")
    rows = ["| group | feature | unit | what it is |", "| --- | --- | --- | --- |"]
    for feature in FEATURES:
        formula = feature.formula.replace("|", "\\|")
        rows.append(f"| {feature.group} | {feature.name} | {feature.unit} | {formula} |")
    assert "\n".join(rows) + "\n" in page


def test_a_disc():
    measured = numbers(shown(disc()), disc())
    assert measured["Area"] == disc().sum()
    assert measured["Perimeter"] == pytest.approx(2 * np.pi * 40.5, rel=0.03)
    assert measured["Longest diameter"] == pytest.approx(81, rel=0.02)
    assert measured["Compactness"] == pytest.approx(1, abs=0.05)
    assert measured["Eccentricity"] == pytest.approx(0, abs=0.05)
    assert measured["Solidity"] > 0.97
    assert measured["Radial mean"] > 0.97
    assert measured["Radial crossings"] == 0
    assert measured["Radial area ratio"] < 0.01
    assert measured["Fourier factor"] < 0.05


def test_an_ellipse():
    measured = numbers(shown(ellipse()), ellipse())
    assert measured["Eccentricity"] == pytest.approx(np.sqrt(1 - (20.5 / 50.5) ** 2), abs=0.01)
    assert measured["Longest diameter"] == pytest.approx(101, rel=0.02)
    assert measured["Radial crossings"] == 4
    # Ramanujan's length of an ellipse.
    a, b = 50.5, 20.5
    length = np.pi * (3 * (a + b) - np.sqrt((3 * a + b) * (a + 3 * b)))
    assert measured["Perimeter"] == pytest.approx(length, rel=0.03)


def test_a_square():
    measured = numbers(shown(square()), square())
    assert measured["Area"] == 59**2
    assert measured["Longest diameter"] == pytest.approx(59 * np.sqrt(2))
    assert measured["Solidity"] == pytest.approx(1)
    assert measured["Radial crossings"] == 8
    assert measured["Radial mean"] == pytest.approx(0.82, abs=0.03)


def test_a_star():
    measured, smooth = numbers(shown(star()), star()), numbers(shown(disc()), disc())
    assert measured["Radial crossings"] == 16
    for rougher in ("Radial deviation", "Radial roughness", "Radial entropy", "Fourier factor"):
        assert measured[rougher] > 2 * smooth[rougher] + 0.05
    assert measured["Solidity"] < 0.9
    assert measured["Compactness"] < 0.6
    assert measured["Spiculation at the margin"] > 1.5 * smooth["Spiculation at the margin"]


@pytest.mark.parametrize("name", SHAPES)
def test_against_scikit_image(name):
    mask = SHAPES[name]
    [props] = regionprops(mask.astype(int))
    area, length, _, _, eccentricity, solidity = size_and_shape(mask)
    assert area == props.area
    assert length == pytest.approx(perimeter_crofton(mask, 4), rel=1e-9)
    assert eccentricity == pytest.approx(props.eccentricity, abs=2e-3)
    assert solidity == pytest.approx(props.solidity, abs=0.03)
    assert size_and_shape(mask)[2] == pytest.approx(props.feret_diameter_max, rel=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_the_perimeter_of_any_mask(seed):
    mask = np.random.default_rng(seed).random((20, 30)) < 0.5
    assert perimeter(mask) == pytest.approx(perimeter_crofton(mask, 4), rel=1e-9)


def test_the_fourier_factor_of_a_waved_circle():
    """z = e^it + a e^5it + ...: with amplitude a at k = 6 and -4, by its formula."""
    turn = np.arange(256) * 2 * np.pi / 256
    radius = 10 * (1 + 0.2 * np.cos(5 * turn))
    points = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    expected = 1 - (1 + 0.1 / 6 + 0.1 / 4) / (1 + 0.1 + 0.1)
    assert fourier_factor(points) == pytest.approx(expected, abs=1e-9)
    assert fourier_factor(points[::-1]) == pytest.approx(expected, abs=1e-9)


def test_moments_and_breast_against_scipy_and_scikit_image():
    from scipy import stats

    values = np.random.default_rng(0).gamma(2.0, 0.1, 5000)
    expected = [values.mean(), values.std(), stats.skew(values), stats.kurtosis(values)]
    assert moments(values) == pytest.approx(expected)
    grey = np.clip(np.random.default_rng(1).normal(0.5, 0.1, (64, 64)), 0, 1)
    grey[:, :32] -= 0.2
    measured = breast(grey)
    assert measured[0] == grey.size
    assert measured[1] == pytest.approx((grey > threshold_otsu(grey, 64)).mean(), abs=0.02)
    assert measured[6] == pytest.approx(shannon_entropy(np.clip(np.floor(grey * 32), 0, 31)), abs=1e-9)


def test_the_breast_is_parted_from_its_background():
    grey = np.zeros((SIDE, SIDE))
    grey[disc(60)] = 0.5
    grey[2:8, 2:20] = 0.9
    measured = breast(grey)
    assert measured[0] == pytest.approx(disc(60).sum(), rel=0.05)
    assert measured[2] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("name", SHAPES)
def test_shifting_changes_nothing_of_the_mass(name):
    rng = np.random.default_rng(2)
    wide = np.zeros((260, 280), bool)
    wide[50:210, 60:220] = SHAPES[name]
    grey = 0.3 + 0.3 * ndimage.gaussian_filter(wide.astype(float), 1.5) + rng.normal(0, 0.03, wide.shape)
    grey = grey.astype(np.float32)
    first = numbers(Image(grey, 1.0), wide)
    moved = numbers(Image(np.roll(grey, (17, -23), (0, 1)), 1.0), np.roll(wide, (17, -23), (0, 1)))
    for feature in FEATURES[:29]:
        assert moved[feature.name] == pytest.approx(first[feature.name], rel=1e-5, abs=1e-6), feature.name


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_turning_changes_nothing(name, times):
    image, mask = shown(SHAPES[name]), SHAPES[name]
    first = numbers(image, mask)
    turned = numbers(Image(np.rot90(image.pixels, times).copy(), 1.0), np.rot90(mask, times))
    for feature in FEATURES:
        # The outline's points begin elsewhere.
        loose = feature.group == "Radial length" or feature.name == "Fourier factor"
        tolerance = 0.05 if loose else 1e-4
        assert turned[feature.name] == pytest.approx(
            first[feature.name], rel=tolerance, abs=2e-3 if loose else 1e-5
        ), feature.name


def test_millimetres():
    mask = disc(30)
    pixels, mm = numbers(shown(mask), mask), numbers(shown(mask, spacing=(0.2, 0.2)), mask)
    for feature in FEATURES:
        power = {"mm² or px²": 2, "mm or px": 1, "1/mm or 1/px": -1}.get(feature.unit, 0)
        assert mm[feature.name] == pytest.approx(pixels[feature.name] * 0.2**power, rel=1e-4, abs=1e-6)


def test_pixels_that_are_not_square():
    mask = disc(30)
    flat = numbers(Image(shown(mask).pixels[::2].copy(), 1.0, spacing_mm=(0.4, 0.2)), mask[::2])
    assert flat["Eccentricity"] < 0.15
    assert flat["Area"] == pytest.approx(mask.sum() * 0.04, rel=0.03)


def test_grey_inside_and_around():
    mask = disc(30)
    measured = numbers(shown(mask, noise=0.0), mask)
    assert measured["Mean inside"] == pytest.approx(0.59, abs=0.02)
    assert measured["Mean around"] == pytest.approx(0.31, abs=0.02)
    assert measured["Contrast"] == pytest.approx(measured["Mean inside"] - measured["Mean around"])
    assert measured["Sharpness"] > 0.03
    dark = Image((1 - shown(mask, noise=0.0).pixels), 1.0)
    assert numbers(dark, mask)["Sharpness"] == pytest.approx(-measured["Sharpness"], rel=1e-3)
    sharper = numbers(shown(mask, blur=0.7), mask)
    assert sharper["Sharpness"] > numbers(shown(mask, blur=4), mask)["Sharpness"]


def test_rough_regions_are_segmented_and_outlines_unchanged():
    mask, image = disc(30), shown(disc(30))
    box, circle = Region(44, 44, 73, 73), Region(44, 44, 73, 73, Ellipse.filling(73, 73))
    for rough in (box, circle):
        area = make_extractor("mass").extract(image, rough)[0]
        assert area == pytest.approx(mask.sum(), rel=0.08)
        assert (
            make_extractor("mass", segment="never").extract(image, rough)[0] == rough.mask(SIDE, SIDE).sum()
        )
    drawn = Region(44, 44, 73, 73, MaskOutline.of(np.ones((73, 73), bool)))
    assert make_extractor("mass").extract(image, drawn)[0] == 73 * 73
    always = make_extractor("mass", segment="always").extract(image, drawn)[0]
    assert always == pytest.approx(mask.sum(), rel=0.08)
    with pytest.raises(BadArguments):
        make_extractor("mass", segment="sometimes")


def test_large_masses_are_measured_as_small_ones():
    mask = disc(30)
    small = numbers(shown(mask), mask)
    wide = disc(8 * 30.5 - 0.5, (640, 640), 1280)
    grey = ndimage.zoom(shown(mask).pixels, 8, order=1, grid_mode=True, mode="nearest")
    large = numbers(Image(grey, 1.0), wide)
    assert large["Area"] == pytest.approx(64 * small["Area"], rel=0.05)
    for same in ("Compactness", "Eccentricity", "Radial mean", "Mean inside", "Contrast"):
        assert large[same] == pytest.approx(small[same], rel=0.05, abs=0.02)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_masses_of_a_few_pixels_give_finite_numbers(size):
    mask = np.zeros((40, 40), bool)
    mask[10 : 10 + size, 20 : 20 + size] = True
    assert np.isfinite(list(numbers(shown(mask), mask).values())).all()
    assert len(outline_points(mask)) == 256
