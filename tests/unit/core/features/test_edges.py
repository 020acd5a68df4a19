from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.edges import edge_directions, gradients

SMOOTH = np.array([1, 4, 6, 4, 1]) / 16
WEAK, STRONG = 0.02, 0.05


def naive_gradients(grey):
    height, width = grey.shape
    beyond = np.pad(grey.astype(np.float64), 3, mode="symmetric")
    smooth = np.zeros((height + 2, width + 2))
    for y in range(height + 2):
        for x in range(width + 2):
            smooth[y, x] = SMOOTH @ beyond[y : y + 5, x : x + 5] @ SMOOTH
    gx, gy = np.zeros(grey.shape), np.zeros(grey.shape)
    sobel = np.outer([1, 2, 1], [-1, 0, 1]) / 8
    for y in range(height):
        for x in range(width):
            gx[y, x] = (sobel * smooth[y : y + 3, x : x + 3]).sum()
            gy[y, x] = (sobel.T * smooth[y : y + 3, x : x + 3]).sum()
    return gx, gy


def naive_directions(gx, gy):
    """Canny's rule pixel by pixel; angles in reading order."""
    height, width = gx.shape
    strength = np.pad(np.hypot(gx, gy), 1)
    lines = set()
    for y in range(height):
        for x in range(width):
            own = strength[y + 1, x + 1]
            eighth = round(np.arctan2(gy[y, x], gx[y, x]) / (np.pi / 4)) % 8
            dx = (1, 1, 0, -1, -1, -1, 0, 1)[eighth]
            dy = (0, 1, 1, 1, 0, -1, -1, -1)[eighth]
            ahead, behind = strength[y + 1 + dy, x + 1 + dx], strength[y + 1 - dy, x + 1 - dx]
            if own >= WEAK and own >= behind and own > ahead:
                lines.add((y, x))
    waiting = [(y, x) for y, x in lines if strength[y + 1, x + 1] >= STRONG]
    edge = set(waiting)
    while waiting:
        y, x = waiting.pop()
        for near in [(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]:
            if near in lines and near not in edge:
                edge.add(near)
                waiting.append(near)
    return np.array([np.arctan2(gy[y, x], gx[y, x]) for y, x in sorted(edge)])


def blobs(seed, height=30, width=37):
    """A smooth random image with strong and weak edges."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    image = np.zeros((height, width))
    for _ in range(6):
        cy, cx, radius = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(3, 9)
        image += rng.uniform(-0.7, 0.7) * (np.hypot(y - cy, x - cx) < radius)
    return image.astype(np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (7, 2), (12, 15)])
def test_gradients_equal_the_definition(shape):
    grey = np.random.default_rng(0).random(shape, dtype=np.float32)
    for ours, naive in zip(gradients(grey), naive_gradients(grey), strict=True):
        np.testing.assert_allclose(ours, naive, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_edges_equal_cannys_rule(seed):
    grey = blobs(seed)
    naive = naive_directions(*(plane.astype(np.float64) for plane in gradients(grey)))
    ours = edge_directions(grey, WEAK, STRONG)
    assert len(naive) > 20
    np.testing.assert_allclose(ours, naive, atol=1e-5)


def test_a_disc_faces_every_direction_alike():
    y, x = np.mgrid[:101, :101]
    angles = edge_directions((np.hypot(y - 50, x - 50) < 35).astype(np.float32), WEAK, STRONG)
    counts = np.histogram(np.mod(angles + np.pi / 8, 2 * np.pi), bins=8, range=(0, 2 * np.pi))[0]
    assert counts.min() > 0.7 * counts.max()
    assert abs(len(angles) - 2 * np.pi * 35) < 0.25 * 2 * np.pi * 35


@pytest.mark.parametrize(
    ("bright", "angle"),
    [("right", 0.0), ("bottom", np.pi / 2), ("left", np.pi), ("top", -np.pi / 2)],
)
def test_directions_point_from_dark_to_bright(bright, angle):
    grey = np.zeros((40, 40), np.float32)
    grey[{"right": np.s_[:, 20:], "left": np.s_[:, :20], "top": np.s_[:20], "bottom": np.s_[20:]}[bright]] = 1
    angles = edge_directions(grey, WEAK, STRONG)
    assert len(angles) == 40
    np.testing.assert_allclose(np.cos(angles - angle), 1, atol=1e-6)


def test_weak_lines_count_only_where_they_meet_strong_ones():
    grey = np.zeros((60, 60), np.float32)
    grey[:, 30:] = 0.1
    assert edge_directions(grey, WEAK, STRONG).size == 0
    grey[:, 30:] = np.linspace(0.1, 0.9, 60)[:, None]
    assert edge_directions(grey, WEAK, STRONG).size == 60


def test_no_edges_in_a_flat_image_or_a_soft_slope():
    assert edge_directions(np.full((20, 20), 0.4, np.float32), WEAK, STRONG).size == 0
    slope = np.tile(np.linspace(0, 1, 200, dtype=np.float32), (20, 1))
    assert edge_directions(slope, WEAK, STRONG).size == 0
