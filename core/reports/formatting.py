"""Format distances, times and regions; distances with enough digits to distinguish neighbours of a ranking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from semblance.core.language import format_number, isolated, tr_lazy

if TYPE_CHECKING:
    # It loads numpy, which the command line does without to print a help.
    from semblance.core.imaging.region import Region

#: Digits after the point, at least and at most; significant digits of the largest distance, at most.
MIN_DIGITS, MAX_DIGITS, FIGURES = 3, 6, 5
#: Number of the first ranks that are compared: about as many as are visible at once.
COMPARED_RANKS = 20
#: Two distances that differ by less than this share are equal up to rounding.
_SAME = 1e-6


def distance_text(distance: float, digits: int = MIN_DIGITS) -> str:
    """``digits`` decimals for ordinary distances, as many figures for very small and very large ones."""
    if distance == 0 or 0.001 <= abs(distance) < 100:
        return format_number(distance, f".{digits}f")
    if abs(distance) < 0.001 or abs(distance) >= 100_000:
        return format_number(distance, f".{digits - 1}e")
    return format_number(distance, f".{digits - MIN_DIGITS}f")


def digits_for(distances: Sequence[float]) -> int:
    """The number of digits, 3 to 6, with which :func:`distance_text` distinguishes most neighbours of a ranking.

    The same for the whole ranking, and limited by the size of the distances: near 2 at most four digits, near
    0.002 six.
    """
    first = [float(one) for one in distances[:COMPARED_RANKS]]
    largest = max(map(abs, first), default=0.0)
    if not 0.0 < largest < math.inf:
        return MIN_DIGITS
    max_digits = FIGURES
    if largest >= 0.001:
        max_digits = min(MAX_DIGITS, max(MIN_DIGITS, FIGURES - 1 - math.floor(math.log10(largest))))
    pairs = [(a, b) for a, b in itertools.pairwise(first) if not math.isclose(a, b, rel_tol=_SAME)]

    def count_distinct(digits: int) -> int:
        return sum(distance_text(a, digits) != distance_text(b, digits) for a, b in pairs)

    return max(range(MIN_DIGITS, max_digits + 1), key=count_distinct)


def spread_text(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A score with its interval, ``0.83 (0.78–0.87)``, or alone; empty for no value."""
    if value is None:
        return ""
    if low is None or high is None:
        return tr_lazy("{value:.2f}", value=value)
    return tr_lazy("{value:.2f} ({low:.2f}–{high:.2f})", value=value, low=low, high=high)


def beside_chance(value: float | None, low: float | None, high: float | None, chance: float | None) -> str:
    """``0.83 (0.78–0.87), chance 0.50``; empty for no value."""
    spread = spread_text(value, low, high)
    if chance is None or not spread:
        return spread
    return tr_lazy("{spread}, chance {chance:.2f}", spread=spread, chance=chance)


def time_text(moment: str) -> str:
    """``2026-03-01 14:05 UTC`` from ISO 8601; other text as it is."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    zone = at.tzname()
    return f"{at:%Y-%m-%d %H:%M}{f' {zone}' if zone else ''}"


def region_text(region: Region) -> str:
    """``30 × 20 px at 4, 5``, in a volume with its slices, counted from 1 as the viewer does."""
    text = tr_lazy(
        "{width} × {height} px at {x}, {y}", width=region.width, height=region.height, x=region.x, y=region.y
    )
    if region.z is None:
        return text
    first, last = region.z + 1, region.z + region.depth
    if first == last:
        return tr_lazy("{place}, slice {first}", place=text, first=first)
    return tr_lazy("{place}, slices {first} to {last}", place=text, first=first, last=last)


def library_share_text(finding: str, share: float | None) -> str:
    """``at 50 % malignant in this library``: the share that an estimate of the finding starts from; empty for none."""
    if share is None:
        return ""
    return tr_lazy("at {share:.0%} {finding} in this library", share=share, finding=isolated(finding))


def signed_text(amount: float) -> str:
    """``+0.071``, with a true minus sign."""
    return f"{'−' if amount < 0 else '+'}{distance_text(abs(amount))}"


def prevalence_text(prevalence: tuple[float, float]) -> str:
    """``for a prevalence of 10 % instead of the library's 62 %``, of the share set and the library's."""
    now, measured = prevalence
    return tr_lazy(
        "for a prevalence of {now:.3g} % instead of the library's {measured:.3g} %",
        now=100 * now,
        measured=100 * measured,
    )
