"""Figures on a picture lie where they lie on the image."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from semblance.core.imaging.drawn_figures import draw_figures, drawn_figures, lines_of
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region, region_of_mask


def test_a_figure_is_drawn_in_white_with_a_dark_casing_on_a_smaller_picture():
    out = io.BytesIO()
    Image.fromarray(np.full((200, 400), 128, np.uint8)).save(out, "PNG")
    made = drawn_figures(out.getvalue(), [Figure.of_region(Region(40, 80, 200, 80))], 800, 400)
    pixels = np.asarray(Image.open(io.BytesIO(made)))
    assert pixels.shape == (200, 400, 3)
    assert pixels[40, 60].tolist() == [255, 255, 255]
    assert pixels[39, 60].tolist() == [16, 16, 18]
    assert pixels[60, 60].tolist() == [128, 128, 128]
    small = io.BytesIO()
    Image.fromarray(np.full((30, 40), 128, np.uint8)).save(small, "PNG")
    made = drawn_figures(small.getvalue(), [Figure.of_region(Region(10, 10, 10, 10))], 40, 30)
    pixels = np.asarray(Image.open(io.BytesIO(made)))
    assert pixels.shape == (300, 400, 3)
    assert pixels[100, 150].tolist() == [255, 255, 255]


def test_labels_lie_inside_the_picture_and_not_on_each_other():
    labels = ["Mean 3.2\n4.1 mm²", "Mean 5.3\n9.8 mm²"]
    figures = [Figure("line", ((300, 100), (395, 100))), Figure("line", ((300, 104), (396, 104)))]
    drawn = []
    for numbers in ([0], [1], [0, 1]):
        picture = Image.new("RGB", (400, 200))
        picture = draw_figures(picture, [figures[n] for n in numbers], 400, 200, [labels[n] for n in numbers])
        drawn.append((np.asarray(picture) == 255).all(axis=2).sum())
    # Alone each would be where the other is.
    assert drawn[2] > 0.9 * (drawn[0] + drawn[1])


def test_lines_of_every_kind():
    assert lines_of(Figure("line", ((1, 2), (3, 4)))) == [[(1, 2), (3, 4)]]
    assert len(lines_of(Figure("angle", ((1, 2), (3, 4), (5, 6))))) == 2
    assert lines_of(Figure("angle", ((1, 2), (3, 4), (5, 6), (7, 8)))) == [[(1, 2), (3, 4)], [(5, 6), (7, 8)]]
    assert len(lines_of(Figure("probe", ((1, 2),)))) == 2
    (ellipse,) = lines_of(Figure.of_region(Region(10, 20, 4, 6, Ellipse.filling(4, 6))))
    assert np.allclose([(x - 12) ** 2 / 4 + (y - 23) ** 2 / 9 for x, y in ellipse], 1)
    triangle = Figure.of_region(Region(10, 20, 4, 6, Polygon(((0, 0), (4, 0), (0, 6)))))
    assert lines_of(triangle) == [[(10, 20), (14, 20), (10, 26), (10, 20)]]
    mask = np.zeros((5, 5), bool)
    mask[2, 3] = True
    edges = lines_of(Figure.of_region(region_of_mask(mask)))
    assert sorted(point for edge in edges for point in edge) == sorted([(3, 2), (4, 2), (3, 3), (4, 3)] * 2)
