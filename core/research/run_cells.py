"""Runs the cells that are not finished yet, several at once, and keeps each as it comes."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from semblance.core.engine import WorkerEnded
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.language import tr_lazy
from semblance.core.research.cells import Cell, experiment_cells, run_cell
from semblance.core.research.read_cases import read_cases
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from semblance.core.tasks import SILENT, Cancelled, Reporter

#: A cell whose worker was killed is tried so often.
_TRIES = 3
#: How often a wish to cancel is looked for.
_TICK_S = 0.2
#: Partial results may take this share of the time.
_TELLING = 0.05


class Work(Protocol):
    """A cell under way: :class:`semblance.core.engine.Task`, or one on a cluster."""

    @property
    def future(self) -> Any:
        """What has ``add_done_callback``."""

    def cancel(self) -> None:
        """Give it up if it has not begun."""

    def result(self) -> Any:
        """What it gave; raises what it raised, WorkerEnded where its worker was killed."""


class Runner(Protocol):
    """Where cells run: see :mod:`semblance.core.research.runners`."""

    @property
    def workers(self) -> int:
        """How many cells run at once."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Work:
        """Run ``function(*args)`` on a worker."""

    def share_file(self, file: Path) -> Any:
        """What a worker is given in place of ``file``."""


@dataclass
class ExperimentState:
    """Cells and their answers, as far as they are there; ``cases`` as :meth:`ExperimentStore.save_cases` keeps them."""

    spec: ExperimentSpec
    cells: list[Cell]
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
    """What a folder holds now, without measuring anything.

    Raises:
        BadInput: a description that cannot be read.
    """
    spec = store.spec
    cases = store.cases()
    prints = {place: one["fingerprint"] for place, one in enumerate(cases) if one["fingerprint"]}
    cells = experiment_cells(spec, prints)
    answers = {cell.id: answer for cell in cells if (answer := store.read_cell(cell.id)) is not None}
    return ExperimentState(spec, cells, answers, cases, found=len(answers))


def run_cells(
    store: ExperimentStore,
    runner: Runner,
    *,
    expected: Iterable[str] = (),
    again: bool = False,
    tell: Callable[[ExperimentState], None] = lambda _: None,
    reporter: Reporter = SILENT,
) -> ExperimentState:
    """Measure every cell that is not finished; ``again``: also those that failed.

    ``tell`` hears of results as they grow. ``expected``: fingerprints the cases must have, in their order.
    A wish to stop early ends the run with the cells done.

    Raises:
        BadInput: no cases can be used, or they are not those expected.
        Cancelled: asked for by the reporter; finished cells stay.
    """
    spec = store.spec
    with store.work() as folder:
        contents, cases = _read(spec, folder, reporter)
        _compare(list(expected), cases)
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
        given = {place: runner.share_file(file) for place, file in contents.items()}
        _measure(store, runner, state, given, tell, reporter)
    return state


def _read(
    spec: ExperimentSpec, folder: Path, reporter: Reporter
) -> tuple[dict[int, Path], list[dict[str, Any]]]:
    """Files of the cases that can be used, by their place, and what is known of all."""
    attributes = sorted({name for one in spec.protocols for name in protocol_class(one.protocol).attributes})
    contents: dict[int, Path] = {}
    known: list[dict[str, Any]] = []
    names: list[str] = []
    for place, one in enumerate(spec.cases):
        # Tables of one name in two folders are two tables.
        before = sum(other.name == one.name for other in spec.cases[:place])
        names.append(f"{one.name} ({before + 1})" if before else one.name)
        reporter.check_cancelled()
        reporter.progress(place, len(spec.cases), "Reading cases")
        try:
            cases = read_cases(one, attributes, spec.seed)
        except BadArguments:
            raise
        except BadInput as problem:
            known.append(
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
        contents[place].write_bytes(cases.to_bytes())
        data = cases.data
        known.append(
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
            "None of the cases can be used.", tr_lazy("The first said: {known}", known=known[0]["problem"])
        )
    return contents, known


def _compare(expected: list[str], cases: list[dict[str, Any]]) -> None:
    for wanted, one in zip(expected, cases, strict=False):
        if wanted and one["fingerprint"] != wanted:
            raise BadInput(
                tr_lazy("'{one}' does not hold the cases that were measured before.", one=one["name"]),
                "Give the files the experiment was made with; other cases give other numbers.",
            )


def _measure(
    store: ExperimentStore,
    runner: Runner,
    state: ExperimentState,
    given: dict[int, Any],
    tell: Callable[[ExperimentState], None],
    reporter: Reporter,
) -> None:
    waiting = _Waiting([cell for cell in state.cells if cell.id not in state.answers])
    total, tries = len(state.cells), dict.fromkeys((cell.id for cell in state.cells), 0)
    under_way: dict[int, tuple[Cell, Work]] = {}
    over: queue.SimpleQueue[int] = queue.SimpleQueue()
    number, next_telling = 0, 0.0
    tell(state)
    try:
        while under_way or (waiting and not reporter.stop_requested):
            # One more than there are workers waits at their door, so that none is idle.
            while waiting and len(under_way) < 2 * runner.workers and not reporter.stop_requested:
                cell = waiting.pop()
                number += 1
                task = runner.submit(run_cell, cell, state.spec, given[cell.cases])
                under_way[number] = cell, task
                task.future.add_done_callback(_notify(over, number))
            reporter.check_cancelled()
            reporter.progress(state.done, total, "Measuring")
            with contextlib.suppress(queue.Empty):
                cell, task = under_way.pop(over.get(timeout=_TICK_S))
                tries[cell.id] += 1
                try:
                    answer = task.result()
                except WorkerEnded as problem:
                    if tries[cell.id] < _TRIES:
                        waiting.put_back(cell)
                        continue
                    answer = {"id": cell.id, "repeat": cell.repeat, "failed": str(problem), "splits": []}
                    answer |= {"params": {}, "versions": {}, "cpu_seconds": 0.0}
                store.save_cell(cell.id, answer)
                state.answers[cell.id] = answer
                state.ran += 1
                waiting.learn(cell, answer["cpu_seconds"])
            if time.monotonic() >= next_telling:
                begin = time.monotonic()
                tell(state)
                next_telling = time.monotonic() + max(0.5, (time.monotonic() - begin) / _TELLING)
    except (Cancelled, KeyboardInterrupt, SemblanceError):
        for _, task in under_way.values():
            task.cancel()
        raise
    reporter.progress(state.done, total, "Measuring")
    tell(state)


def _notify(over: queue.SimpleQueue[int], number: int) -> Callable[[Any], None]:
    return lambda _: over.put(number)


class _Waiting:
    """Cells not begun: repeat by repeat, and inside a repeat the slowest learners first."""

    def __init__(self, cells: list[Cell]) -> None:
        self._cells = cells
        self._seconds: dict[tuple[int, int, int, int], float] = {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def pop(self) -> Cell:
        # What takes long and begins last would leave the other workers with nothing to do.
        first = min(self._cells, key=lambda cell: (cell.repeat, -self._seconds.get(cell.row, 0.0)))
        self._cells.remove(first)
        return first

    def put_back(self, cell: Cell) -> None:
        self._cells.insert(0, cell)

    def learn(self, cell: Cell, seconds: float) -> None:
        self._seconds[cell.row] = seconds
