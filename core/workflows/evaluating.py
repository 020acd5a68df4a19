"""Score learners by a protocol on a library or a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import BadArguments
from core.evaluation.builtin_tables import builtin_table
from core.evaluation.data import EvaluationData, prepare
from core.evaluation.findings_map import parse_findings_map
from core.evaluation.protocols.protocol import LearnerSpec
from core.evaluation.protocols.registry import get_protocol
from core.library import open_library
from core.library.importers.tables_csv import read_table
from core.metrics.registry import learner_class
from core.metrics.steps.sequence import default_steps, parse_steps
from core.parameters import Value, parse_settings
from core.tasks import SILENT, Reporter
from core.workflows.training import library_data

BUILTIN = "builtin:"


@dataclass(frozen=True)
class EvaluateRequest:
    """What to score, as on the command line; exactly one of ``library`` and ``table``."""

    learners: tuple[str, ...]
    protocol: str
    library: Path | None = None
    table: str | None = None
    features: str | None = None
    steps: str = ""
    findings: str = ""
    max_cases: int | None = None
    settings: tuple[str, ...] = ()
    repeats: int | None = None
    seed: int = 0


def evaluate(request: EvaluateRequest, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Run the protocol; the result has the shape of CONTRACT.md, "evaluate".

    Raises:
        BadArguments: unknown names, or not exactly one of library and table.
        BadInput: data the protocol cannot use.
        Cancelled: asked for by the reporter.
    """
    if (request.library is None) == (request.table is None):
        raise BadArguments("Say what to evaluate.", "Give either a library or --table.")
    protocol = get_protocol(request.protocol)
    specs = _specs(request)
    reporter.progress(0, None, "Reading")
    data, extractor, left_out = _data(request)
    renamed = parse_findings_map(request.findings) if request.findings else None
    data = prepare(data, findings=renamed, max_cases=request.max_cases, seed=request.seed)
    steps = parse_steps(request.steps) if request.steps else default_steps(extractor)
    result = protocol.run(
        data, specs, steps=steps, repeats=request.repeats, seed=request.seed, reporter=reporter
    )
    document = result.to_json()
    if left_out:
        document["source"]["left_out"] = left_out
    return document


def _specs(request: EvaluateRequest) -> list[LearnerSpec]:
    if not request.learners:
        raise BadArguments("No learner is named.", "Use --learner euclidean,bdm_v, for example.")
    own: dict[str, list[str]] = {name: [] for name in request.learners}
    for text in request.settings:
        name, dot, rest = text.partition(".")
        if not dot or name not in own:
            raise BadArguments(
                f"'{text}' does not name one of the learners.",
                "Write NAME.key=value with a learner evaluated.",
            )
        own[name].append(rest)
    specs = []
    for name, texts in own.items():
        values: dict[str, Value] = parse_settings(name, learner_class(name).parameters, texts)
        specs.append(LearnerSpec(name, values))
    return specs


def _data(request: EvaluateRequest) -> tuple[EvaluationData, str, list[dict[str, str]]]:
    """The cases, the extractor whose default steps suit them, and the rows that could not be used."""
    if request.library is not None:
        with open_library(request.library) as opened:
            feature_set = opened.features.get(request.features)
            return library_data(opened, feature_set), feature_set.extractor, []
    assert request.table is not None
    if request.table.startswith(BUILTIN):
        return builtin_table(request.table.removeprefix(BUILTIN)), "raw", []
    path = Path(request.table)
    table = read_table(path)
    patients = table.patient_ids
    return (
        EvaluationData(
            table.X,
            np.array([finding or "" for finding in table.findings], dtype=np.str_),
            None if patients is None else np.array([p or "" for p in patients], dtype=np.str_),
            tuple(table.columns),
            source=str(path),
        ),
        "raw",
        [{"row": str(row.line), "reason": row.reason} for row in table.failed],
    )
