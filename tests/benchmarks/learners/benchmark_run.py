"""The plan of the benchmark, and the run that measures it part by part."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import builtin_table
from semblance.core.evaluation.splits import hold_out
from tests.benchmarks.csv_files import Table
from tests.benchmarks.learners import accuracy, machine_facts, tables
from tests.benchmarks.learners.csv_tables import csv_tables
from tests.benchmarks.learners.peers_environment import PeersUnavailable, peers_python
from tests.benchmarks.learners.references import EUCLIDEAN_CLAIMS, EuclideanClaim, Reference, references
from tests.benchmarks.learners.tables import TimingTable
from tests.benchmarks.learners.timing import ROUNDS, time_fits
from tests.benchmarks.learners.variants import Variant, own_variants, peer_variants
from tests.benchmarks.learners.workers import workers
from tests.helpers import data as real_data

_EUCLIDEAN_ROUNDS = 10


class MissingRequirement(Exception):
    """The run needs something that is missing. The text says what."""


@dataclass(frozen=True)
class Plan:
    """The variants, tables, reference values and claims that are measured."""

    variants: Sequence[Variant]
    timing_tables: dict[str, Callable[[], TimingTable]]
    references: Sequence[Reference]
    claims: Sequence[EuclideanClaim]
    load_table: Callable[[str, int | None], EvaluationData]
    peers: bool = True
    timing_rounds: int = ROUNDS
    claim_rounds: int = _EUCLIDEAN_ROUNDS


def full_plan() -> Plan:
    """The complete benchmark.

    Raises:
        MissingRequirement: the real data is missing.
    """
    folder = real_data.folder()
    if folder is None:
        raise MissingRequirement(real_data.REASON)

    def table(name: str) -> Callable[[], TimingTable]:
        return lambda: tables.timing_table(folder, name)

    return Plan(
        variants=[*peer_variants(), *own_variants()],
        timing_tables={name: table(name) for name in tables.NAMES},
        references=references(),
        claims=EUCLIDEAN_CLAIMS,
        load_table=lambda name, cases: accuracy.load_table(folder, name, cases),
    )


def quick_plan() -> Plan:
    """One small table, a few quick learners and no peers."""

    def table() -> TimingTable:
        data = builtin_table("iris")
        return tables.standardised_table("iris", data.X, data.y, hold_out(data.y.tolist(), None, 0))

    known = [one for one in references() if one.table == "iris"]
    claims = [
        EuclideanClaim(one.title, one.protocol, one.learner, one.score, ("builtin:iris",))
        for one in EUCLIDEAN_CLAIMS
        if one.protocol == "bdm"
    ]
    named = {"euclidean", "bdm", "NCA"}
    return Plan(
        variants=[one for one in [*peer_variants(), *own_variants()] if one.learner in named],
        timing_tables={"iris": table},
        references=[accuracy.with_rounds(one, 2) for one in known[:1]],
        claims=claims,
        load_table=lambda name, cases: accuracy.load_table(Path(), "builtin:iris", cases),
        peers=False,
        timing_rounds=1,
        claim_rounds=2,
    )


class BenchmarkRun:
    """Measures a plan. ``results`` has the new results and those of earlier runs."""

    def __init__(self, plan: Plan, results: dict[str, Any]) -> None:
        self.plan, self.results = plan, results

    def run(self, only: Sequence[str]) -> Iterator[None]:
        """Measure the parts ``only``. Yields after each piece, so that the caller can save the results.

        Raises:
            MissingRequirement: the environment of the peers cannot be installed.
        """
        self.results["machine"] = machine_facts.machine_facts()
        yield from self._time_tables(self._selected_names(only, "speed", list(self.plan.timing_tables)))
        with threadpool_limits(limits=1, user_api="blas"):
            selected = self._selected_names(only, "accuracy", [one.protocol for one in self.plan.references])
            for reference in self.plan.references:
                if reference.protocol in selected:
                    start = time.perf_counter()
                    data = self.plan.load_table(reference.table, reference.cases)
                    result = accuracy.measure_reference(reference, data)
                    self.results.setdefault("accuracy", {})[reference.key] = result
                    _log(f"{reference.key}: {time.perf_counter() - start:.0f} s")
                    yield
            for claim in self.plan.claims if self._selected_names(only, "euclidean", ["all"]) else ():
                for table in claim.tables:
                    data = self.plan.load_table(table, None)
                    result = accuracy.compare_with_euclidean(claim, table, data, self.plan.claim_rounds)
                    self.results.setdefault("euclidean", {})[f"{claim.learner}, {table}"] = result
                    _log(f"{claim.title} against Euclidean, {table}")
                    yield

    def csv_tables(self) -> dict[str, Table]:
        """The tables of what was measured so far, by the name of their file."""
        plan = self.plan
        speed = self.results.get("speed", {})
        # Parts may have been measured in any order.
        ordered = {name: speed[name] for name in plan.timing_tables if name in speed}
        return csv_tables({**self.results, "speed": ordered}, plan.variants, plan.references, plan.claims)

    def _time_tables(self, selected: Sequence[str]) -> Iterator[None]:
        if not selected:
            return
        try:
            python = peers_python() if self.plan.peers else None
        except PeersUnavailable as problem:
            raise MissingRequirement(f"The peers cannot be set up: {problem}") from problem
        for name in selected:
            table = self.plan.timing_tables[name]()
            start = time.perf_counter()
            with workers(python) as open_workers:
                rows = time_fits(table, self.plan.variants, open_workers, self.plan.timing_rounds)
            self.results.setdefault("speed", {})[name] = {"size": table.size, "rows": rows}
            _log(f"fits on {name}: {time.perf_counter() - start:.0f} s")
            yield

    @staticmethod
    def _selected_names(only: Sequence[str], part: str, names: list[str]) -> list[str]:
        """The ``names`` that are in ``only`` as "part" or "part:name"."""
        if part in only:
            return list(dict.fromkeys(names))
        return [name for name in dict.fromkeys(names) if f"{part}:{name}" in only]


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
