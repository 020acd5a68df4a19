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
from semblance.core.research.cases import Cases, whole_split
from semblance.core.research.selection import choose, inner_split_seed
from semblance.core.research.spec import ExperimentSpec, LearnerChoice, ProtocolChoice
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.evaluation.protocols.plan import Plan
    from semblance.core.evaluation.protocols.protocol import Protocol
    from semblance.core.metrics.training import TrainingPoint

#: Cases and splits a worker keeps between cells.
_KEPT = 2


@dataclass(frozen=True)
class Cell:
    """``cases``, ``steps``, ``learner`` and ``protocol`` are places in the experiment's lists.

    ``id`` is made of everything that decides the numbers, the cases' own included: equal ids, equal numbers.
    """

    id: str
    cases: int
    steps: int
    learner: int
    protocol: int
    repeat: int

    @property
    def row(self) -> tuple[int, int, int, int]:
        """What is repeated: protocol, cases, steps, learner."""
        return self.protocol, self.cases, self.steps, self.learner


def experiment_cells(spec: ExperimentSpec, fingerprints: Mapping[int, str]) -> list[Cell]:
    """All cells of the cases in ``fingerprints`` (by their place), repeat by repeat."""
    variants = spec.variants()
    found = []
    most = max(choice.n_repeats for choice in spec.protocols)
    for repeat in range(most):
        for protocol, chosen in enumerate(spec.protocols):
            for place, fingerprint in fingerprints.items():
                for steps, text in enumerate(spec.steps):
                    for learner, variant in enumerate(variants):
                        if repeat < chosen.n_repeats:
                            decides = (fingerprint, text, variant, chosen, spec, repeat)
                            found.append(Cell(_cell_id(*decides), place, steps, learner, protocol, repeat))
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
    decides = [
        fingerprint,
        steps,
        {**learner.to_json(), "select": ""},
        protocol.protocol,
        dict(protocol.settings),
        spec.seed,
        selection,
        repeat,
    ]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]


def run_cell(
    cell: Cell, spec: ExperimentSpec, content: bytes | Path, *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Measure one cell on the cases in ``content`` (:meth:`Cases.to_bytes`, or a file of that).

    A learner that cannot be fitted or measured gives ``failed`` with the reason in words; the rest of the
    answer is what :func:`measured_splits` reads. Whatever ran before in the process changes no number.

    Raises:
        BadArguments: a setting that is refused.
        Cancelled: asked for by the reporter.
    """
    from threadpoolctl import threadpool_limits

    from semblance.core.metrics.training import versions

    begin = time.thread_time()
    choice, learner = spec.protocols[cell.protocol], spec.variants()[cell.learner]
    out: dict[str, Any] = {
        "id": cell.id,
        "repeat": cell.repeat,
        "params": {},
        "failed": None,
        "splits": [],
        "versions": versions(),
    }
    with threadpool_limits(limits=1):
        try:
            cases = _cases(content)
            protocol = get_protocol(choice.protocol, **choice.settings)
            plan = _plan(protocol, cases, spec.seed, learner.learner, cell.repeat)
            out["rule"], out["source"] = plan.rule, plan.reported.source_json()
            first = 0 if cases.train is not None else cell.repeat * plan.per_repeat
            for place in range(first, first + plan.per_repeat):
                seeded = cell.repeat if cases.train is not None else place
                out["splits"].append(_measured(cell, spec, protocol, plan, cases, place, seeded, reporter))
            out["params"] = out["splits"][0]["params"]
        except BadArguments:
            raise
        except FAILURES as problem:
            out |= {"failed": failure_text(problem), "splits": []}
    out["cpu_seconds"] = time.thread_time() - begin
    return out


def _plan(protocol: Protocol, cases: Cases, seed: int, learner: str, repeat: int) -> Plan:
    """The protocol's splits up to this repeat; where two sides are given, these instead."""
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
    split = whole_split(cases, repeat_seed(seed, repeat))
    return replace(plan, splits=(split,), rule=tr_lazy("trained on one, tested on the other"), per_repeat=1)


def _measured(
    cell: Cell,
    spec: ExperimentSpec,
    protocol: Protocol,
    plan: Plan,
    cases: Cases,
    place: int,
    seeded: int,
    reporter: Reporter,
) -> dict[str, Any]:
    from semblance.core.metrics.registry import make_learner
    from semblance.core.metrics.steps.extractor_steps import chosen_steps
    from semblance.core.metrics.steps.sequence import steps_text

    reporter.check_cancelled()
    choice = spec.variants()[cell.learner]
    baseline = choice.learner if choice.learner in plan.baselines else None
    name = PLAIN if baseline else choice.learner
    steps = () if baseline else chosen_steps(spec.steps[cell.steps], cases.extractor)
    prepared = plan.prepared(place, steps, baseline)
    seed = repeat_seed(spec.seed, seeded)

    def as_written(params: Mapping[str, Value]) -> Mapping[str, Value]:
        return protocol.as_in_the_paper(LearnerSpec(choice.learner, params)).params

    chosen, means = choose(
        lambda params: make_learner(name, random_state=seed, **as_written(params)),
        choice.combinations,
        prepared.data,
        prepared.split.train,
        steps,
        criterion=spec.select_by,
        inner_folds=spec.inner_folds,
        seed=inner_split_seed(spec.seed, seeded),
        reporter=reporter,
    )
    learner = make_learner(name, random_state=seed, **as_written(chosen))
    news = _Points(reporter)
    measured, seconds = fit_and_measure(learner, prepared, plan.measure, news, lambda: news.points)
    return {
        **_written(measured),
        "params": {key: value for key, value in learner.get_params().items() if key != "random_state"},
        "chosen": {key: chosen[key] for key in choice.grid},
        "inner": means if choice.grid else [],
        "steps": steps_text(steps),
        "train": len(prepared.split.train),
        "test": len(prepared.split.test),
        "by_patient": plan.reported.by_patient,
        "fit_seconds": seconds,
    }


class _Points(Reporter):
    """Keeps the training curve of a fit; a wish to stop early is not the learner's to hear."""

    def __init__(self, whole: Reporter) -> None:
        self._whole = whole
        self.points: list[TrainingPoint] = []

    def partial(self, result: object) -> None:
        from semblance.core.metrics.training import TrainingPoint

        if isinstance(result, TrainingPoint):
            self.points.append(result)

    def check_cancelled(self) -> None:
        self._whole.check_cancelled()


def _written(measured: Measured) -> dict[str, Any]:
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
    """What :func:`run_cell` measured on each split, read back from its answer."""
    found = []
    for split in answer["splits"]:
        asked = split["queries"]
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
                if asked is None
                else Queries(
                    asked["score"], np.array(asked["rows"], dtype=np.intp), _vector(asked["values"])
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


_read: OrderedDict[str, Cases] = OrderedDict()
_reading = threading.Lock()


def _cases(content: bytes | Path) -> Cases:
    """The cases of a file are kept between cells of one process, whose threads may all measure."""
    with _reading:
        return _kept(content)


def _kept(content: bytes | Path) -> Cases:
    sent = content if isinstance(content, bytes) else None
    key = str(content) if sent is None else hashlib.sha256(sent).hexdigest()
    if key not in _read:
        _read[key] = Cases.from_bytes(Path(str(content)).read_bytes() if sent is None else sent)
        while len(_read) > _KEPT:
            _read.popitem(last=False)
    _read.move_to_end(key)
    return _read[key]
