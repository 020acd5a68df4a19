"""Measurements against another calculation: pixel by pixel, in exact fractions, of random figures."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.image import ASPECT, AT_DETECTOR, Calibration, Image, ValueScale
from semblance.core.imaging.measurements import (
    ANGLE,
    KINDS,
    LINE,
    OUTLINE,
    PROBE,
    Figure,
    calibration_at,
    measure,
    statistics_of,
)
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.slab import Slab, SlabMode

DTYPES = (np.uint8, np.uint16, np.int16, np.float32)


def random_image(rng):
    height, width = (int(n) for n in rng.integers(5, 24, 2))
    dtype = DTYPES[rng.integers(len(DTYPES))]
    pixels = (
        rng.normal(0, 300, (height, width)) if dtype == np.float32 else rng.integers(0, 250, (height, width))
    )
    if dtype == np.int16:
        pixels = pixels - 120
    scale = ValueScale(
        float(rng.choice([1.0, 0.5, 2.37])),
        float(rng.choice([0.0, -1024.0, 3.5])),
        "HU",
        padding=(10.0, 30.0) if rng.random() < 0.3 else None,
    )
    spacing = None if rng.random() < 0.3 else tuple(rng.uniform(0.05, 3.0, 2).tolist())
    return Image(pixels.astype(dtype), 255.0, "random", spacing, values=scale)


def random_region(rng, height, width):
    x, y = int(rng.integers(-3, width - 1)), int(rng.integers(-3, height - 1))
    wide, high = (int(n) for n in rng.integers(4, 30, 2))
    kind = rng.integers(4)
    outline = None
    if kind == 1:
        outline = Ellipse.filling(wide, high)
    elif kind == 2:
        outline = Polygon(
            tuple((float(a), float(b)) for a, b in rng.uniform(-1, [wide + 1, high + 1], (7, 2)))
        )
    elif kind == 3:
        mask = rng.random((high, wide)) < 0.4
        mask[0, 0] = True
        outline = MaskOutline.of(mask)
    return Region(x, y, wide, high, outline)


def is_inside(region, column, row):
    """Whether the middle of a pixel lies in ``region``."""
    x, y = column + 0.5 - region.x, row + 0.5 - region.y
    if not (0 < x < region.width and 0 < y < region.height):
        return False
    outline = region.outline
    if isinstance(outline, Ellipse):
        (cx, cy), (rx, ry) = outline.centre, outline.radii
        return (x - cx) ** 2 * ry**2 + (y - cy) ** 2 * rx**2 <= (rx * ry) ** 2
    if isinstance(outline, MaskOutline):
        return bool(outline.voxels()[0][int(y), int(x)])
    if isinstance(outline, Polygon):
        # The number of turns of the corners around the point; odd is inside.
        ways = [complex(px - x, py - y) for px, py in outline.points]
        turns = sum(cmath.phase(b / a) for a, b in zip(ways, [*ways[1:], ways[0]], strict=True))
        return round(turns / (2 * math.pi)) % 2 == 1
    return True


def exact(image, region):
    """(n, mean, standard deviation, least, greatest) of the values in ``region``, in fractions."""
    slope, intercept = Fraction(image.values.slope), Fraction(image.values.intercept)
    values = []
    for row in range(image.height):
        for column in range(image.width):
            stored = float(image.pixels[row, column])
            padded = (
                image.values.padding is not None
                and image.values.padding[0] <= stored <= image.values.padding[1]
            )
            if not padded and is_inside(region, column, row):
                values.append(Fraction(stored) * slope + intercept)
    if not values:
        return None
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return len(values), float(mean), math.sqrt(variance), float(min(values)), float(max(values))


@pytest.mark.parametrize("seed", range(40))
def test_statistics_and_area_are_those_of_the_pixels_one_by_one(seed):
    rng = np.random.default_rng(seed)
    image = random_image(rng)
    region = random_region(rng, image.height, image.width)
    try:
        measured = measure(image, Figure.of_region(region))
    except BadInput:
        assert exact(image, region) is None
        return
    expected, found = exact(image, region), measured.statistics
    if expected is None:
        assert found is None
        assert measured.area == 0
        return
    assert found.n == expected[0]
    assert (found.mean, found.sd, found.low, found.high) == pytest.approx(expected[1:], rel=1e-12, abs=1e-9)
    row, column = image.spacing_mm or (1.0, 1.0)
    assert measured.area == pytest.approx(expected[0] * row * column)
    assert measured.is_mm == (image.spacing_mm is not None)
    assert measured.unit == "HU"


@pytest.mark.parametrize("seed", range(20))
def test_lengths_and_angles_are_in_mm_whatever_the_shape_of_pixels(seed):
    rng = np.random.default_rng(seed)
    row, column = rng.uniform(0.1, 5.0, 2)
    # Drawn in mm, and only then brought to pixels.
    points = rng.uniform(0, 100, (4, 2))
    drawn = [(x / column, y / row) for x, y in points]
    image = Image(np.zeros((4, 4), np.uint8), 255.0, "", (row, column))
    a, b, c, d = (complex(*point) for point in points)
    assert measure(image, Figure(LINE, tuple(drawn[:2]))).length == pytest.approx(abs(b - a))
    vertex = measure(image, Figure(ANGLE, tuple(drawn[:3]))).angle
    assert vertex == pytest.approx(abs(math.degrees(cmath.phase((a - b) / (c - b)))))
    lines = abs(math.degrees(cmath.phase((b - a) / (d - c))))
    assert measure(image, Figure(ANGLE, tuple(drawn))).angle == pytest.approx(min(lines, 180 - lines))


def test_blocks_of_a_tall_shape_are_one_sum():
    rng = np.random.default_rng(3)
    pixels = (rng.integers(0, 40, (1000, 50)) + 60_000).astype(np.uint16)
    pixels[:300] -= 50_000
    found = statistics_of(Image(pixels, 65535.0), Region(0, 0, 50, 1000, Ellipse.filling(50, 1000)))
    inside = pixels[Ellipse.filling(50, 1000).mask(1000, 50)].astype(np.float64)
    assert (found.mean, found.sd) == pytest.approx((inside.mean(), inside.std()), rel=1e-13)


def test_colours_are_measured_as_luminance_and_what_is_no_number_is_left_out():
    colours = np.zeros((2, 2, 3), np.uint8)
    colours[0] = (255, 0, 0)
    measured = measure(Image(colours, 255.0), Figure.of_region(Region(0, 0, 2, 2)))
    assert measured.is_luminance
    assert measured.statistics.high == pytest.approx(255 * 0.2125, rel=1e-6)
    floats = np.array([[1.0, np.nan], [3.0, np.inf]], np.float32)
    found = statistics_of(Image(floats, 1.0), Region(0, 0, 2, 2))
    assert (found.n, found.mean) == (2, 2.0)


def test_a_calibration_counts_only_where_all_of_a_figure_lies_in_its_part():
    image = Calibration(0.1, 0.1, box=(0, 0, 100, 50))
    curve = Calibration(0.0, 0.0, box=(0, 50, 100, 80))
    inset = Calibration(0.0, 0.0, box=(60, 0, 100, 20))
    parts = (image, curve, inset)
    assert calibration_at(parts, [(10, 10), (50, 50)]) is image
    assert calibration_at(parts, [(10, 10), (50, 60)]) is None
    assert calibration_at(parts, [(70, 5), (90, 10)]) is None
    assert calibration_at((Calibration(2.0, 1.0, ASPECT),), [(0, 0)]).is_mm is False
    ratio = Image(np.zeros((4, 4), np.uint8), 255.0, calibrations=(Calibration(2.0, 1.0, ASPECT),))
    assert measure(ratio, Figure(LINE, ((0, 0), (3, 4)))).length == 5
    assert measure(ratio, Figure(ANGLE, ((2, 0), (0, 0), (2, 1)))).angle == pytest.approx(45)
    detector = Image(np.zeros((4, 4), np.uint8), 255.0, calibrations=(Calibration(0.2, 0.2, AT_DETECTOR),))
    assert measure(detector, Figure(LINE, ((0, 0), (3, 4)))).calibration.source == AT_DETECTOR


def test_a_probe_has_the_value_of_its_pixel_and_none_on_padding():
    scale = ValueScale(2.0, -1000.0, "HU", padding=(7.0, 7.0))
    image = Image(np.arange(12, dtype=np.int16).reshape(3, 4), 255.0, values=scale)
    assert measure(image, Figure(PROBE, ((1.99, 1.0),))).value == 5 * 2 - 1000
    assert measure(image, Figure(PROBE, ((3.5, 1.5),))).value is None
    with pytest.raises(BadInput):
        measure(image, Figure(PROBE, ((4.0, 1.0),)))


def test_figures_come_back_from_json_and_damaged_ones_are_refused():
    mask = np.eye(4, dtype=bool)
    figures = [
        Figure(LINE, ((0.5, 1.25), (3.0, 4.0)), slice=3),
        Figure(ANGLE, ((0, 1), (3, 4), (5, 6)), plane=(1, 7), slab=Slab(SlabMode.AVERAGE, 8.0)),
        Figure(PROBE, ((2.0, 3.0),)),
        Figure.of_region(Region(1, 2, 3, 4)),
        Figure.of_region(Region(1, 2, 3, 4, Ellipse.filling(3, 4))),
        Figure.of_region(region_of_mask(mask)),
    ]
    assert {one.kind for one in figures} == set(KINDS)
    for one in figures:
        assert Figure.from_json(one.kind, one.to_json(), one.slice) == one
    assert figures[1].placed(2) == Figure(ANGLE, figures[1].points, slice=2)
    line = figures[0].to_json()
    for kind, data in (
        (PROBE, line),
        ("key_image", line),
        (OUTLINE, line),
        (LINE, {"points": [[0, math.nan], [1, 1]]}),
        (LINE, {"points": [[0], [1, 1]]}),
        (LINE, figures[3].to_json()),
        (LINE, {**line, "plane": [1]}),
    ):
        with pytest.raises(BadInput):
            Figure.from_json(kind, data)
