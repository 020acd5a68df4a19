"""Advice on how to train a lost metric again, with the command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.records import MetricRecord
from semblance.core.metrics.declarations import CLICKS
from semblance.core.metrics.registry import declared_learner
from semblance.core.workflows.metrics.slider_steps import slider_of
from semblance.core.workflows.metrics.train_request import ONLY_IN_WINDOW, REQUESTED

#: Options of a training request that the command has too.
_OPTIONS = ("steps", "max-cases", "judgements")


def retraining_advice(record: MetricRecord, features: str = "") -> str:
    """How to train the metric of ``record`` again; ``features``: its feature set, if the library has several."""
    if record.learner == CLICKS:
        return tr_lazy(
            "Restore a backup, or make it again from its judgements: save the metric of its search once "
            "more. Its card is kept."
        )
    try:
        command = _command(record, features)
    except BadArguments:
        return tr_lazy(
            "Restore a backup: this version has no learner '{learner}' to train it again with. Its card and "
            "scores are kept.",
            learner=record.learner,
        )
    requested = record.card.get(REQUESTED)
    if not isinstance(requested, Mapping):
        return tr_lazy(
            "If it was imported, import its file again. Otherwise train it again with the "
            "settings on its card ({command}), or restore a backup. Its card and scores are kept.",
            command=command,
        )
    if ONLY_IN_WINDOW in requested:
        return tr_lazy(
            "Train it again in the window, with the settings on its card, or restore a backup. Its card and "
            "scores are kept."
        )
    return tr_lazy(
        "Train it again ({command}), or restore a backup. Its card and scores are kept.", command=command
    )


def _command(record: MetricRecord, features: str) -> str:
    """The command that trains the metric, or the slider it is a step of.

    Raises:
        BadArguments: a learner this version does not know.
    """
    card = record.card
    slider = slider_of(card)
    arguments = ["--learner", record.learner, "--name", record.name if slider is None else slider[0]]
    if slider is not None:
        arguments.append("--slider")
    if features:
        arguments += ["--features", features]
    parameters, requested = _part(card, "parameters"), _part(card, REQUESTED)
    for parameter in declared_learner(record.learner).parameters:
        if parameter.name in parameters and parameters[parameter.name] != parameter.default:
            arguments += ["--set", f"{parameter.name}={parameters[parameter.name]}"]
    if seed := _part(card, "split").get("seed"):
        arguments += ["--seed", str(seed)]
    if findings_map := card.get("findings_map"):
        arguments += ["--findings", str(findings_map)]
    for option in _OPTIONS:
        if value := requested.get(option):
            arguments += [f"--{option}", str(value)]
    return f"semblance train LIB {shlex.join(arguments)}"


def _part(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a card, which may be missing or of another type in an imported card."""
    found = card.get(name)
    return found if isinstance(found, Mapping) else {}
