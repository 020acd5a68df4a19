"""Lung texture against scikit-image, published tables and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.feature import graycomatrix, graycoprops

from semblance.core.errors import BadInput
from semblance.core.features.lung_texture import (
    DEFINITIONS,
    LEVELS,
    LungTexture,
    cooccurrence,
    densities,
    levels_of,
    pairs,
    runs,
)
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region
from tests.helpers.volumes import stack_of

KEYS = [(one.group, one.name) for one in DEFINITIONS]
#: Right, up right, up, up left in scikit-image; pairs are counted both ways, so these are our four.
ANGLES = [0, np.pi / 4, np.pi / 2, 3 * np.pi / 4]
INSIDE = np.ones((4, 4), dtype=bool)
#: Haralick's example (1973, figure 3).
HARALICK = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 2, 2, 2], [2, 2, 3, 3]])
#: Galloway's example (1975).
GALLOWAY = np.array([[0, 1, 2, 3], [0, 2, 3, 3], [2, 1, 1, 1], [3, 0, 3, 0]])


def lung(*shape, seed=0):
    """HU of something like emphysema in healthy lung."""
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    coarse = ndimage.gaussian_filter(rng.normal(size=shape), 2.0) * 400
    return np.rint(-860 + coarse + rng.normal(0, 40, shape)).astype(np.int16)


def image_of(hu):
    return Image(hu, 200.0, "slice", black=-1000.0, values=ValueScale(unit="HU"))


def measured(hu, region=None):
    return dict(zip(KEYS, LungTexture().extract(image_of(hu), region).tolist(), strict=True))


def test_forty_three_numbers_in_five_groups():
    assert len(KEYS) == len(set(KEYS)) == 43
    groups = [group for group, _ in KEYS]
    assert {group: groups.count(group) for group in dict.fromkeys(groups)} == {
        "First order": 12,
        "Low attenuation": 5,
        "Co-occurrence": 12,
        "Run length": 8,
        "Grey-level difference": 6,
    }


def test_pairs_of_haralicks_example():
    first, second = pairs(HARALICK, INSIDE, 1)
    table = cooccurrence(first, second, 4)
    published = np.array(
        [[4, 2, 1, 0], [2, 4, 0, 0], [1, 0, 6, 1], [0, 0, 1, 2]]  # right and left
    )
    published = published + np.array([[6, 0, 2, 0], [0, 4, 2, 0], [2, 2, 2, 2], [0, 0, 2, 0]])  # up and down
    published = published + np.array([[2, 1, 3, 0], [1, 2, 1, 0], [3, 1, 0, 2], [0, 0, 2, 0]])  # down right
    published = published + np.array([[4, 1, 0, 0], [1, 2, 2, 0], [0, 2, 4, 1], [0, 0, 1, 0]])  # down left
    np.testing.assert_allclose(table, published / published.sum())


def test_runs_of_galloways_example():
    levels, lengths = runs(GALLOWAY, INSIDE)
    table = np.zeros((4, 5), dtype=int)
    np.add.at(table, (levels, lengths), 1)
    published = {  # lengths 1, 2, 3, 4
        "0": [[4, 0, 0, 0], [1, 0, 1, 0], [3, 0, 0, 0], [3, 1, 0, 0]],
        "45": [[4, 0, 0, 0], [4, 0, 0, 0], [0, 0, 1, 0], [3, 1, 0, 0]],
        "90": [[2, 1, 0, 0], [4, 0, 0, 0], [3, 0, 0, 0], [3, 1, 0, 0]],
        "135": [[4, 0, 0, 0], [4, 0, 0, 0], [3, 0, 0, 0], [5, 0, 0, 0]],
    }
    np.testing.assert_array_equal(table[:, 1:], sum(np.array(one) for one in published.values()))


def test_co_occurrence_is_scikit_images():
    hu = lung(41, 37)
    levels = levels_of(hu.astype(np.float32), LEVELS).astype(np.uint8)
    found = measured(hu)
    for distance, suffix in ((1, ""), (3, ", 3 pixels apart")):
        # Diagonal steps of scikit-image are rounded to whole pixels of the distance: only 1 and axes agree.
        table = sum(
            _both_ways(levels, dy * distance, dx * distance) for dy, dx in ((0, 1), (1, 1), (1, 0), (1, -1))
        )
        table = (table / table.sum())[:, :, None, None]
        assert found["Co-occurrence", f"contrast{suffix}"] == pytest.approx(
            graycoprops(table, "contrast")[0, 0]
        )
        assert found["Co-occurrence", f"correlation{suffix}"] == pytest.approx(
            graycoprops(table, "correlation")[0, 0], rel=1e-5
        )
    table = graycomatrix(levels, [1], ANGLES, LEVELS, symmetric=True).sum(axis=3, keepdims=True)
    table = table / table.sum()
    for ours, theirs in (
        ("contrast", "contrast"),
        ("dissimilarity", "dissimilarity"),
        ("homogeneity", "homogeneity"),
        ("angular second moment", "ASM"),
        ("correlation", "correlation"),
        ("entropy", None),
    ):
        if theirs:
            expected = graycoprops(table, theirs)[0, 0]
        else:
            some = table[table > 0]
            expected = -(some * np.log2(some)).sum()
        assert found["Co-occurrence", ours] == pytest.approx(expected, rel=1e-5), ours
    i = np.arange(LEVELS)
    p = table[:, :, 0, 0]
    mean = sum(p[a, b] * a for a in i for b in i)
    shade = sum(p[a, b] * (a + b - 2 * mean) ** 3 for a in i for b in i)
    prominence = sum(p[a, b] * (a + b - 2 * mean) ** 4 for a in i for b in i)
    assert found["Co-occurrence", "cluster shade"] == pytest.approx(np.cbrt(shade), rel=1e-5)
    assert found["Co-occurrence", "cluster prominence"] == pytest.approx(prominence**0.25, rel=1e-5)
    assert found["Co-occurrence", "largest probability"] == pytest.approx(p.max(), rel=1e-5)


def _both_ways(levels, dy, dx):
    table = np.zeros((LEVELS, LEVELS))
    height, width = levels.shape
    for y in range(height):
        for x in range(width):
            if 0 <= y + dy < height and 0 <= x + dx < width:
                table[levels[y, x], levels[y + dy, x + dx]] += 1
    return table + table.T


def test_runs_and_differences_are_the_plain_loops_inside_an_outline():
    hu = lung(23, 31, seed=1)
    region = Region(3, 2, 22, 18, Ellipse.filling(22, 18))
    found = measured(hu, region)
    part = hu[2:20, 3:25]
    inside = region.outline.mask(18, 22)
    levels = levels_of(part.astype(np.float32), 16)
    table: dict[tuple[int, int], int] = {}
    differences = []
    fine = levels_of(part.astype(np.float32), LEVELS)
    for dy, dx in ((0, 1), (1, 1), (1, 0), (1, -1)):
        for y in range(18):
            for x in range(22):
                if not inside[y, x]:
                    continue
                if _there(inside, y + dy, x + dx):
                    differences.append(abs(int(fine[y, x]) - int(fine[y + dy, x + dx])))
                before = (y - dy, x - dx)
                if _there(inside, *before) and levels[before] == levels[y, x]:
                    continue
                length = 1
                while (
                    _there(inside, y + length * dy, x + length * dx)
                    and levels[y + length * dy, x + length * dx] == levels[y, x]
                ):
                    length += 1
                key = (int(levels[y, x]) + 1, length)
                table[key] = table.get(key, 0) + 1
    count = sum(table.values())
    expected = {
        "short runs": sum(n / length**2 for (_, length), n in table.items()) / count,
        "long runs": sum(n * length**2 for (_, length), n in table.items()) / count,
        "run percentage": count / (4 * inside.sum()),
        "runs of low density": sum(n / grey**2 for (grey, _), n in table.items()) / count,
        "runs of high density": sum(n * grey**2 for (grey, _), n in table.items()) / count,
        "grey-level non-uniformity": _squares(table, 0) / count**2,
        "run-length non-uniformity": _squares(table, 1) / count**2,
        "run entropy": -sum(n / count * np.log2(n / count) for n in table.values()),
    }
    for name, value in expected.items():
        assert found["Run length", name] == pytest.approx(value, rel=1e-5), name
    k = np.array(differences, dtype=float)
    share = np.bincount(k.astype(int)) / len(k)
    some = share[share > 0]
    for name, value in {
        "mean": k.mean(),
        "variance": k.var(),
        "contrast": (k**2).mean(),
        "angular second moment": (share**2).sum(),
        "entropy": -(some * np.log2(some)).sum(),
        "inverse difference moment": (1 / (1 + k**2)).mean(),
    }.items():
        assert found["Grey-level difference", name] == pytest.approx(value, rel=1e-5), name


def _there(inside, y, x):
    return 0 <= y < inside.shape[0] and 0 <= x < inside.shape[1] and inside[y, x]


def _squares(table, part):
    sums: dict[int, int] = {}
    for key, n in table.items():
        sums[key[part]] = sums.get(key[part], 0) + n
    return sum(n * n for n in sums.values())


def test_first_order_is_scipys():
    from scipy import stats

    hu = lung(30, 40, seed=2)
    found = measured(hu)
    flat = hu.ravel().astype(float)
    for name, value in {
        "mean": flat.mean(),
        "deviation": flat.std(),
        "skewness": stats.skew(flat),
        "kurtosis": stats.kurtosis(flat),
        "median": np.median(flat),
        "95th percentile": np.percentile(flat, 95),
        "mean absolute deviation": np.abs(flat - flat.mean()).mean(),
    }.items():
        assert found["First order", name] == pytest.approx(value, rel=1e-4), name


def test_low_attenuation_of_known_holes():
    hu = np.full((40, 50), -800, np.int16)
    hu[5:15, 5:15] = -960  # 100 pixels
    hu[30:35, 30:40] = -930  # 50
    hu[20, 20] = -900
    found = measured(hu)
    assert found["Low attenuation", "share below -950 HU"] == pytest.approx(100 / 2000)
    assert found["Low attenuation", "share below -910 HU"] == pytest.approx(150 / 2000)
    assert found["Low attenuation", "share below -856 HU"] == pytest.approx(151 / 2000)
    assert found["Low attenuation", "clusters below -910 HU"] == pytest.approx(2 / 150)
    assert found["Low attenuation", "largest cluster below -910 HU"] == pytest.approx(100 / 150)


def test_rotation_and_translation_change_nothing():
    hu = lung(36, 36, seed=3)
    whole = np.full((60, 70), 40, np.int16)
    whole[11:47, 20:56] = hu
    original = LungTexture().extract(image_of(hu))
    moved = LungTexture().extract(image_of(whole), Region(20, 11, 36, 36))
    np.testing.assert_array_equal(moved, original)
    turned = LungTexture().extract(image_of(np.ascontiguousarray(np.rot90(hu))))
    np.testing.assert_allclose(turned, original, rtol=1e-4, atol=1e-5)


def test_what_lies_outside_the_outline_takes_no_part():
    hu = lung(30, 30, seed=4)
    region = Region(4, 5, 20, 20, Polygon(((0, 0), (20, 0), (0, 20))))
    original = LungTexture().extract(image_of(hu), region)
    inside = region.mask(30, 30)
    hu[~inside] = 1000
    np.testing.assert_array_equal(LungTexture().extract(image_of(hu), region), original)


def test_the_slice_of_a_volume_that_the_region_is_on():
    hu = np.stack([lung(30, 30, seed=seed) for seed in range(5)])
    region = Region(3, 4, 20, 18, z=3)
    found = LungTexture().prepare_stack(stack_of(hu), region)
    np.testing.assert_array_equal(found, LungTexture().extract(image_of(hu[3]), region))


def test_images_without_densities_are_taken_for_the_lung_window():
    grey = Image(np.array([[0, 255]], np.uint8), 255.0)
    np.testing.assert_allclose(densities(grey), [[-1350.0, 150.0]])


def test_a_region_outside_is_refused():
    with pytest.raises(BadInput, match="outside"):
        measured(lung(20, 20), Region(30, 0, 5, 5))
