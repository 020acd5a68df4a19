"""Points of training curves and new cards, for all learners."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.metrics.distance import Distance
from semblance.core.metrics.training_data.rows import TrainingInput
from semblance.core.plugins import find_plugin
from semblance.core.version import version_with_commit


@dataclass(frozen=True, eq=False)
class TrainingPoint:
    """The state after a round of training, passed to ``Reporter.partial`` in every round.

    It is cheap until :attr:`distance` is read, so the reporter chooses the rounds to score. The distance works on
    rows after the steps. Pickling computes the distance; to send the curve to another process, send ``round`` and
    ``objective``.
    """

    round: int
    objective: float
    _make: Callable[[], Distance] = field(repr=False)

    @property
    def distance(self) -> Distance:
        """The distance learnt so far; may be read at any later time."""
        return self._make()

    def __reduce__(self) -> tuple[Any, ...]:
        return _point, (self.round, self.objective, self.distance)


def _point(number: int, objective: float, distance: Distance) -> TrainingPoint:
    return TrainingPoint(number, objective, lambda: distance)


def count_findings(y: npt.ArrayLike | None) -> dict[str, int]:
    """Training cases of each finding, by name; cases without one are left out."""
    if y is None:
        return {}
    counts = Counter(str(finding) for finding in np.asarray(y).tolist() if finding not in (None, ""))
    return dict(sorted(counts.items()))


def count_patients(groups: npt.ArrayLike | None) -> int | None:
    """How many patients are named in ``groups`` (n,); ``None`` where none is."""
    names = [] if groups is None else np.asarray(groups).tolist()
    return len({name for name in names if name not in (None, "")}) or None


def begin_card(
    learner: LearnerDeclaration,
    data: TrainingInput,
    *,
    constraints: Mapping[str, int] | None = None,
    notes: tuple[str, ...] = (),
    rounds: int | None = None,
) -> MetricCard:
    """The card of a metric that ``learner`` fitted on ``data``, with the facts that the learner has."""
    plugin = find_plugin("learner", learner.name)
    return MetricCard(
        learner=learner.name,
        plugin={} if plugin is None else plugin.origin,
        name=learner.name,
        parameters={parameter.name: getattr(learner, parameter.name) for parameter in learner.parameters},
        findings=count_findings(data.y),
        n_cases=len(data.X),
        n_patients=count_patients(data.groups),
        constraints=dict(constraints or {}),
        notes=notes,
        rounds=rounds,
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def versions() -> dict[str, str]:
    """Versions of the program and of the libraries its numbers depend on."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    """Cached, because reading them takes longer than the fastest learners."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "semblance": version_with_commit()}
    for package in ("numpy", "scipy", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
