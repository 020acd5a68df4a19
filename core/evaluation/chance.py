"""Whether a metric retrieves more of the same finding than a random order does, and what is said where it does not."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.evaluation.intervals import corrected_variance, t_quantile
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from semblance.core.evaluation.evaluate_metric import MetricScores
    from semblance.core.evaluation.result import LearnerResult, SplitFacts

#: How both sentences begin.
_AT_CHANCE = "These features do not tell the findings apart"
#: The k at which a metric is compared with chance.
K = 10
#: Means over queries and over findings, each with its chance: a rare finding can be told apart while the first is at
#: chance.
_SCORES = (("retrieval_accuracy", "chance"), ("macro_retrieval_accuracy", "macro_chance"))


def chance_note(scores: MetricScores | None) -> str:
    """The sentence on a metric whose scores are not above chance; "" where they are, or do not say."""
    if scores is None or scores.beats_chance is not False:
        return ""
    return _at_chance(scores.retrieval_accuracy.at(K)[0], scores.chance)


def is_at_chance(text: str) -> bool:
    """Whether ``text`` is the sentence that :func:`chance_note` gives."""
    return text.startswith(_AT_CHANCE)


def _at_chance(accuracy: float | None, chance: float | None) -> str:
    """That features do not tell the findings apart, with the score that says so."""
    if accuracy is None or chance is None:
        return tr_lazy("These features do not tell the findings apart.")
    return tr_lazy(
        "These features do not tell the findings apart ({accuracy:.2f}, chance {chance:.2f}).",
        accuracy=accuracy,
        chance=chance,
    )


def is_chance(score: str) -> bool:
    """Whether ``score`` is a chance, which no learner is better in."""
    return score.partition("@")[0] in {chance for _, chance in _SCORES}


def names_beside_chance(names: Iterable[str], known: Container[str]) -> list[str]:
    """``names`` of scores, each accuracy @ :data:`K` followed by its chance where ``known`` has it."""
    chances = {f"{score}@{K}": f"{chance}@{K}" for score, chance in _SCORES}
    both = ((name, chances.get(name, "")) for name in names)
    return [one for pair in both for one in pair if one in known]


def evaluation_note(result: LearnerResult, split: SplitFacts) -> str:
    """The sentence on a learner of an evaluation whose scores are not above chance; "" where they are, or the protocol
    measures none.

    Repeats share cases, so the variance of their mean is that of Nadeau and Bengio.
    """
    known = [pair for pair in _SCORES if f"{pair[0]}@{K}" in result.scores]
    if not known or any(_is_above(result, split, *pair) for pair in known):
        return ""
    return _at_chance(result.scores[f"{known[0][0]}@{K}"].mean, result.scores[f"{known[0][1]}@{K}"].mean)


def _is_above(result: LearnerResult, split: SplitFacts, score: str, chance: str) -> bool:
    pairs = zip(result.scores[f"{score}@{K}"].values, result.scores[f"{chance}@{K}"].values, strict=True)
    gains = np.array([a - b for a, b in pairs if a is not None and b is not None])
    if len(gains) < 2:
        return bool(gains.mean() > 0.0) if len(gains) else False
    error = corrected_variance(gains, split.n_train, split.n_test) ** 0.5
    return bool(gains.mean() > t_quantile(0.975, len(gains) - 1) * error)
