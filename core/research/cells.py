"""One cell of an experiment: one learner, on one kind of cases, by one protocol, in one repeat."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.protocols.plan import FAILURES
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.registry import get_protocol
from semblance.core.evaluation.protocols.runner import PLAIN, failure_text, fit_and_measure, repeat_seed
from semblance.core.evaluation.result import Measured, Queries, number_or_none
from semblance.core.evaluation.roc import Roc, average
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value
from semblance.core.research.cases import ExperimentCases, transfer_split
from semblance.core.research.selection import choose, inner_split_seed
from semblance.core.research.spec import ExperimentSpec, LearnerChoice, ProtocolChoice
from semblance.core.tasks import SILENT, PartReporter, Reporter
from semblance.core.threads import one_thread

if TYPE_CHECKING:
    from semblance.core.evaluation.protocols.plan import Plan
    from semblance.core.evaluation.protocols.protocol import Protocol
    from semblance.core.metrics.training import TrainingPoint

#: Number of cases that a worker caches between cells.
_CACHED = 2


@dataclass(frozen=True)
class ExperimentCell:
    """``cases``, ``steps``, ``learner`` and ``protocol`` are indices into the experiment's lists.

    ``id`` is a hash of everything that determines the numbers, including the cases: equal ids mean equal numbers.
    """

    id: str
    cases: int
    steps: int
    learner: int
    protocol: int
    repeat: int

    @property
    def row(self) -> tuple[int, int, int, int]:
        """The cell without its repeat: protocol, cases, steps, learner."""
        return self.protocol, self.cases, self.steps, self.learner


def experiment_cells(spec: ExperimentSpec, fingerprints: Mapping[int, str]) -> list[ExperimentCell]:
    """All cells of the cases in ``fingerprints`` (by index), ordered by repeat."""
    variants = spec.variants()
    found = []
    max_repeats = max(choice.n_repeats for choice in spec.protocols)
    for repeat in range(max_repeats):
        for protocol, chosen in enumerate(spec.protocols):
            for place, fingerprint in fingerprints.items():
                for steps, text in enumerate(spec.steps):
                    for learner, variant in enumerate(variants):
                        if repeat < chosen.n_repeats:
                            decisive = (fingerprint, text, variant, chosen, spec, repeat)
                            found.append(
                                ExperimentCell(_cell_id(*decisive), place, steps, learner, protocol, repeat)
                            )
    return found


def _cell_id(
    fingerprint: str,
    steps: str,
    learner: LearnerChoice,
    protocol: ProtocolChoice,
    spec: ExperimentSpec,
    repeat: int,
) -> str:
    selection = [spec.select_by, spec.inner_folds] if learner.grid else []
    decisive = [
        fingerprint,
        steps,
        {**learner.to_json(), "select": ""},
        protocol.protocol,
        dict(protocol.settings),
        spec.seed,
        selection,
        repeat,
    ]
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:32]


def run_cell(
    cell: ExperimentCell, spec: ExperimentSpec, content: bytes | Path, *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Measure one cell on the cases in ``content`` (:meth:`Cases.to_bytes`, or a file of that).

    For a learner that cannot be fitted or measured, ``failed`` is the reason. :func:`measured_splits` reads the rest
    of the answer. The numbers do not depend on what ran before in the process.

    Raises:
        BadArguments: an invalid setting.
    """
    from semblance.core.metrics.training import versions

    started = time.thread_time()
    choice, learner = spec.protocols[cell.protocol], spec.variants()[cell.learner]
    out: dict[str, Any] = {
        "id": cell.id,
        "repeat": cell.repeat,
        "params": {},
        "failed": None,
        "splits": [],
        "versions": versions(),
    }
    with one_thread():
        try:
            cases = _cases(content)
            protocol = get_protocol(choice.protocol, **choice.settings)
            plan = _plan(protocol, cases, spec.seed, learner.learner, cell.repeat)
            out["rule"], out["source"] = plan.rule, plan.reported.source_json()
            first_place = 0 if cases.train is not None else cell.repeat * plan.per_repeat
            for place in range(first_place, first_place + plan.per_repeat):
                seed_index = cell.repeat if cases.train is not None else place
                out["splits"].append(
                    _measure_split(cell, spec, protocol, plan, cases, place, seed_index, reporter)
                )
            out["params"] = out["splits"][0]["params"]
        except BadArguments:
            raise
        except FAILURES as problem:
            out |= {"failed": failure_text(problem), "splits": []}
    out["cpu_seconds"] = time.thread_time() - started
    return out


def _plan(protocol: Protocol, cases: ExperimentCases, seed: int, learner: str, repeat: int) -> Plan:
    """The plan of the protocol up to this repeat; with two sides their split instead."""
    plan = protocol.plan(cases.data, repeat + 1, seed, [learner])
    if cases.train is None:
        return plan
    if plan.triplets is not None or len(plan.splits[0].validation):
        raise BadInput(
            tr_lazy(
                "The protocol {protocol} cannot train on one table and test on another.",
                protocol=protocol.name,
            ),
            "Use another protocol, 'full' for example.",
        )
    split = transfer_split(cases, repeat_seed(seed, repeat))
    return replace(plan, splits=(split,), rule=tr_lazy("trained on one, tested on the other"), per_repeat=1)


