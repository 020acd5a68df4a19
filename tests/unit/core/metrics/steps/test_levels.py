from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.encoder.efficientnet import LEVEL_CHANNELS, LEVEL_WIDTH
from semblance.core.metrics.steps import parse_steps, steps_text
from semblance.core.metrics.steps.levels import Levels
from semblance.core.metrics.steps.sequence import chosen_steps

ROW = np.arange(LEVEL_WIDTH, dtype=np.float64)[np.newaxis]
#: Where the generalised mean of the first level, and the mean of the last begin.
SECOND, LAST = LEVEL_CHANNELS[0], LEVEL_WIDTH - 2 * LEVEL_CHANNELS[-1]


@pytest.mark.parametrize(
    ("choice", "width", "first", "last"),
    [
        ("head", 1280, LAST, LEVEL_WIDTH - 1281),
        ("means", 1728, 0, LEVEL_WIDTH - 1281),
        ("generalised", 1728, SECOND, LEVEL_WIDTH - 1),
        ("blocks", 448, SECOND, LAST - 1),
    ],
)
def test_each_choice_takes_its_columns_in_order(choice, width, first, last):
    step = Levels(choice).fit(ROW)
    columns = step.transform(ROW)[0]
    assert (len(columns), columns[0], columns[-1]) == (width, first, last)
    assert (np.diff(columns) > 0).all()
    restored = Levels.restore(step.settings(), step.arrays())
    np.testing.assert_array_equal(restored.transform(ROW)[0], columns)
    assert steps_text(parse_steps(f"levels:{choice},l2")) == f"levels:{choice},l2"
    # A gradient goes back to where its columns came from.
    back = step.pull_back(np.ones(width))
    assert back.sum() == width
    assert (back[columns.astype(int)] == 1.0).all()


def test_the_default_steps_follow_what_the_encoder_described():
    assert steps_text(chosen_steps("", "encoder", {"part": "levels"})) == "levels:generalised,l2,pca:64"
    assert steps_text(chosen_steps("", "encoder", {})) == "l2,pca:64"


def test_other_numbers_and_words_are_refused():
    with pytest.raises(BadInput, match=r"needs the levels of the encoder \(3,456 numbers\), not 1,280"):
        Levels("blocks").fit(np.ones((3, 1280)))
    with pytest.raises(BadArguments, match="'levels:some' is not a step"):
        parse_steps("levels:some")
    with pytest.raises(BadArguments, match="'levels' has to come first"):
        parse_steps("l2,levels:head")
    with pytest.raises(BadInput, match="does not say which levels"):
        Levels.restore({}, {})
