"""The scores that stand beside those of a random order, and what is said of features that are no better."""

from __future__ import annotations

from collections.abc import Container, Iterable

from semblance.core.language import tr_lazy

#: How both sentences begin.
_AT_CHANCE = "These features do not tell the findings apart"
#: The k at which metrics are compared with each other and with chance.
K = 10
#: Means over queries and over findings, each with its chance: a rare finding can be told apart while the first is at
#: chance.
SCORES = (("retrieval_accuracy", "chance"), ("macro_retrieval_accuracy", "macro_chance"))


def is_at_chance(text: str) -> bool:
    """Whether ``text`` is the sentence of :func:`at_chance`."""
    return text.startswith(_AT_CHANCE)


def at_chance(accuracy: float | None, chance: float | None) -> str:
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
    name = score.partition("@")[0]
    return name.endswith("_chance") or name in {chance for _, chance in SCORES}


def names_beside_chance(names: Iterable[str], known: Container[str]) -> list[str]:
    """``names`` of scores, each accuracy @ :data:`K` followed by its chance where ``known`` has it."""
    chances = {f"{score}@{K}": f"{chance}@{K}" for score, chance in SCORES}
    both = ((name, chances.get(name, "")) for name in names)
    return [one for pair in both for one in pair if one in known]
