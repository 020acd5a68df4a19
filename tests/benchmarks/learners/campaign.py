"""What is measured, in which order, and the results as they grow."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import holdout
from tests.benchmarks.learners import accuracy, machine, tables
from tests.benchmarks.learners.contenders import Contender, own, peers
from tests.benchmarks.learners.environment import NoPeers, peers_python
from tests.benchmarks.learners.page import page
from tests.benchmarks.learners.race import ROUNDS, race
from tests.benchmarks.learners.references import AGAINST_EUCLIDEAN, AgainstEuclidean, Reference, references
from tests.benchmarks.learners.tables import RaceTable
from tests.benchmarks.learners.workers import workers
from tests.helpers import data as real_data

_EUCLIDEAN_ROUNDS = 10


class Missing(Exception):
    """Something the run needs is not there; the text says what."""


@dataclass(frozen=True)
class Plan:
    """Who races on what, and which claims are checked."""

    contenders: Sequence[Contender]
    race_tables: dict[str, Callable[[], RaceTable]]
    references: Sequence[Reference]
    claims: Sequence[AgainstEuclidean]
    table_of: Callable[[str, int | None], EvaluationData]
    peers: bool = True
    race_rounds: int = ROUNDS
    claim_rounds: int = _EUCLIDEAN_ROUNDS


def full() -> Plan:
    """Everything.

    Raises:
        Missing: the real data.
    """
    folder = real_data.folder()
    if folder is None:
        raise Missing(real_data.REASON)

    def table(name: str) -> Callable[[], RaceTable]:
        return lambda: tables.race_table(folder, name)

    return Plan(
        contenders=[*peers(), *own()],
        race_tables={name: table(name) for name in tables.NAMES},
        references=references(),
        claims=AGAINST_EUCLIDEAN,
        table_of=lambda name, cases: accuracy.table_of(folder, name, cases),
    )


def quick() -> Plan:
    """One small table, a few learners, no peers."""

    def table() -> RaceTable:
        data = builtin_table("iris")
        return tables.prepared("iris", data.X, data.y, holdout(data.y.tolist(), None, 0))

    known = [one for one in references() if one.table == "iris"]
    claims = [
        AgainstEuclidean(one.title, one.protocol, one.learner, one.score, ("builtin:iris",))
        for one in AGAINST_EUCLIDEAN
    ]
    named = {"euclidean", "bdm", "NCA"}
    return Plan(
        contenders=[one for one in [*peers(), *own()] if one.learner in named],
        race_tables={"iris": table},
        references=[accuracy.shortened(one, 2) for one in known[:1]],
        claims=claims,
        table_of=lambda name, cases: accuracy.table_of(Path(), "builtin:iris", cases),
        peers=False,
        race_rounds=1,
        claim_rounds=2,
    )


class Campaign:
    """``results`` grow as :meth:`run` goes on; what is not measured anew stays."""

    def __init__(self, plan: Plan, results: dict[str, Any]) -> None:
        self.plan, self.results = plan, results

    def run(self, only: Sequence[str]) -> Iterator[None]:
        """Measure the parts named; halts after each piece, for the results to be kept.

        Raises:
            Missing: the peers' environment cannot be made.
        """
        self.results["machine"] = machine.facts()
        yield from self._race(self._wanted(only, "speed", list(self.plan.race_tables)))
        with threadpool_limits(limits=1, user_api="blas"):
            wanted = self._wanted(only, "accuracy", [one.protocol for one in self.plan.references])
            for reference in self.plan.references:
                if reference.protocol in wanted:
                    begin = time.perf_counter()
                    data = self.plan.table_of(reference.table, reference.cases)
                    told = accuracy.measured(reference, data)
                    self.results.setdefault("accuracy", {})[reference.key] = told
                    _say(f"{reference.key}: {time.perf_counter() - begin:.0f} s")
                    yield
            for claim in self.plan.claims if self._wanted(only, "euclidean", ["all"]) else ():
                for table in claim.tables:
                    data = self.plan.table_of(table, None)
                    told = accuracy.compared(claim, table, data, self.plan.claim_rounds)
                    self.results.setdefault("euclidean", {})[f"{claim.learner}, {table}"] = told
                    _say(f"{claim.title} against Euclidean, {table}")
                    yield

    def page(self) -> str:
        plan = self.plan
        speed = self.results.get("speed", {})
        # Parts may have been measured in any order.
        ordered = {name: speed[name] for name in plan.race_tables if name in speed}
        return page({**self.results, "speed": ordered}, plan.contenders, plan.references, plan.claims)

    def _race(self, wanted: Sequence[str]) -> Iterator[None]:
        if not wanted:
            return
        try:
            python = peers_python() if self.plan.peers else None
        except NoPeers as problem:
            raise Missing(f"The peers cannot be set up: {problem}") from problem
        for name in wanted:
            table = self.plan.race_tables[name]()
            begin = time.perf_counter()
            with workers(python) as open_workers:
                rows = race(table, self.plan.contenders, open_workers, self.plan.race_rounds)
            self.results.setdefault("speed", {})[name] = {"size": table.size, "rows": rows}
            _say(f"race on {name}: {time.perf_counter() - begin:.0f} s")
            yield

    @staticmethod
    def _wanted(only: Sequence[str], part: str, names: list[str]) -> list[str]:
        """Those of ``names`` that ``only`` asks for, as "part" or "part:name"."""
        if part in only:
            return list(dict.fromkeys(names))
        return [name for name in dict.fromkeys(names) if f"{part}:{name}" in only]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
