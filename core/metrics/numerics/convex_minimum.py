"""The step length of a boosting round: the minimum of a convex function of one number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

#: First, second and third derivative at a step.
Slopes = tuple[float, float, float]

_DOUBLINGS = 80
#: A step of Halley's method this small, relative to the place, leaves an error of about its cube, 1e-11.
CLOSE = 2e-4
#: A minimum this much nearer to 0 than the start is 0 but for rounding.
_NOWHERE = 1e-12


class Minimum(NamedTuple):
    """``place`` of a minimum; not ``bounded``: the function still falls there, and no end was found."""

    place: float
    bounded: bool = True


def convex_minimum(
    slopes: Callable[[float], Slopes], start: float, most: float = math.inf, close: float = CLOSE
) -> Minimum:
    """The minimum over (0, ``most``] of a convex function that falls at 0, from its ``slopes``.

    Halley's method on the first derivative, held inside the bracket where that changes sign: about three
    calls. It ends with a step no larger than ``close`` times the place. Where the function falls without
    end the bracket is doubled 80 times and its end taken.
    """
    low, high, place = 0.0, most, min(start, most)
    bracketed = False
    doublings = 0
    while True:
        first, second, third = slopes(place)
        if first == 0.0 or (first < 0.0 and place >= most) or place < _NOWHERE * start:
            return Minimum(place)
        if first < 0.0:
            low = place
        else:
            high, bracketed = place, True
        curved = 2.0 * second * second - first * third
        step = -2.0 * first * second / curved if curved > 0.0 else math.nan
        target = place + step
        if abs(step) <= close * place:
            return Minimum(min(max(target, low), high))
        if not low < target < high or (not bracketed and target > 16.0 * place):
            if bracketed:
                target = 0.5 * (low + high)
            else:
                doublings += 1
                if doublings > _DOUBLINGS:
                    return Minimum(place, False)
                target = min(2.0 * place, most)
        if bracketed and high - low <= 4e-16 * high:
            return Minimum(target)
        place = target
