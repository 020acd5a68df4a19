"""One simulated user of a library on a server, in a process of their own: ``server_user ADDRESS CASES SEED THINK``.

Prints ``ready`` once the metric is loaded. After a line with a number of seconds on standard input, searches and marks
for so long, with pauses for thinking, and prints what was measured as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from semblance.core.engine import limit_threads
from semblance.core.library.location import server_address
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.rank_cases import RankedSearch, rank_cases

#: Of each search, so many of the first cases are marked, one after the other.
MARKS = 3
#: The longest pause, in mean pauses.
LONGEST = 5.0
METRIC = "plain"


class User:
    """Searches and marks, and notes how long each took, in ms."""

    def __init__(self, address: str, cases: int, seed: int, think: float) -> None:
        library = server_address(address)
        assert library is not None
        self._library, self._cases, self._think = library, cases, think
        self._rng = np.random.default_rng(seed)
        self.times: dict[str, list[float]] = {"search": [], "mark": []}
        self.candidates = 0

    def search(self) -> RankedSearch:
        """Search for a case that is drawn."""
        case = f"t/c{self._rng.integers(self._cases)}"
        start = time.perf_counter()
        found = rank_cases(self._library, Search(METRIC, Query(case), new_ledger()))
        self.times["search"].append(1e3 * (time.perf_counter() - start))
        self.candidates += found.result.candidates is not None
        return found

    def mark(self, found: RankedSearch, place: int) -> None:
        """Mark the case at ``place`` as like the query, or not; the mark is stored, and the cases are ranked again."""
        kind = (JudgementKind.ALIKE, JudgementKind.NOT_ALIKE)[int(self._rng.integers(2))]
        one = Judgement(kind, str(found.search.query.case), found.result.ranked[place].case_id)
        start = time.perf_counter()
        add_judgements(self._library, found.search, [one])
        self.times["mark"].append(1e3 * (time.perf_counter() - start))

    def work(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self._pauses_until(end):
            found = self.search()
            for place in range(MARKS):
                if not self._pauses_until(end):
                    return
                self.mark(found, place)

    def _pauses_until(self, end: float) -> bool:
        """Think; whether there is time left."""
        pause = min(self._rng.exponential(self._think), LONGEST * self._think)
        time.sleep(max(0.0, min(pause, end - time.monotonic())))
        return time.monotonic() < end


def main(address: str, cases: str, seed: str, think: str) -> None:
    limit_threads()
    user = User(address, int(cases), int(seed), float(think))
    # What is loaded once is no part of what is measured.
    user.mark(user.search(), 0)
    user.times = {name: [] for name in user.times}
    user.candidates = 0
    print("ready", flush=True)
    seconds = float(sys.stdin.readline())
    before = time.process_time()
    user.work(seconds)
    used = time.process_time() - before
    print(json.dumps({**user.times, "processor": used, "candidates": user.candidates}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
