"""The findings of a library in their order, each with a colour: as a person set them, or by how severe they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semblance.core.library.natural_key import natural_key

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue

#: Name -> colour of Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), in the order findings take them.
PALETTE = {
    "vermillion": "#D55E00",
    "sky blue": "#56B4E9",
    "bluish green": "#009E73",
    "orange": "#E69F00",
    "reddish purple": "#CC79A7",
    "blue": "#0072B2",
    "yellow": "#F0E442",
}
#: Key of the stored value: [{"name", "colour"}, ...] in the order that was set.
FINDINGS_KEY = "findings"
#: Findings that come first in every library, so that the most common ones always have the same colours.
_MOST_SEVERE_FIRST = ("malignant", "cancer", "carcinoma", "benign", "normal")


@dataclass(frozen=True)
class FindingStyle:
    """A finding and its colour, a place in :data:`PALETTE`."""

    name: str
    colour: int


def stored_styles(catalogue: Catalogue) -> tuple[FindingStyle, ...]:
    """The findings in the order set by the user, with their colours; empty if none was set."""
    from semblance.core.library.stored_values import stored_value

    return parse_styles(stored_value(catalogue, FINDINGS_KEY))


def parse_styles(value: Any) -> tuple[FindingStyle, ...]:
    """The styles of a stored value; none where it is not a list of them."""
    try:
        return tuple(FindingStyle(str(one["name"]), int(one["colour"]) % len(PALETTE)) for one in value or ())
    except (KeyError, TypeError, ValueError):
        return ()


def all_styles(stored: Sequence[FindingStyle], names: Collection[str]) -> tuple[FindingStyle, ...]:
    """``stored``, then the other findings ``names``, most severe first, each with the colour of its place."""
    known = {style.name for style in stored}
    rest = by_severity(name for name in set(names) if name not in known)
    return (
        *stored,
        *(FindingStyle(name, place % len(PALETTE)) for place, name in enumerate(rest, start=len(stored))),
    )


def by_severity(names: Iterable[str]) -> list[str]:
    """Most severe first, then by name: libraries of the same findings show them in the same colours and letters,
    whatever the order of their cases."""

    def sort_key(name: str) -> tuple[int, str, str]:
        ranks = {finding: rank for rank, finding in enumerate(_MOST_SEVERE_FIRST)}
        return ranks.get(name.casefold(), len(ranks)), natural_key(name), name

    return sorted(names, key=sort_key)
