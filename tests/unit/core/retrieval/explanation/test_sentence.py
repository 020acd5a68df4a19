from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.registry import extractors
from semblance.core.retrieval.explanation.sentence import joined, ranks_among, sentence, spoken

GROUPS = ("Shape", "Size", "Margin", "Texture")


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((0.1, 0.2, 0.9, 0.5), "Close in outline shape and size, far in margin."),
        ((0.2, 0.1, 0.9, 0.95), "Close in size and outline shape, far in texture and margin."),
        ((0.5, 0.5, 0.9, 0.6), "Far in margin."),
        ((0.1, 0.5, 0.5, 0.6), "Close in outline shape, less so in texture."),
        ((0.1, 0.0, 0.2, 0.05), "Close in everything; most apart in texture."),
        ((0.5, 0.5, 0.5, 0.5), "As far apart as usual; most in texture."),
    ],
)
def test_close_and_far_groups_are_named_in_one_sentence(ranks, expected):
    assert sentence(GROUPS, (0.1, 0.2, 0.3, 0.4), ranks) == expected


def test_excluded_groups_are_not_mentioned():
    text = sentence(GROUPS, (0.1, 0.2, 0.0, 0.4), (0.1, 0.5, 0.0, 0.9), ("Margin",))
    assert text == "Close in outline shape, far in texture."
    assert sentence(("Shape",), (0.0,), (0.0,), ("Shape",)) == ""


def test_equal_cases_are_called_the_same():
    assert sentence(GROUPS, (0.0,) * 4, (0.5,) * 4) == "None of the compared features separates the two."


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (0.03, "Nearer to the query in general appearance than 97 % of the library's cases."),
        (0.0, "Nearer to the query in general appearance than 99 % of the library's cases."),
        (0.8, "Farther from the query in general appearance than 80 % of the library's cases."),
    ],
)
def test_a_single_group_is_set_against_the_library(rank, expected):
    assert sentence(("Encoder",), (0.2,), (rank,)) == expected


def test_many_visual_words_are_counted():
    words = [f"word {n}" for n in range(1, 21)]
    ranks = [0.1] * 5 + [0.5] * 12 + [0.9] * 3
    text = sentence(words, [0.1] * 19 + [0.2], ranks)
    assert text == "Close in 5 of 20 visual words, far in 3; most apart in visual word 20."


def test_widths_of_stripes_stand_together():
    groups = ("Gabor, 2.5 px", "Gabor, 5 px", "Gabor, 10 px")
    assert (
        sentence(groups, (1, 2, 3), (0.1, 0.2, 0.9))
        == "Close in stripes 2.5 and 5 px wide, far in stripes 10 px wide."
    )


def test_ranks_are_shares_of_what_is_usual():
    usual = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    assert ranks_among(np.array([2.5, 0.0]), usual).tolist() == [0.5, 0.5]
    assert ranks_among(np.array([0.5, 1.0]), usual).tolist() == [0.0, 1.0]
    assert ranks_among(np.array([0.5, 1.0]), np.empty((0, 2))).tolist() == [0.5, 0.5]


def test_the_groups_of_every_extractor_have_words_for_sentences():
    own = {"raw", "onnx", "fusion", "clinical"}
    for extractor in extractors():
        if extractor.name in own or extractor.local is not None:
            continue
        for group in {name.group for name in extractor().feature_names}:
            assert spoken(group) != group, group
    assert spoken("word 12") == "visual word 12"
    assert spoken("Gabor, 3.5 px") == "stripes 3.5 px wide"
    assert spoken("a column of a table") == "a column of a table"
    assert joined(["a", "b", "c"]) == "a, b and c"
