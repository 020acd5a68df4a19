"""Simulated users. They answer from the findings, with a share of wrong answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.searches.feedback.questions import QuestionAnswer

_ANSWERS = {
    (True, False): QuestionAnswer.FIRST,
    (False, True): QuestionAnswer.SECOND,
    (True, True): QuestionAnswer.BOTH,
    (False, False): QuestionAnswer.NEITHER,
}


class SimulatedUser:
    """Answers whether cases have the finding of the query. A share ``wrong`` of the answers is inverted."""

    def __init__(self, y: npt.NDArray[np.int64], wrong: float, seed: int) -> None:
        self._y, self._wrong = y, wrong
        self._rng = np.random.default_rng([seed, 1])

    def answer(self, query: int, first: int, second: int) -> QuestionAnswer:
        """The answer to a question about two cases in one click. A wrong answer is wrong for both."""
        is_wrong = self._is_wrong()
        has_finding = tuple(bool((self._y[case] == self._y[query]) != is_wrong) for case in (first, second))
        return _ANSWERS[has_finding[0], has_finding[1]]

    def is_similar(self, query: int, case: int) -> bool:
        """More or less like this, in one click."""
        return bool((self._y[case] == self._y[query]) != self._is_wrong())

    def _is_wrong(self) -> bool:
        return bool(self._rng.random() < self._wrong)
