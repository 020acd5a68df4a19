from __future__ import annotations

import numpy as np
import pytest

from semblance.app.evaluation.map_points import (
    SHAPES,
    draw_points,
    inside_outline,
    point_width,
    shape_mask,
    shape_of,
)
from semblance.app.shell.theme import finding_colour

BACK = (10, 20, 30)
COLOURS = np.array([[200, 0, 0], [0, 200, 0]], dtype=np.uint8)


def draw_rgb(x, y, kind, size=(40, 30), width=5, faded=None):
    packed = draw_points(
        size,
        np.array(x, dtype=np.float32),
        np.array(y, dtype=np.float32),
        np.array(kind, dtype=np.int16),
        COLOURS,
        ("square", "disc"),
        width,
        BACK,
        None if faded is None else np.array(faded),
    )
    assert packed.shape == (size[1], size[0])
    return np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=2).astype(int)


def test_a_point_is_drawn_at_its_position_in_its_colour():
    image = draw_rgb([20.0], [12.0], [0])
    assert image[12, 20].tolist() == [200, 0, 0]
    rows, columns = np.nonzero((image != BACK).any(axis=2))
    assert (rows.min() + rows.max()) / 2 == pytest.approx(12, abs=0.6)
    assert (columns.min() + columns.max()) / 2 == pytest.approx(20, abs=0.6)
    assert rows.max() - rows.min() <= 5
    assert (image[0] == BACK).all()


def test_points_at_the_edge_are_clipped():
    image = draw_rgb([0.0, 39.5, 20.0, -50.0, 500.0], [15.0, 15.0, -0.5, 10.0, 10.0], [0, 1, 0, 1, 1])
    assert image[15, 0].tolist() == [200, 0, 0]
    assert image[15, 39].tolist() == [0, 200, 0]
    assert image[0, 20].tolist() == [200, 0, 0]
    assert (image[10, 1:38] == BACK).all()


def test_faded_points_are_pale_and_drawn_first():
    image = draw_rgb([20.0, 20.0], [12.0, 12.0], [1, 0], faded=[True, False])
    assert image[12, 20].tolist() == [200, 0, 0]
    image = draw_rgb([20.0, 20.0], [12.0, 12.0], [1, 0], faded=[False, True])
    assert image[12, 20].tolist() == [0, 200, 0]
    pale = draw_rgb([20.0], [12.0], [0], faded=[True])[12, 20]
    assert BACK[0] < pale[0] < 100


def test_findings_have_different_combinations_of_colour_and_shape():
    combinations = {(finding_colour(code), shape_of(code)) for code in range(49)}
    assert len(combinations) == 49
    assert shape_of(-1) == "disc"


def test_shapes_differ_and_are_not_empty():
    masks = [shape_mask(shape, 9) for shape in SHAPES]
    for index, mask in enumerate(masks):
        assert mask.max() == 1.0
        for other in masks[index + 1 :]:
            assert np.abs(mask - other).sum() > 4
    assert all(shape_mask(shape, 3).max() > 0.5 for shape in SHAPES)


def test_many_points_are_small():
    widths = [point_width(n) for n in (10, 5_000, 20_000, 100_000)]
    assert widths == sorted(widths, reverse=True)
    assert all(width % 2 for width in widths)


def test_inside_outline_uses_the_even_odd_rule():
    outline = np.array([(0, 0), (10, 0), (10, 10), (5, 5), (0, 10)], dtype=np.float32)
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 12, (500, 2)).astype(np.float32)
    x, y = points.T
    inside = inside_outline(x, y, outline)
    # The notch: below the two lines to (5, 5).
    expected = (
        (points[:, 0] > 0)
        & (points[:, 0] < 10)
        & (points[:, 1] > 0)
        & (points[:, 1] < np.maximum(points[:, 0], 10 - points[:, 0]))
    )
    assert np.array_equal(inside, expected)
    assert not inside_outline(x, y, outline[:2]).any()
