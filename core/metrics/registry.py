"""Every learner there is: a new one is one line here."""

from __future__ import annotations

from typing import Any

from core.errors import BadArguments
from core.metrics.bdm import BDM, BDMV
from core.metrics.euclidean import Euclidean
from core.metrics.learner import Learner
from core.metrics.metricboost import MetricBoost
from core.metrics.passive_aggressive import PassiveAggressive
from core.parameters import checked

_LEARNERS: tuple[type[Learner], ...] = (Euclidean, BDM, BDMV, MetricBoost, PassiveAggressive)


def learners() -> tuple[type[Learner], ...]:
    """The classes of all learners, the plainest first."""
    return _LEARNERS


def learner_class(name: str) -> type[Learner]:
    """The class of the learner so named.

    Raises:
        BadArguments: no such learner.
    """
    for learner in _LEARNERS:
        if learner.name == name:
            return learner
    names = ", ".join(learner.name for learner in _LEARNERS)
    raise BadArguments(f"There is no learner '{name}'.", f"Learners: {names}.")


def make_learner(name: str, **parameters: Any) -> Learner:
    """The learner so named, not yet fitted; ``random_state`` is accepted by all.

    Raises:
        BadArguments: an unknown learner or parameter, or a value out of its range.
    """
    learner = learner_class(name)
    own = {key: value for key, value in parameters.items() if key != "random_state"}
    values = checked(name, learner.parameters, own)
    if "random_state" in parameters:
        values["random_state"] = parameters["random_state"]
    return learner(**values)
