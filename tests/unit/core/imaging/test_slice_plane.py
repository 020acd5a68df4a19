"""Planes in the patient against a computation of their own: points of a plane, sampled densely."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.slice_plane import SlicePlane, StackLocation, cut_line


def plane(angles, position, spacing=(0.7, 1.3), frame="1.2", **kind):
    """A plane turned by ``angles`` in degrees around x, y and z."""
    turned = np.eye(3)
    for axis, angle in enumerate(np.radians(angles)):
        one, other = (n for n in range(3) if n != axis)
        turn = np.eye(3)
        turn[[one, other, one, other], [one, other, other, one]] = np.array(
            [np.cos(angle), np.cos(angle), -np.sin(angle), np.sin(angle)]
        )
        turned = turn @ turned
    row, column = turned[:, 0], turned[:, 1]
    return SlicePlane(tuple(position), tuple(row), tuple(column), spacing, frame, **kind)


def sampled(cut, size, on, *, seen=False):
    """(n, 2) pixels of ``on`` that lie within half a millimetre of ``cut``, found by trying them all."""
    y, x = np.mgrid[0.25 : size[1][0] : 0.5, 0.25 : size[1][1] : 0.5]
    points = np.array(
        [
            np.array(on.position)
            + (one_x - 0.5) * on.spacing[1] * np.array(on.along_row)
            + (one_y - 0.5) * on.spacing[0] * np.array(on.along_column)
            for one_x, one_y in zip(x.ravel(), y.ravel(), strict=True)
        ]
    )
    inverse = np.linalg.inv(np.column_stack([cut.along_row, cut.along_column, cut.normal]))
    right, down, above = inverse @ (points - cut.position).T
    inside = np.abs(above) < 0.5
    if not seen:
        inside &= (right >= -0.5 * cut.spacing[1]) & (right <= (size[0][1] - 0.5) * cut.spacing[1])
        inside &= (down >= -0.5 * cut.spacing[0]) & (down <= (size[0][0] - 0.5) * cut.spacing[0])
    return np.column_stack([x.ravel(), y.ravel()])[inside]


def distances(points, line):
    begin, end = map(np.array, line)
    share = np.clip((points - begin) @ (end - begin) / ((end - begin) @ (end - begin)), 0, 1)
    return np.linalg.norm(points - (begin + share[:, None] * (end - begin)), axis=1)


@pytest.mark.parametrize(
    ("angles", "position"),
    [((0, 0, 0), (-20, -15, 3)), ((20, 0, 0), (-20, -15, 0)), ((12, -25, 40), (-14, -22, 2))],
)
def test_the_line_of_an_oblique_slice_lies_where_sampled_points_meet_it(angles, position):
    cut, size = plane(angles, position), (44, 30)
    scout = plane((-90, 0, 0), (-25, 1, 25), (0.5, 0.5))
    line, on_size = cut_line(cut, size, scout, (100, 100)), (100, 100)
    points = sampled(cut, (size, on_size), scout)
    assert len(points) > 30
    assert distances(points, line).max() < 1.6
    # And it ends where they do.
    for end in line:
        assert np.linalg.norm(points - end, axis=1).min() < 1.6


def test_a_scout_shows_slices_that_lie_before_it_and_a_slice_does_not():
    axial, size = plane((0, 0, 0), (-20, -15, 4)), (44, 30)
    # 200 mm behind the patient.
    away = {"angles": (-90, 0, 0), "position": (-25, 200, 25), "spacing": (0.5, 0.5)}
    assert cut_line(axial, size, plane(**away), (100, 100)) is None
    (ax, ay), (bx, by) = cut_line(axial, size, plane(**away, is_projection=True), (100, 100))
    assert ay == pytest.approx(by)
    # 21 mm below the first pixel's middle, in pixels of half a millimetre.
    assert ay == pytest.approx(42.5)
    assert sorted((ax, bx)) == pytest.approx([(5 - 0.65) / 0.5 + 0.5, (5 + 29.5 * 1.3) / 0.5 + 0.5])


def test_parallel_images_and_those_that_do_not_meet_have_no_line():
    axial = plane((0, 0, 0), (0, 0, 0))
    assert cut_line(axial, (40, 40), plane((0.5, 0, 0), (0, 0, 3)), (40, 40)) is None
    assert cut_line(axial, (40, 40), plane((-90, 0, 0), (0, 90, 20)), (40, 40)) is None


def test_points_and_slices_are_found_again():
    oblique = plane((12, -25, 40), (-14, -22, 2))
    pixels = [(0.5, 0.5), (3.2, 17.9)]
    points = oblique.points_of(pixels)
    assert np.allclose(points[0], oblique.position)
    assert np.allclose(oblique.pixels_of(points), [(*one, 0) for one in pixels])
    # A tilted gantry: slices follow each other along z, not along their normal.
    tilted = StackLocation(plane((15, 0, 0), (0, 0, 0)), (0.0, 0.0, -4.0))
    assert tilted.rise == pytest.approx(-4 * np.cos(np.radians(15)))
    assert tilted.place_of(np.array((0.0, 0.0, -12.0))) == pytest.approx(3)
    assert tilted.place_at(tilted.height_of(7)) == pytest.approx(7)
