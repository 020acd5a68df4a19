"""Learners by name, also those of plug-ins. Only making one of ours imports what it computes with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.declarations import CLICKS, LEARNERS, OF_THE_PAPERS, LearnerDeclaration
from semblance.core.parameters import Parameter, checked
from semblance.core.plugins import Plugin, PluginGroup, check_class, guard_methods, missing_hint

if TYPE_CHECKING:
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.training_data.rows import TrainingInput

Declarations = tuple[type[LearnerDeclaration], ...]
_ACCEPTED = frozenset({"findings", "pairs", "triplets"})


def _checked_plugin(plugin: Plugin, found: Any) -> type[LearnerDeclaration]:
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.linear_learner import LinearLearner

    check_class(plugin, found, Learner, {"title": str, "summary": str, "accepts": frozenset})
    learner: type[Learner] = found
    if not learner.accepts <= _ACCEPTED:
        raise BadInput(
            tr_lazy(
                "{target} accepts {names}; a learner can accept {known}",
                target=plugin.target,
                names=", ".join(map(str, sorted(learner.accepts, key=str))),
                known=", ".join(sorted(_ACCEPTED)),
            )
        )
    if any(isinstance(value, Parameter) for value in vars(learner).values()):
        raise BadInput(
            tr_lazy("{target} has parameters and no decorator @declared before it", target=plugin.target)
        )
    if issubclass(learner, LinearLearner) and "_learn" in vars(learner):
        # mypy takes a method for no variable.
        setattr(learner, "_learn", _with_checked_map(learner._learn))  # noqa: B010
    guard_methods(plugin, learner, ("_fit", "_learn"))
    return learner


def _with_checked_map(learn: Callable[..., Any]) -> Callable[..., Any]:
    """``learn`` of a plug-in, which gives a map of the features or raises TypeError or ValueError."""
    import numpy as np

    from semblance.core.metrics.linear_learner import LearntMap

    @functools.wraps(learn)
    def checked(self: Any, data: TrainingInput) -> Any:
        learnt, d = learn(self, data), data.X.shape[1]
        if not isinstance(learnt, LearntMap):
            raise TypeError(f"_learn gave {type(learnt).__name__} and not LearntMap")
        L = np.asarray(learnt.L)
        if L.ndim != 2 or L.shape[1] != d or L.dtype.kind not in "fiu":
            raise ValueError(f"_learn gave a matrix {L.shape} of {L.dtype.name} and not (m, {d}) of numbers")
        if not np.isfinite(L).all():
            raise ValueError("_learn gave a matrix with values that are not finite")
        return replace(learnt, L=L.astype(np.float64))

    return checked


_PLUGINS: PluginGroup[type[LearnerDeclaration]] = PluginGroup(
    "learner", lambda: (*(learner.name for learner in LEARNERS), CLICKS, "auto"), _checked_plugin
)


def learners() -> Declarations:
    """The declarations of all learners, the plainest first, and last those of plug-ins, which it imports."""
    return *LEARNERS, *_PLUGINS.all()


def learner_names() -> tuple[str, ...]:
    """The names of all learners. Imports none."""
    return *(learner.name for learner in LEARNERS), *_PLUGINS.names()


def grouped_learners() -> tuple[Declarations, Declarations]:
    """The learners of the papers, the first to try first; and those of this program that they are compared with."""
    return OF_THE_PAPERS, tuple(learner for learner in LEARNERS if learner not in OF_THE_PAPERS)


def plugin_learners() -> Declarations:
    """The learners of plug-ins, which it imports."""
    return _PLUGINS.all()


def declared_learner(name: str, package: str = "") -> type[LearnerDeclaration]:
    """The declaration of the learner so named, which a metric has from the plug-in of ``package``.

    Raises:
        BadArguments: no such learner.
    """
    if found := known_learner(name):
        return found
    raise BadArguments(
        tr_lazy("There is no learner '{name}'.", name=name),
        missing_hint("learner", name, package)
        or tr_lazy("Learners: {names}.", names=", ".join(learner_names())),
    )


def known_learner(name: str) -> type[LearnerDeclaration] | None:
    """The declaration of the learner so named; ``None`` if this program has none, as where its plug-in is missing."""
    for learner in LEARNERS:
        if learner.name == name:
            return learner
    return _PLUGINS.get(name)


def learner_title(name: str) -> str:
    """The name on screen of the learner of a card, also of a metric refined by feedback; marked where this program does
    not have it."""
    known = known_learner(name)
    if name == CLICKS:
        return "Clicks"
    return tr_lazy("{name} (learner unknown)", name=name) if known is None else known.title


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
