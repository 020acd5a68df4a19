"""Run the unfinished cells of an experiment in parallel, and save each when it is finished."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from semblance.core.engine import WorkerEnded
from semblance.core.engine.cluster import SharedDataLost
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.files import write_file
from semblance.core.language import tr_lazy
from semblance.core.research.cells import ExperimentCell, experiment_cells, run_cell
from semblance.core.research.read_cases import read_cases
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from semblance.core.tasks import SILENT, Cancelled, Reporter

#: Number of attempts for a cell whose worker was killed.
_MAX_ATTEMPTS = 3
#: Interval of checks for cancelling.
_POLL_S = 0.2
#: Maximum share of the time for partial results.
_UPDATE_SHARE = 0.05


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
    """The cells and the answers so far; ``cases`` as in :meth:`ExperimentStore.save_cases`."""

    spec: ExperimentSpec
    cells: list[ExperimentCell]
    answers: dict[str, dict[str, Any]]
    cases: list[dict[str, Any]]
    ran: int = 0
    found: int = 0
    notes: list[str] = field(default_factory=list)

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
    return ExperimentState(spec, cells, answers, cases, found=len(answers))


def run_cells(
    store: ExperimentStore,
    runner: Runner,
    *,
    expected: Iterable[str] = (),
    again: bool = False,
    on_results: Callable[[ExperimentState], None] = lambda _: None,
    reporter: Reporter = SILENT,
) -> ExperimentState:
    """Measure every cell that is not finished; ``again``: also those that failed.

    ``on_results`` is called with the results so far. ``expected``: the fingerprints that the cases must have, in
    order. A request to stop early ends the run after the running cells.

    Raises:
        BadInput: no cases can be used, or they are not those expected.
        Cancelled: the reporter was cancelled; finished cells stay.
    """
    spec = store.spec
    with store.work() as folder:
        contents, cases = _read_cases(spec, folder, reporter)
        _check_fingerprints(list(expected), cases)
        store.save_cases(cases)
        state = ExperimentState(
            spec,
            experiment_cells(spec, {place: cases[place]["fingerprint"] for place in contents}),
            {},
            cases,
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
    spec: ExperimentSpec, folder: Path, reporter: Reporter
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
            cases = read_cases(one, attributes, spec.seed)
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
