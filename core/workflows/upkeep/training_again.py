"""How a metric that was lost is made again, as a command."""

from __future__ import annotations

import shlex

from core.errors import BadArguments
from core.library.records import MetricRecord
from core.metrics.registry import learner_class


def training_command(record: MetricRecord, features: str = "") -> str:
    """The command that trains the metric of ``record`` as it was trained, on what the library holds now.

    ``features``: its feature set, where the library has several. Empty for a metric no command makes: one
    refined by clicks, or by a learner this version does not know.
    """
    try:
        learner = learner_class(record.learner)
    except BadArguments:
        return ""
    card = record.card
    words = ["--learner", record.learner, "--name", record.name]
    if features:
        words += ["--features", features]
    had = card.get("parameters") or {}
    for parameter in learner.parameters:
        if parameter.name in had and had[parameter.name] != parameter.default:
            words += ["--set", f"{parameter.name}={had[parameter.name]}"]
    if seed := (card.get("split") or {}).get("seed"):
        words += ["--seed", str(seed)]
    if renamed := card.get("findings_map"):
        words += ["--findings", str(renamed)]
    for name, value in (card.get("asked") or {}).items():
        words += [f"--{name}", str(value)]
    return f"semblance train LIB {shlex.join(words)}"
