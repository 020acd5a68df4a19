"""Frames and pairs of places: what matters, and what matches."""

from __future__ import annotations

import numpy as np

from semblance.core.retrieval.explanation.place_pairs import (
    FRAME,
    MATCHING,
    hidden,
    match_images,
    neighbourhood_cosines,
    occlusion,
    square,
    strongest_windows,
)

SIDE = 8


def test_occlusion_finds_the_part_that_the_similarity_depends_on():
    pixels = np.random.default_rng(0).integers(0, 255, (112, 112, 3)).astype(np.uint8)
    wanted = pixels[70:98, 14:42].astype(np.float64)

    def similarity(images):
        return np.array([-np.abs(one[70:98, 14:42] - wanted).mean() for one in images])

    found = occlusion(pixels, SIDE, similarity)
    assert (found.map[5:7, 1:3] == found.map.max()).all()
    assert found.map[:3, 5:].max() < found.map.max() / 4
    assert found.map.max() > 2 * found.usual > 0


def test_what_is_hidden_is_blurred_and_the_rest_stays():
    pixels = np.zeros((112, 112, 3), dtype=np.uint8)
    pixels[::2] = 200
    (one,) = hidden(pixels, square(SIDE, (0, 0))[np.newaxis])
    assert (one[90:, 90:] == pixels[90:, 90:]).all()
    middle = one[20:50, 20:50].astype(float)
    assert middle.std() < 10
    assert abs(middle.mean() - 100) < 10


def test_frames_are_those_of_a_plain_loop():
    rng = np.random.default_rng(1)
    cosines = rng.random((SIDE,) * 4).astype(np.float32)
    weights = rng.random((SIDE, SIDE)), rng.random((SIDE, SIDE))
    starts = range(SIDE - FRAME + 1)
    windows = [(row, column) for row in starts for column in starts]

    def part(values, start):
        return values[start[0] : start[0] + FRAME, start[1] : start[1] + FRAME]

    sums = [np.array([part(one, start).mean() for start in windows]) for one in weights]
    match = np.empty((len(windows), len(windows)))
    for q, (row, column) in enumerate(windows):
        for x, start in enumerate(windows):
            inside = cosines[row : row + FRAME, column : column + FRAME]
            pair = inside[:, :, start[0] : start[0] + FRAME, start[1] : start[1] + FRAME].reshape(
                FRAME**2, -1
            )
            match[q, x] = pair.max(axis=0).mean() + pair.max(axis=1).mean()

    def standard(values):
        return (values - values.mean()) / values.std()

    score = standard(sums[0])[:, np.newaxis] + standard(sums[1]) + MATCHING * standard(match)
    query, case = np.unravel_index(score.argmax(), score.shape)
    assert strongest_windows(weights, cosines) == (windows[query], windows[case])


def test_pairs_lie_in_the_frames_and_follow_a_shifted_image():
    rng = np.random.default_rng(2)
    whole = rng.normal(size=(SIDE + 2, SIDE + 2, 16)).astype(np.float32)
    maps = whole[:SIDE, :SIDE], whole[2:, 1 : SIDE + 1]
    weights = np.zeros((SIDE, SIDE)), np.zeros((SIDE, SIDE))
    weights[0][3:8, 3:8] = weights[1][1:6, 2:7] = 1.0
    found = match_images(maps, None, weights)
    assert found.frames == ((3, 3), (1, 2))
    assert [pair.letter for pair in found.pairs] == list("abcd")
    assert [pair.similarity for pair in found.pairs] == sorted(
        (p.similarity for p in found.pairs), reverse=True
    )
    for pair in found.pairs:
        assert found.in_frame(0)[pair.query]
        assert found.in_frame(1)[pair.case]
        (row, column), (other, across) = divmod(pair.query, SIDE), divmod(pair.case, SIDE)
        assert (row - other, column - across) == (2, 1)
    flat = np.zeros(SIDE * SIDE, dtype=bool)
    flat[[pair.case for pair in found.pairs]] = True
    others = match_images(maps, None, weights, (np.zeros_like(flat), flat)).pairs
    assert not flat[[pair.case for pair in others]].any()
    assert len({pair.query for pair in found.pairs}) == len({pair.case for pair in found.pairs}) == 4


def test_an_image_matches_itself_place_by_place():
    image = np.random.default_rng(3).normal(size=(SIDE, SIDE, 16)).astype(np.float32)
    cosines = neighbourhood_cosines((image, image), None)
    assert (cosines.argmax(axis=1) == np.arange(SIDE * SIDE)).all()
    assert np.abs(np.diag(cosines) - 1.0).max() < 1e-5


def test_places_whose_annotations_were_filled_in_get_no_letter_and_no_frame():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, SIDE, SIDE, 16)).astype(np.float32)
    # The same filling in both, which matters most and matches best.
    first[6:, :5] = second[6:, :5] = rng.normal(size=16)
    weights = np.zeros((SIDE, SIDE))
    weights[6:, :5] = 1.0
    filled = (weights > 0).reshape(-1)
    found = match_images((first, second), None, (weights, weights))
    assert any(filled[pair.query] for pair in found.pairs)
    found = match_images((first, second), None, (weights, weights), None, (filled, filled))
    assert found.pairs and not any(filled[pair.query] or filled[pair.case] for pair in found.pairs)
    assert all((found.in_frame(image) & filled).sum() < FRAME**2 / 2 for image in (0, 1))
