"""How distances are written: with few digits, but so many that neighbours in a ranking differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from semblance.core.language import format_number

#: Digits after the point at first, and at most; figures at most of the largest that is looked at.
FEWEST, MOST, FIGURES = 3, 6, 5
#: Ranks that are looked at: about those that are seen at once.
SEEN = 20
#: Two distances that differ by less than this share are one, computed twice.
_SAME = 1e-6


def distance_text(distance: float, digits: int = FEWEST) -> str:
    """``digits`` decimals for ordinary distances, as many figures for very small and very large ones."""
    if distance == 0 or 0.001 <= abs(distance) < 100:
        return format_number(distance, f".{digits}f")
    if abs(distance) < 0.001 or abs(distance) >= 100_000:
        return format_number(distance, f".{digits - 1}e")
    return format_number(distance, f".{digits - FEWEST}f")


def digits_for(distances: Sequence[float]) -> int:
    """With how many digits :func:`distance_text` tells most neighbours of a ranking apart, 3 to 6.

    The same for the whole ranking, and no more than its size asks for: distances near 2 get four at most,
    distances near 0.002 six.
    """
    first = [float(one) for one in distances[:SEEN]]
    largest = max(map(abs, first), default=0.0)
    if not 0.0 < largest < math.inf:
        return FEWEST
    most = FIGURES
    if largest >= 0.001:
        most = min(MOST, max(FEWEST, FIGURES - 1 - math.floor(math.log10(largest))))
    pairs = [(a, b) for a, b in itertools.pairwise(first) if not math.isclose(a, b, rel_tol=_SAME)]

    def apart(digits: int) -> int:
        return sum(distance_text(a, digits) != distance_text(b, digits) for a, b in pairs)

    return max(range(FEWEST, most + 1), key=apart)
