"""The cells of an experiment (a learner on some cases by a protocol in one repeat), run in parallel and saved."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from semblance.core.engine import WorkerEnded
from semblance.core.engine.cluster import SharedDataLost
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.protocols.protocol import (
    FAILURES,
    PLAIN,
    LearnerSpec,
    failure_text,
    fit_and_measure,
    repeat_seed,
)
from semblance.core.evaluation.protocols.registry import get_protocol, protocol_class
from semblance.core.evaluation.result import MeasuredScores, NamedSplit, QueryScores, number_or_none
from semblance.core.evaluation.roc import Roc, average
from semblance.core.files import write_file
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.parameters import Value
from semblance.core.research.cases import ExperimentCases, read_cases, transfer_split
from semblance.core.research.kept_queries import KEPT, KeptSplit, kept_to_bytes
from semblance.core.research.selection import choose_settings, inner_split_seed
from semblance.core.research.spec import ExperimentSpec, LearnerChoice, ProtocolChoice
from semblance.core.research.store import ExperimentStore
from semblance.core.tasks import SILENT, Cancelled, PartReporter, Reporter
from semblance.core.threads import one_thread

if TYPE_CHECKING:
    from semblance.core.evaluation.protocols.protocol import EvaluationPlan, EvaluationProtocol
    from semblance.core.metrics.training import TrainingPoint


#: Number of cases that a worker caches between cells.
_CACHED = 2

#: Number of attempts for a cell whose worker was killed.
_MAX_ATTEMPTS = 3
#: Interval of checks for cancelling.
_POLL_S = 0.2
#: Maximum share of the time for partial results.
_UPDATE_SHARE = 0.05


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
    max_repeats = max(spec.n_repeats(choice, one) for choice in spec.protocols for one in spec.cases)
    for repeat in range(max_repeats):
        for protocol, chosen in enumerate(spec.protocols):
            for place, fingerprint in fingerprints.items():
                for steps, text in enumerate(spec.steps):
                    for learner, variant in enumerate(variants):
                        if repeat < spec.n_repeats(chosen, spec.cases[place]):
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
            protocol.keeps_queries = spec.per_query
            if cases.given is not None:
                protocol.take_splits(cases.given)
            plan = _plan(protocol, cases, spec.seed, learner.learner, cell.repeat)
            out["rule"], out["source"] = plan.rule, plan.reported.source_json()
            first_place = 0 if cases.train is not None else cell.repeat * plan.per_repeat
            n_places = len(plan.splits) if cases.given is not None else plan.per_repeat
            kept = []
            for place in range(first_place, first_place + n_places):
                seed_index = cell.repeat if cases.train is not None else place
                measured, facts = _measure_split(
                    cell, spec, protocol, plan, cases, place, seed_index, reporter
                )
                out["splits"].append(facts)
                label = (str(cell.repeat + 1), "") if cases.train is not None else plan.label(place)
                kept.append(KeptSplit(NamedSplit(*label, plan.splits[place]), measured.records))
            out["params"] = out["splits"][0]["params"]
            if cases.given is not None:
                out["repeats"] = len({one.split.repeat for one in kept})
            out[KEPT] = kept_to_bytes(kept)
        except BadArguments:
            raise
        except FAILURES as problem:
            out |= {"failed": failure_text(problem), "splits": []}
    out["cpu_seconds"] = time.thread_time() - started
    return out


def _plan(
    protocol: EvaluationProtocol, cases: ExperimentCases, seed: int, learner: str, repeat: int
) -> EvaluationPlan:
    """The plan of the protocol up to this repeat; with two sides their split instead."""
    plan = protocol.plan(cases.data, None if cases.given is not None else repeat + 1, seed, [learner])
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
    protocol: EvaluationProtocol,
    plan: EvaluationPlan,
    cases: ExperimentCases,
    place: int,
    seed_index: int,
    reporter: Reporter,
) -> tuple[MeasuredScores, dict[str, Any]]:
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

    chosen, means = choose_settings(
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
    return measured, {
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


def _to_json(measured: MeasuredScores) -> dict[str, Any]:
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


def measured_splits(answer: Mapping[str, Any]) -> list[MeasuredScores]:
    """The scores of each split, from an answer of :func:`run_cell`."""
    found = []
    for split in answer["splits"]:
        queries = split["queries"]
        found.append(
            MeasuredScores(
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
                else QueryScores(
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


class CellTask(Protocol):
    """A cell that is running: :class:`semblance.core.engine.Task`, or one on a cluster."""

    @property
    def future(self) -> Any:
        """An object with ``add_done_callback``."""

    def cancel(self) -> None:
        """Cancel it if it has not started."""

    def result(self) -> Any:
        """Its result. It raises the exception of the cell, or WorkerEnded if its worker was killed."""


class Runner(Protocol):
    """Where cells run: see :func:`semblance.core.engine.cluster.open_engine`."""

    @property
    def workers(self) -> int:
        """Number of cells that run in parallel."""

    def submit(self, function: Callable[..., Any], *args: Any) -> CellTask:
        """Run ``function(*args)`` on a worker."""

    def share_file(self, file: Path) -> Any:
        """The argument for workers in place of ``file``."""


@dataclass
class ExperimentState:
    """The cells and the answers so far; ``cases`` as in :meth:`ExperimentStore.save_cases`. ``store``: where the splits
    and queries of the cells are kept."""

    spec: ExperimentSpec
    cells: list[ExperimentCell]
    answers: dict[str, dict[str, Any]]
    cases: list[dict[str, Any]]
    ran: int = 0
    found: int = 0
    notes: list[str] = field(default_factory=list)
    store: ExperimentStore | None = None

    @property
    def done(self) -> int:
        """Number of cells that have an answer."""
        return sum(cell.id in self.answers for cell in self.cells)


def read_state(store: ExperimentStore) -> ExperimentState:
    """Read the state of an experiment, without measuring anything.

    Raises:
        BadInput: a description that cannot be read.
    """
    spec = store.spec
    cases = store.cases()
    fingerprints = {place: one["fingerprint"] for place, one in enumerate(cases) if one["fingerprint"]}
    cells = experiment_cells(spec, fingerprints)
    answers = {cell.id: answer for cell in cells if (answer := store.read_cell(cell.id)) is not None}
    return ExperimentState(spec, cells, answers, cases, found=len(answers), store=store)


def run_cells(
    store: ExperimentStore,
    runner: Runner,
    *,
    expected: Iterable[str] = (),
    again: bool = False,
    on_results: Callable[[ExperimentState], None] = lambda _: None,
    known: LibraryLocation | None = None,
    reporter: Reporter = SILENT,
) -> ExperimentState:
    """Measure every cell that is not finished; ``again``: also those that failed.

    ``on_results`` is called with the results so far. ``expected``: the fingerprints that the cases must have, in
    order. ``known``: a library whose password the caller has. A request to stop early ends the run after the running
    cells.

    Raises:
        BadInput: no cases can be used, or they are not those expected.
        Cancelled: the reporter was cancelled; finished cells stay.
    """
    spec = store.spec
    with store.work() as folder:
        contents, cases = _read_cases(spec, folder, known, reporter)
        _check_fingerprints(list(expected), cases)
        store.save_cases(cases)
        state = ExperimentState(
            spec,
            experiment_cells(spec, {place: cases[place]["fingerprint"] for place in contents}),
            {},
            cases,
            store=store,
        )
        for cell in state.cells:
            answer = store.read_cell(cell.id)
            if answer is not None and not (again and answer["failed"]):
                state.answers[cell.id] = answer
        state.found = len(state.answers)
        if store.damaged:
            state.notes.append(
                tr_lazy(
                    "{damaged} finished cells were damaged and are measured again.", damaged=store.damaged
                )
            )
        _measure(store, runner, state, contents, on_results, reporter)
    return state


def _read_cases(
    spec: ExperimentSpec, folder: Path, known: LibraryLocation | None, reporter: Reporter
) -> tuple[dict[int, Path], list[dict[str, Any]]]:
    """The files of the cases that can be used, by index, and facts of all cases."""
    attributes = sorted({name for one in spec.protocols for name in protocol_class(one.protocol).attributes})
    contents: dict[int, Path] = {}
    case_facts: list[dict[str, Any]] = []
    names: list[str] = []
    for place, one in enumerate(spec.cases):
        # Tables with equal names in two folders are different tables.
        before = sum(other.name == one.name for other in spec.cases[:place])
        names.append(f"{one.name} ({before + 1})" if before else one.name)
        reporter.check_cancelled()
        reporter.progress(place, len(spec.cases), "Reading cases")
        try:
            cases = read_cases(one, attributes, spec.seed, known)
        except BadArguments:
            raise
        except BadInput as problem:
            case_facts.append(
                {
                    "name": names[place],
                    "fingerprint": "",
                    "problem": str(problem),
                    "source": None,
                    "notes": [],
                }
            )
            continue
        contents[place] = folder / f"{place}.npz"
        write_file(contents[place], cases.to_bytes(), durable=False)
        data = cases.data
        case_facts.append(
            {
                "name": names[place],
                "fingerprint": cases.fingerprint,
                "problem": "",
                "source": data.source_json(),
                "notes": list(cases.notes),
                "ids": None if data.case_ids is None else data.case_ids.tolist(),
                "rows": None if data.case_rows is None else data.case_rows.tolist(),
                "findings": data.y.tolist(),
            }
        )
    reporter.progress(len(spec.cases), len(spec.cases), "Reading cases")
    if not contents:
        raise BadInput(
            "None of the cases can be used.",
            tr_lazy("The first problem: {problem}", problem=case_facts[0]["problem"]),
        )
    return contents, case_facts


def _check_fingerprints(expected: list[str], cases: list[dict[str, Any]]) -> None:
    for fingerprint, one in zip(expected, cases, strict=False):
        if fingerprint and one["fingerprint"] != fingerprint:
            raise BadInput(
                tr_lazy("'{one}' does not hold the cases that were measured before.", one=one["name"]),
                "Give the files the experiment was made with; other cases give other numbers.",
            )


def _measure(
    store: ExperimentStore,
    runner: Runner,
    state: ExperimentState,
    contents: dict[int, Path],
    on_results: Callable[[ExperimentState], None],
    reporter: Reporter,
) -> None:
    pending = _CellQueue([cell for cell in state.cells if cell.id not in state.answers])
    total, attempts = len(state.cells), dict.fromkeys((cell.id for cell in state.cells), 0)
    running: dict[int, tuple[ExperimentCell, CellTask, Any]] = {}
    shared_files = {place: runner.share_file(file) for place, file in contents.items()}
    finished: queue.SimpleQueue[int] = queue.SimpleQueue()
    number, next_update = 0, 0.0
    on_results(state)
    try:
        while running or (pending and not reporter.stop_requested):
            # More cells than workers are submitted, so that no worker is idle.
            while pending and len(running) < 2 * runner.workers and not reporter.stop_requested:
                cell = pending.pop()
                number += 1
                shared = shared_files[cell.cases]
                task = runner.submit(run_cell, cell, state.spec, shared)
                running[number] = cell, task, shared
                task.future.add_done_callback(_notify(finished, number))
            reporter.check_cancelled()
            reporter.progress(state.done, total, "Measuring")
            with contextlib.suppress(queue.Empty):
                cell, task, shared = running.pop(finished.get(timeout=_POLL_S))
                attempts[cell.id] += 1
                try:
                    answer = task.result()
                except SharedDataLost:
                    # The cell is not the cause. All that lost the file get the one new copy.
                    if shared_files[cell.cases] is shared:
                        shared_files[cell.cases] = runner.share_file(contents[cell.cases])
                    attempts[cell.id] -= 1
                    pending.return_cell(cell)
                    continue
                except WorkerEnded as problem:
                    if attempts[cell.id] < _MAX_ATTEMPTS:
                        pending.return_cell(cell)
                        continue
                    answer = {"id": cell.id, "repeat": cell.repeat, "failed": str(problem), "splits": []}
                    answer |= {"params": {}, "versions": {}, "cpu_seconds": 0.0}
                store.save_kept(cell.id, answer.pop(KEPT, None))
                store.save_cell(cell.id, answer)
                state.answers[cell.id] = answer
                state.ran += 1
                pending.record_seconds(cell, answer["cpu_seconds"])
            if time.monotonic() >= next_update:
                started = time.monotonic()
                on_results(state)
                next_update = time.monotonic() + max(0.5, (time.monotonic() - started) / _UPDATE_SHARE)
    except (Cancelled, KeyboardInterrupt, SemblanceError):
        for _, task, _ in running.values():
            task.cancel()
        raise
    reporter.progress(state.done, total, "Measuring")
    on_results(state)


def _notify(finished: queue.SimpleQueue[int], number: int) -> Callable[[Any], None]:
    return lambda _: finished.put(number)


class _CellQueue:
    """The cells that have not started, ordered by repeat, and inside a repeat the slowest learners first."""

    def __init__(self, cells: list[ExperimentCell]) -> None:
        self._cells = cells
        self._seconds: dict[tuple[int, int, int, int], float] = {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def pop(self) -> ExperimentCell:
        # If a slow cell started last, the other workers would be idle.
        first = min(self._cells, key=lambda cell: (cell.repeat, -self._seconds.get(cell.row, 0.0)))
        self._cells.remove(first)
        return first

    def return_cell(self, cell: ExperimentCell) -> None:
        self._cells.insert(0, cell)

    def record_seconds(self, cell: ExperimentCell, seconds: float) -> None:
        self._seconds[cell.row] = seconds
