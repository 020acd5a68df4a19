"""Candidates of known shape: what is measured, and what it must not depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.polyp.candidate import cut_out
from semblance.core.features.polyp.colon_wall import ColonWall
from semblance.core.features.polyp.extractor import Polyp, definitions
from semblance.core.features.polyp.voxel_block import voxel_block
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region, region_of_mask
from tests.helpers.volumes import AIR, TISSUE, ball_on_wall, ct_of, plane, rod_on_wall, stack_of

NAMES = [one.name for one in definitions()]
GROUPS = [one.group for one in definitions()]
PLACE = [i for i, group in enumerate(GROUPS) if group == "Position"]
MOVING = sorted(set(range(96)) - set(PLACE))


def spot(z, y, x):
    """A position: a box of one voxel."""
    return Region(x, y, 1, 1, None, z, 1)


def numbers_of(hu, region=None, spacing=(1.0, 1.0, 1.0)):
    return Polyp().prepare_stack(stack_of(hu, spacing), region)


def named(numbers):
    return dict(zip(NAMES, numbers.tolist(), strict=True))


@pytest.fixture(scope="module")
def sessile():
    """A ball of 12 mm half sunk into the wall, its plane between two voxels."""
    return ct_of(ball_on_wall(6.0, wall=0.5))


def test_ninety_six_numbers_each_with_group_and_meaning():
    assert len(NAMES) == Polyp.COUNT == 96
    assert len(set(NAMES)) == 96
    counts = {group: GROUPS.count(group) for group in dict.fromkeys(GROUPS)}
    assert counts == {"Local geometry": 36, "Morphology": 20, "Intensity": 22, "Context": 15, "Position": 3}
    names = Polyp().feature_names
    assert len({name.name for name in names}) == 96
    assert [name.group for name in names] == GROUPS


@pytest.mark.parametrize("radius", [5.0, 8.0, 12.0])
def test_on_a_ball_both_curvatures_are_one_over_its_radius(radius):
    wall = ColonWall(ct_of(ball_on_wall(radius), (49, 49, 49)).astype(np.float32))
    top = wall.at[:, 0] > 24 + 0.7 * radius
    assert top.sum() > 10
    np.testing.assert_allclose(wall.bends[1].mean[top].mean(), 1 / radius, rtol=0.08)
    for scale in (1, 2):
        bend = wall.bends[scale]
        np.testing.assert_allclose(bend.k1[top].mean(), 1 / radius, rtol=0.2)
        np.testing.assert_allclose(bend.k2[top].mean(), 1 / radius, rtol=0.2)
        assert bend.shape_index[top].mean() > 0.93
        np.testing.assert_allclose(bend.normal[top].mean(axis=0)[1:], 0.0, atol=0.02)
        assert bend.normal[top].mean(axis=0)[0] > 0.7


def test_on_a_cylinder_one_curvature_is_one_over_its_radius_and_the_other_nothing():
    wall = ColonWall(ct_of(rod_on_wall(8.0), (49, 49, 49)).astype(np.float32))
    top = (wall.at[:, 0] > 30) & (np.abs(wall.at[:, 2] - 24) < 12)
    bend = wall.bends[2]
    np.testing.assert_allclose(bend.k1[top].mean(), 1 / 8.0, rtol=0.12)
    np.testing.assert_allclose(bend.k2[top], 0.0, atol=0.005)
    np.testing.assert_allclose(bend.shape_index[top].mean(), 0.75, atol=0.02)


def test_curvature_of_a_plane_is_zero():
    wall = ColonWall(ct_of(plane, (49, 49, 49)).astype(np.float32))
    for bend in wall.bends.values():
        np.testing.assert_allclose(bend.curvedness, 0.0, atol=1e-6)
        np.testing.assert_allclose(bend.shape_index, 0.5, atol=0.25)
        np.testing.assert_allclose(np.abs(bend.normal[:, 0]), 1.0, atol=1e-6)


def test_a_pit_is_a_cup():
    wall = ColonWall(
        ct_of(lambda z, y, x: 9.0 - np.sqrt(z * z + y * y + x * x), (49, 49, 49)).astype(np.float32)
    )
    bend = wall.bends[2]
    np.testing.assert_allclose(bend.k1.mean(), -1 / 9.0, rtol=0.15)
    assert bend.shape_index.mean() < 0.1


@pytest.mark.parametrize(("radius", "rise"), [(4.0, 2.0), (6.0, 0.0), (6.0, 3.0), (8.0, 0.0), (10.0, 2.0)])
def test_size_of_a_ball_on_the_wall(radius, rise):
    found = named(
        numbers_of(ct_of(ball_on_wall(radius, rise, wall=0.5)), spot(28 + int(radius + rise), 28, 28))
    )
    height = radius + rise
    volume = math.pi * height**2 * (3 * radius - height) / 3
    assert found["volume"] == pytest.approx(volume, rel=0.12)
    assert found["height"] == pytest.approx(height, abs=1.0)
    assert found["exposed area"] == pytest.approx(2 * math.pi * radius * height, rel=0.16)
    assert found["attachment area"] == pytest.approx(math.pi * (radius**2 - rise**2), rel=0.2)
    assert found["diameter of a ball as large"] == pytest.approx((6 * volume / math.pi) ** (1 / 3), rel=0.04)
    assert found["elongation"] < 0.05
    assert found["lean"] < 0.05
    assert found["solidity"] > 0.85
    assert abs(found["bend of the wall below"]) < 0.02


def test_density_of_a_plain_polyp(sessile):
    found = named(numbers_of(sessile, spot(33, 28, 28)))
    assert found["density, core mean"] == pytest.approx(TISSUE, abs=2)
    assert found["density, 90th percentile"] == pytest.approx(TISSUE, abs=2)
    assert found["density, core deviation"] == pytest.approx(0.0, abs=2)
    assert found["density 4 mm before the surface"] == pytest.approx(AIR, abs=5)
    assert found["density 4 mm below the surface"] == pytest.approx(TISSUE, abs=5)
    assert found["contact with tagged stool"] == 0.0
    assert found["free way"] == 24.0


def test_tagged_stool_around_a_polyp_counts_as_lumen(sessile):
    drowned = sessile.copy()
    z = np.arange(57)[:, None, None]
    drowned[(drowned < -500) & (z < 31)] = 500
    dry, wet = (named(numbers_of(hu, spot(33, 28, 28))) for hu in (sessile, drowned))
    assert wet["contact with tagged stool"] > 0.3
    assert wet["tagged stool or bone within 16 mm"] > 0.05
    assert wet["volume"] == pytest.approx(dry["volume"], rel=0.3)


def test_fat_behind_the_wall_shows_its_thickness():
    hu = ct_of(plane)
    hu[:24] = -100
    found = named(numbers_of(hu, spot(28, 28, 28)))
    assert found["wall beside"] == pytest.approx(4, abs=1)
    assert found["fat within 16 mm"] > 0.2


def test_a_wall_ends_the_free_path(sessile):
    hu = sessile.copy()
    hu[45:] = 40
    found = named(numbers_of(hu, spot(33, 28, 28)))
    assert found["free way"] == pytest.approx(45 - 34.5, abs=1.5)


def test_a_polyp_on_a_fold_is_distinguished_from_the_fold():
    def shape(z, y, x):
        fold = np.maximum(np.abs(y) - 2.0, z - 8.0)
        return np.minimum(np.minimum(z, fold), np.sqrt((z - 9.0) ** 2 + y * y + x * x) - 5.0) + 0 * x

    found = named(numbers_of(ct_of(shape, centre=(20.0, 28.0, 28.0)), spot(34, 28, 28)))
    assert found["volume"] < 1.3 * 4 / 3 * math.pi * 5.0**3
    assert found["volume"] > 0.4 * 4 / 3 * math.pi * 5.0**3
    assert found["elongation"] < 0.35


def test_a_rod_is_no_cap():
    rod = named(numbers_of(ct_of(rod_on_wall(6.0)), spot(34, 28, 28)))
    ball = named(numbers_of(ct_of(ball_on_wall(6.0)), spot(34, 28, 28)))
    assert rod["share of cap, at 1 mm"] < 0.2
    assert ball["share of cap, at 1 mm"] > 0.5
    assert rod["smaller principal curvature, mean, at 2 mm"] < 0.02


def test_a_shifted_scan_changes_the_place_only(sessile):
    original = numbers_of(np.pad(sessile, 4, mode="edge"), spot(37, 32, 32))
    moved = numbers_of(np.pad(sessile, ((7, 1), (2, 6), (5, 3)), mode="edge"), spot(40, 30, 33))
    np.testing.assert_allclose(moved[MOVING], original[MOVING], rtol=1e-5, atol=1e-5)
    assert not np.allclose(moved[PLACE], original[PLACE])


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)])
def test_a_turned_scan_changes_the_place_only(axes):
    hu = ct_of(
        lambda z, y, x: np.minimum(z, np.sqrt((z - 2) ** 2 + (y - 1) ** 2 / 1.5 + (x + 0.7) ** 2) - 5),
        noise=20,
    )
    original, turned = numbers_of(hu), numbers_of(np.ascontiguousarray(np.rot90(hu, axes=axes)))
    np.testing.assert_allclose(turned[MOVING], original[MOVING], rtol=2e-3, atol=2e-3)


def test_thick_slices_give_nearly_the_same_numbers():
    shape = ball_on_wall(7.0, 1.0, wall=0.5)
    fine = named(numbers_of(ct_of(shape), spot(35, 28, 28)))
    spacing = (1.25, 0.75, 0.75)
    size = (47, 77, 77)
    thick = named(numbers_of(ct_of(shape, size, spacing), spot(29, 38, 38), spacing))
    for name, tolerance in (
        ("volume", 0.12),
        ("exposed area", 0.12),
        ("height", 0.12),
        ("larger principal curvature, mean, at 2 mm", 0.15),
        ("shape index, mean, at 2 mm", 0.08),
        ("air within 8 mm", 0.1),
    ):
        assert thick[name] == pytest.approx(fine[name], rel=tolerance), name


def test_the_spacing_of_volumes_without_one():
    spacing = (1.25, 0.75, 0.75)
    hu = ct_of(ball_on_wall(7.0), (47, 77, 77), spacing)
    from_stack = numbers_of(hu, spacing=spacing)
    given = Polyp(spacing="1.25,0.75,0.75").prepare_stack(stack_of(hu, None))
    np.testing.assert_array_equal(from_stack, given)


def test_the_position_may_be_a_little_off(sessile):
    exact, off = (named(numbers_of(sessile, spot(*at))) for at in ((33, 28, 28), (34, 30, 27)))
    assert off["volume"] == pytest.approx(exact["volume"], rel=0.1)


def test_a_box_gives_the_position_and_drawn_voxels_the_shape(sessile):
    box = named(numbers_of(sessile, Region(20, 20, 17, 17, None, 27, 9)))
    assert box["volume"] == pytest.approx(named(numbers_of(sessile, spot(33, 28, 28)))["volume"], rel=0.05)
    z, y, x = np.indices(sessile.shape) - 28
    drawn = region_of_mask((z >= 3) & (z * z + y * y + x * x < 40), 0)
    found = named(numbers_of(sessile, drawn))
    tissue = np.count_nonzero((z >= 3) & (z * z + y * y + x * x < 40) & (sessile > -500))
    assert found["volume"] == pytest.approx(tissue, abs=1)


def test_drawn_voxels_without_air_only_say_where(sessile):
    z, y, x = np.indices(sessile.shape) - 28
    buried = region_of_mask((z + 1) ** 2 + y * y + x * x < 8, 0)
    found = named(numbers_of(sessile, buried))
    assert found["exposed area"] > 50


def test_the_candidate_touches_the_lumen_and_hangs_together(sessile):
    from scipy import ndimage

    block = voxel_block(stack_of(sessile), spot(33, 28, 28), (1.0, 1.0, 1.0))
    wall = ColonWall(block.hu)
    found = cut_out(block, wall)
    assert found.on.sum() > 50
    assert ndimage.label(found.voxels, np.ones((3, 3, 3)))[1] == 1
    assert not (found.voxels & wall.lumen).any()


def test_at_the_border_of_the_scan_numbers_are_finite():
    hu = ct_of(ball_on_wall(6.0), (57, 40, 40), centre=(28.0, 8.0, 5.0), noise=30)
    assert np.isfinite(numbers_of(hu, spot(32, 8, 5))).all()


def test_features_of_noise_are_finite():
    rng = np.random.default_rng(3)
    for seed in range(4):
        hu = rng.integers(-1024, 1500, (30, 41, 37)).astype(np.int16)
        assert np.isfinite(numbers_of(hu, spot(10 + seed, 20, 18))).all()


def test_no_air_near_is_reported():
    with pytest.raises(BadInput, match="no air within 24 mm"):
        numbers_of(np.full((30, 30, 30), 40, np.int16))


def test_far_from_any_wall_is_reported():
    with pytest.raises(BadInput, match="No wall of the colon lies within 10 mm"):
        numbers_of(ct_of(plane), spot(44, 28, 28))


def test_a_region_outside_is_refused(sessile):
    with pytest.raises(BadInput, match="outside"):
        numbers_of(sessile, spot(80, 28, 28))
    with pytest.raises(BadInput, match="outside"):
        numbers_of(sessile, Region(90, 5, 4, 4, None, 10, 1))


def test_a_single_image_is_refused():
    with pytest.raises(BadInput, match="single image"):
        Polyp().extract(Image(np.zeros((9, 9), np.uint8), 255.0))


@pytest.mark.parametrize("text", ["", "1,2", "a,b,c"])
def test_a_spacing_that_is_none_is_refused(text):
    with pytest.raises(BadArguments, match="three numbers"):
        Polyp(spacing=text)


def test_voxels_that_cannot_be_are_refused(sessile):
    for spacing in ((0.0, 1.0, 1.0), (1.0, 1.0, 100.0), (float("nan"), 1.0, 1.0)):
        with pytest.raises(BadInput, match="voxels of"):
            numbers_of(sessile, spacing=spacing)
