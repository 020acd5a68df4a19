"""Smooth minimisation that reports its progress, can be stopped, and keeps the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

#: Relative fall of the objective below which it has converged.
_CONVERGED = 1e-9


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
