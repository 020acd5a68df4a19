"""How a metric that was lost is made again, in words with the command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.records import MetricRecord
from semblance.core.metrics.registry import learner_class
from semblance.core.metrics.relevance_feedback.refined_metric import LEARNER as CLICKS
from semblance.core.workflows.metrics.slider_steps import slider_of
from semblance.core.workflows.metrics.train_request import ONLY_IN_WINDOW, REQUESTED

#: What was asked of a training that a command takes too.
_OPTIONS = ("steps", "max-cases", "judgements")


def retraining_advice(record: MetricRecord, features: str = "") -> str:
    """What a person does to get the metric of ``record`` back; ``features``: its feature set, where the
    library has several."""
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
    asked = record.card.get(REQUESTED)
    if not isinstance(asked, Mapping):
        return tr_lazy(
            "If it was imported, import its file again. Otherwise train it again with the "
            "settings on its card ({command}), or restore a backup. Its card and scores are kept.",
            command=command,
        )
    if ONLY_IN_WINDOW in asked:
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
    words = ["--learner", record.learner, "--name", record.name if slider is None else slider[0]]
    if slider is not None:
        words.append("--slider")
    if features:
        words += ["--features", features]
    had, asked = _part(card, "parameters"), _part(card, REQUESTED)
    for parameter in learner_class(record.learner).parameters:
        if parameter.name in had and had[parameter.name] != parameter.default:
            words += ["--set", f"{parameter.name}={had[parameter.name]}"]
    if seed := _part(card, "split").get("seed"):
        words += ["--seed", str(seed)]
    if renamed := card.get("findings_map"):
        words += ["--findings", str(renamed)]
    for option in _OPTIONS:
        if value := asked.get(option):
            words += [f"--{option}", str(value)]
    return f"semblance train LIB {shlex.join(words)}"


def _part(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a card; a card may come from anybody."""
    found = card.get(name)
    return found if isinstance(found, Mapping) else {}
