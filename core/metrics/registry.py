"""Learners by name. Only making one imports what it computes with."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.metrics.declarations import CLICKS, LEARNERS, OF_THE_PAPERS, LearnerDeclaration
from semblance.core.parameters import checked

if TYPE_CHECKING:
    from semblance.core.metrics.learner import Learner


def learners() -> tuple[type[LearnerDeclaration], ...]:
    """The declarations of all learners, the plainest first."""
    return LEARNERS


def grouped_learners() -> tuple[tuple[type[LearnerDeclaration], ...], tuple[type[LearnerDeclaration], ...]]:
    """The learners of the papers, the first to try first; and those they are compared with."""
    return OF_THE_PAPERS, tuple(learner for learner in learners() if learner not in OF_THE_PAPERS)


def declared_learner(name: str) -> type[LearnerDeclaration]:
    """The declaration of the learner so named.

    Raises:
        BadArguments: no such learner.
    """
    for learner in learners():
        if learner.name == name:
            return learner
    names = ", ".join(learner.name for learner in learners())
    raise BadArguments(
        tr_lazy("There is no learner '{name}'.", name=name), tr_lazy("Learners: {names}.", names=names)
    )


def learner_title(name: str) -> str:
    """The name on screen of the learner of a card, also of a metric refined by feedback.

    Raises:
        BadArguments: no such learner.
    """
    return "Clicks" if name == CLICKS else declared_learner(name).title


def make_learner(name: str, **parameters: Any) -> Learner:
    """The learner so named, not yet fitted; ``random_state`` is accepted by all, ``n_jobs`` by those that choose.

    Raises:
        BadArguments: an unknown learner or parameter, or a value out of its range.
    """
    declaration = declared_learner(name)
    how = declaration.how_fitted() & parameters.keys()
    own = {key: value for key, value in parameters.items() if key not in how}
    values = checked(name, declaration.parameters, own) | {key: parameters[key] for key in how}
    learner: Learner = estimator_class(declaration)(**values)
    return learner


def estimator_class(declaration: type[LearnerDeclaration]) -> type[Any]:
    """The class that computes what is declared."""
    if declaration.__module__ != LearnerDeclaration.__module__:
        return declaration
    module = import_module(f"semblance.core.metrics.estimators.{declaration.module or declaration.name}")
    found: type[Any] = getattr(module, declaration.__name__)
    return found