def _measure_split(
    cell: ExperimentCell,
    spec: ExperimentSpec,
    protocol: Protocol,
    plan: Plan,
    cases: ExperimentCases,
    place: int,
    seed_index: int,
    reporter: Reporter,
) -> dict[str, Any]:
    from semblance.core.metrics.registry import make_learner
    from semblance.core.metrics.steps.sequence import chosen_steps, steps_text

    reporter.check_cancelled()
    choice = spec.variants()[cell.learner]
    baseline = choice.learner if choice.learner in plan.baselines else None
    name = PLAIN if baseline else choice.learner
    steps = () if baseline else chosen_steps(spec.steps[cell.steps], cases.extractor, cases.data.made_by)
    prepared = plan.prepared(place, steps, baseline)
    seed = repeat_seed(spec.seed, seed_index)

    def with_paper_params(params: Mapping[str, Value]) -> Mapping[str, Value]:
        return protocol.as_in_the_paper(LearnerSpec(choice.learner, params)).params

    chosen, means = choose(
        lambda params: make_learner(name, random_state=seed, **with_paper_params(params)),
        choice.combinations,
        prepared.data,
        prepared.split.train,
        steps,
        criterion=spec.select_by,
        inner_folds=spec.inner_folds,
        seed=inner_split_seed(spec.seed, seed_index),
        reporter=reporter,
    )
    learner = make_learner(name, random_state=seed, **with_paper_params(chosen))
    recorder = _CurveRecorder(reporter)
    measured, seconds = fit_and_measure(learner, prepared, plan.measure, recorder, lambda: recorder.points)
    return {
        **_to_json(measured),
        "params": learner.method_params(),
        "chosen": {key: chosen[key] for key in choice.grid},
        "inner": means if choice.grid else [],
        "steps": steps_text(steps),
        "train": len(prepared.split.train),
        "test": len(prepared.split.test),
        "by_patient": plan.reported.by_patient,
        "fit_seconds": seconds,
    }


class _CurveRecorder(PartReporter):
    """Records the training curve of a fit. Requests to stop early are not passed to the learner."""

    def __init__(self, reporter: Reporter) -> None:
        super().__init__(reporter, stops_early=False)
        self.points: list[TrainingPoint] = []

    def partial(self, result: object) -> None:
        from semblance.core.metrics.training import TrainingPoint

        if isinstance(result, TrainingPoint):
            self.points.append(result)


def _to_json(measured: Measured) -> dict[str, Any]:
    queries = measured.queries
    return {
        "scores": {name: number_or_none(value) for name, value in measured.scores.items()},
        "curves": {name: _numbers(curve) for name, curve in measured.curves.items()},
        "rocs": {
            finding: {"fpr": curve.fpr.tolist(), "tpr": curve.tpr.tolist()}
            for finding, curve in ((finding, average([curve])) for finding, curve in measured.rocs.items())
        },
        "intervals": {
            name: {method: list(ends) for method, ends in methods.items()}
            for name, methods in measured.intervals.items()
        },
        "queries": None
        if queries is None
        else {"score": queries.score, "rows": queries.rows.tolist(), "values": _numbers(queries.values)},
    }


def measured_splits(answer: Mapping[str, Any]) -> list[Measured]:
    """The scores of each split, from an answer of :func:`run_cell`."""
    found = []
    for split in answer["splits"]:
        queries = split["queries"]
        found.append(
            Measured(
                {name: _number(value) for name, value in split["scores"].items()},
                {name: _vector(values) for name, values in split["curves"].items()},
                {
                    finding: Roc(_vector(curve["fpr"]), _vector(curve["tpr"]))
                    for finding, curve in split["rocs"].items()
                },
                {
                    name: {method: (float(ends[0]), float(ends[1])) for method, ends in methods.items()}
                    for name, methods in split["intervals"].items()
                },
                None
                if queries is None
                else Queries(
                    queries["score"], np.array(queries["rows"], dtype=np.intp), _vector(queries["values"])
                ),
            )
        )
    return found


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [number_or_none(float(value)) for value in values]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _vector(values: Sequence[float | None]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([_number(value) for value in values], dtype=np.float64)


_cache: OrderedDict[str, ExperimentCases] = OrderedDict()
_read_lock = threading.Lock()


def _cases(content: bytes | Path) -> ExperimentCases:
    """Read cases. They are cached between the cells of a process, which may have several threads."""
    with _read_lock:
        return _read_cached(content)


def _read_cached(content: bytes | Path) -> ExperimentCases:
    content_bytes = content if isinstance(content, bytes) else None
    key = str(content) if content_bytes is None else hashlib.sha256(content_bytes).hexdigest()
    if key not in _cache:
        _cache[key] = ExperimentCases.from_bytes(
            Path(str(content)).read_bytes() if content_bytes is None else content_bytes
        )
        while len(_cache) > _CACHED:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return _cache[key]
