"""Smooth minimisation that reports its progress, can be stopped, and keeps the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

#: First, second and third derivative at a step.
Slopes = tuple[float, float, float]

_DOUBLINGS = 80
#: A step of Halley's method this small, relative to the place, leaves an error of about its cube, 1e-11.
CLOSE = 2e-4
#: A minimum this much nearer to 0 than the start is 0 but for rounding.
_NOWHERE = 1e-12

#: Relative fall of the objective below which it has converged.
_CONVERGED = 1e-9


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


class Descent(NamedTuple):
    """The best position found, its value, the number of iterations, and why it ended."""

    best: Matrix
    value: float
    rounds: int
    note: str


def minimise(
    function: Callable[[Matrix], tuple[float, Matrix]],
    start: Matrix,
    *,
    rounds: int,
    reporter: Reporter,
    what: str,
    point: Callable[[int, float, Matrix], object] | None = None,
    ended: Callable[[Matrix], bool] | None = None,
    least: float | None = None,
) -> Descent:
    """Minimise ``function`` (value and gradient at a matrix shaped as ``start``) by L-BFGS.

    ``point`` makes the partial result for ``reporter`` after each of at most ``rounds`` iterations. ``ended`` is
    called with the position after each, and stops the minimisation if it returns true. ``least`` is the lower bound
    of all values.
    """
    from scipy import optimize

    # The stubs allow vectors only of a shape known to them.
    minimize: Callable[..., Any] = optimize.minimize
    shape = start.shape
    value, _ = function(start)
    state: dict[str, Any] = {"best": start, "value": value, "round": 0, "latest": None, "stopped": False}

    def evaluated(flat: Matrix, /) -> tuple[float, Matrix]:
        reporter.check_cancelled()
        found, gradient = function(flat.reshape(shape))
        state["latest"] = (flat.copy(), found)
        return found, gradient.ravel()

    def report(flat: Matrix, /) -> None:
        latest, found = state["latest"]
        if not np.array_equal(latest, flat):
            found = function(flat.reshape(shape))[0]
        state["round"] += 1
        if found < state["value"]:
            state["value"], state["best"] = found, flat.reshape(shape).copy()
        reporter.progress(state["round"], rounds, what)
        if point is not None:
            reporter.partial(point(state["round"], state["value"], state["best"]))
        if ended is not None and ended(flat.reshape(shape)):
            raise StopIteration
        if reporter.stop_requested:
            state["stopped"] = True
            raise StopIteration

    reporter.check_cancelled()
    reporter.progress(0, rounds, what)
    options = {"maxiter": rounds, "maxfun": 20 * rounds, "ftol": _CONVERGED}
    bounds = None if least is None else optimize.Bounds(least)
    done = minimize(
        evaluated, start.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, callback=report, options=options
    )
    count = int(state["round"])
    if state["stopped"]:
        note = tr_lazy("Stopped on request after {count} rounds.", count=count)
    elif done.status == 1:
        note = tr_lazy("All {count} rounds; not yet at the optimum.", count=count)
    else:
        note = tr_lazy("Converged after {count} rounds.", count=count)
    return Descent(state["best"], float(state["value"]), count, note)
