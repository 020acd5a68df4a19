"""Simulated people: they answer from the findings, some of the time wrongly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.searches.questions import Answer

_ANSWERS = {
    (True, False): Answer.FIRST,
    (False, True): Answer.SECOND,
    (True, True): Answer.BOTH,
    (False, False): Answer.NEITHER,
}


class User:
    """Says whether cases have the query's finding; ``wrong`` of the answers are the very opposite."""

    def __init__(self, y: npt.NDArray[np.int64], wrong: float, seed: int) -> None:
        self._y, self._wrong = y, wrong
        self._rng = np.random.default_rng([seed, 1])

    def answer(self, query: int, first: int, second: int) -> Answer:
        """To a question about two cases: one click, both halves of it wrong at once."""
        flipped = self._flips()
        said = tuple(bool((self._y[case] == self._y[query]) != flipped) for case in (first, second))
        return _ANSWERS[said[0], said[1]]

    def alike(self, query: int, case: int) -> bool:
        """A thumb: one click."""
        return bool((self._y[case] == self._y[query]) != self._flips())

    def _flips(self) -> bool:
        return bool(self._rng.random() < self._wrong)
