"""Nothing is said of a place that its pixels do not show."""

from __future__ import annotations

import numpy as np

from semblance.core.retrieval.explanation.place_words import MeasuredGrey, sentence_of_places

SIDE, SIZE = 14, 224


def measured(grey, noise=0.0):
    values = grey + np.random.default_rng(0).normal(0.0, noise, grey.shape) if noise else grey
    return MeasuredGrey(
        np.repeat(np.clip(values, 0, 255).astype(np.uint8)[:, :, np.newaxis], 3, axis=2), SIDE
    )


def at(row, column):
    return row * SIDE + column


def scene(*, dark=(5, 5), step=None, textured=None):
    """Grey with a dark disc around a place, an edge, and a part with fine noise."""
    y, x = np.mgrid[:SIZE, :SIZE]
    grey = np.full((SIZE, SIZE), 128.0)
    centre = ((dark[0] + 0.5) * 16, (dark[1] + 0.5) * 16)
    grey[np.hypot(y - centre[0], x - centre[1]) < 28] = 30.0
    if step is not None:
        grey[(y > step) & (x > 150)] = 230.0
    if textured is not None:
        row, column = textured
        part = np.s_[(row - 1) * 16 : (row + 2) * 16, (column - 1) * 16 : (column + 2) * 16]
        grey[part] += np.random.default_rng(1).normal(0, 50, grey[part].shape)
    return grey


def test_areas_edges_and_textures_are_found_where_they_are_and_nowhere_else():
    one = measured(scene(step=160, textured=(11, 2)), noise=3.0)
    assert "dark" in one.words(at(5, 5))
    assert "bright below" in one.words(at(10, 12))
    assert "textured" in one.words(at(11, 2))
    assert one.words(at(1, 8)) <= {"smooth"}
    assert measured(255.0 - scene(step=160)).words(at(5, 5)) & {"dark", "bright"} == {"bright"}
    assert "bright above" in measured(np.flipud(scene(step=100)).copy()).words(at(SIDE - 1 - 6, 12))
    assert "bright left" in measured(scene(step=100).T[:, ::-1].copy()).words(at(12, SIDE - 1 - 6))


def test_a_black_background_is_flat_and_a_dark_area_with_noise_is_not():
    grey = scene()
    grey[:, 160:] = 0.0
    one = measured(grey + np.where(grey > 0, np.random.default_rng(0).normal(0, 4, grey.shape), 0.0))
    assert one.is_flat(at(5, 12))
    assert not one.is_flat(at(5, 5))


def test_a_flat_image_has_no_words():
    flat = measured(np.full((SIZE, SIZE), 90.0))
    assert all(not flat.words(place) for place in range(SIDE * SIDE))
    assert str(sentence_of_places(flat, flat, [("a", 0, 0)], None)) == "These places match best."


def test_the_sentence_names_what_both_images_show():
    query, case = measured(scene()), measured(scene(dark=(8, 9)))
    alike = str(sentence_of_places(query, case, [("a", at(5, 5), at(8, 9))], None))
    assert alike.startswith("Alike in a dark area (a)")
    unlike = str(sentence_of_places(query, case, [("a", at(5, 5), at(5, 5))], None))
    assert "dark area" not in unlike


def test_a_difference_is_named_only_where_grey_or_texture_differs_and_the_distance_says_so():
    plain = scene()
    bright = plain.copy()
    bright[150:, :74] = 250.0
    shares = np.full((SIDE, SIDE), 0.01)
    shares[10:, :5] = 1.0
    query, case = measured(bright), measured(plain)
    text = str(sentence_of_places(query, case, [], shares))
    assert text.endswith("Unlike: the query is brighter at the lower left.")
    assert str(sentence_of_places(case, query, [], shares)).endswith("darker at the lower left.")
    assert "Unlike" not in str(sentence_of_places(query, query, [], shares))
    assert "Unlike" not in str(sentence_of_places(query, case, [], np.ones((SIDE, SIDE))))
    noisy = plain.copy()
    noisy[150:, :74] += np.random.default_rng(2).normal(0, 12, noisy[150:, :74].shape)
    text = str(sentence_of_places(measured(noisy), measured(plain, noise=1.0), [], shares))
    assert text.endswith("the query has a stronger texture at the lower left.")
