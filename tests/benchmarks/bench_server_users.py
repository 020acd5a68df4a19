"""20 people at once search and mark in a library of 200,000 cases on a server of this computer.

Each is a process of its own with an account of their own. They think before every action, for an exponential time of
6 s on average, 30 s at most; a search is followed by three marks, each of which is stored and ranks again.
``SEMBLANCE_USERS_S=1800 python -m tests.benchmarks --only server_users`` runs for half an hour instead of two minutes.
All of them share the processors of this computer, so that the times of the users' own programs count too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.library.location import ServerAddress, server_address
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.audit_log import check_audit
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.maintenance.share_library import set_right
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import prepare_searches
from tests.benchmarks.bench_candidates import M, N, mixture
from tests.benchmarks.harness import row
from tests.benchmarks.server_user import METRIC
from tests.helpers.postgres_server import PostgresServer, running_server

USERS, THINK_S, SECONDS = 20, 6.0, 120.0
#: ms, of 99 of 100 searches and marks.
SEARCH_MS, MARK_MS = 100.0, 150.0
#: What the last third of the run may need in memory and connections, compared with the first.
FLAT = 1.1
#: Users that start at the same time.
AT_ONCE = 2
SAMPLE_S = 2.0


def write_table(file: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    values = mixture().astype(np.float32)
    columns: dict[str, Any] = {
        "case_id": [f"c{number}" for number in range(N)],
        "patient_id": [f"p{number // 2}" for number in range(N)],
        **{f"f{column}": values[:, column] for column in range(M)},
        "label": ["abcd"[number % 4] for number in range(N)],
    }
    parquet.write_table(pyarrow.table(columns), file)


def prepare(server: PostgresServer, folder: Path) -> ServerAddress:
    """The address of the library; its table, features, metric and index are made by the program."""
    address = server_address(server.new_database("library"))
    assert address is not None
    write_table(folder / "t.parquet")
    import_source(folder / "t.parquet", address)
    extract_features(address, "raw")
    train_metric(address, TrainRequest("euclidean", METRIC))
    prepare_searches(address, METRIC)
    for number in range(USERS):
        set_right(address, f"user{number}", "annotator", "pw")
    return address


@dataclass
class Samples:
    """The connections to the library, and the memory of the server's processes in MB, during the run."""

    connections: list[int] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def take(self, server: PostgresServer) -> None:
        while not self._ended.wait(SAMPLE_S):
            pids = processes_of(server)
            ((count,),) = server.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'library'")
            self.connections.append(int(str(count)))
            self.memory.append(sum(map(memory_of, pids)) / 1024)

    def end(self) -> None:
        self._ended.set()


def processes_of(server: PostgresServer) -> list[int]:
    """The first process of the server and its children."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


def memory_of(pid: int) -> float:
    """kB, of which each process has its share where several use the same."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it ended meanwhile
        return 0.0
    return float(text.split("Pss:")[1].split()[0])


def processor_seconds(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # With those of children that ended.
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def growth(samples: list[float] | list[int]) -> float:
    """The median of the last third of ``samples`` in that of the first."""
    third = max(1, len(samples) // 3)
    return float(np.median(samples[-third:]) / np.median(samples[:third]))


def start_users(server: PostgresServer) -> list[subprocess.Popen[str]]:
    """The users, each with the metric loaded."""
    users: list[subprocess.Popen[str]] = []
    for first in range(0, USERS, AT_ONCE):
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.benchmarks.server_user",
                 server.address("library", f"user{number}", "pw"), str(N), str(number), str(THINK_S)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number in range(first, min(first + AT_ONCE, USERS))
        ]  # fmt: skip
        users += started
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n", "a user could not load the metric"
    return users


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; it needs no real data."""
    seconds = float(os.environ.get("SEMBLANCE_USERS_S", SECONDS))
    with tempfile.TemporaryDirectory() as folder, running_server() as server:
        # Of everybody's copies.
        os.environ["XDG_CACHE_HOME"] = folder
        # As a real server: a transaction is on the disk when it is acknowledged.
        server.execute("ALTER SYSTEM SET fsync = on")
        server.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
        server.execute("ALTER SYSTEM SET max_connections = 200")
        server.stop()
        server.start()
        address = prepare(server, Path(folder))
        users = start_users(server)
        samples = Samples()
        sampling = threading.Thread(target=samples.take, args=(server,))
        sampling.start()
        before = processor_seconds(processes_of(server))
        start = time.monotonic()
        for one in users:
            assert one.stdin is not None
            one.stdin.write(f"{seconds}\n")
            one.stdin.flush()
        found = [json.loads(one.communicate()[0]) for one in users]
        lasted = time.monotonic() - start
        used = processor_seconds(processes_of(server)) - before
        samples.end()
        sampling.join()
        assert not check_audit(address).problems
    return list(rows_of(found, samples, lasted, used))


def rows_of(
    found: list[dict[str, Any]], samples: Samples, lasted: float, used: float
) -> list[dict[str, Any]]:
    rows = []
    what = f"{USERS} users, {N:,} x {M}, {lasted:.0f} s"
    for name, target in (("search", SEARCH_MS), ("mark", MARK_MS)):
        times = np.array([value for one in found for value in one[name]])
        longest = float(np.quantile(times, 0.99))
        rows += [
            row(f"{what}: {name}, number", len(times), ""),
            row(f"{what}: {name}, median", float(np.median(times)), "ms"),
            row(f"{what}: {name}, 99 %", longest, "ms", most=target),
        ]
    searches = sum(len(one["search"]) for one in found)
    actions = searches + sum(len(one["mark"]) for one in found)
    by_index = sum(one["candidates"] for one in found) / searches
    own = 1e3 * sum(one["processor"] for one in found) / actions
    rows += [
        row("share of the searches with candidates of the index", by_index, ""),
        row("processor time of an action, the user's program", own, "ms"),
        row("processor time of an action, the server", 1e3 * used / actions, "ms"),
    ]
    for name, values, unit in (
        ("connections", samples.connections, ""),
        ("memory of the server", samples.memory, "MB"),
    ):
        grown = growth(values)
        rows += [
            row(f"{name}, most", max(values), unit),
            row(f"{name}, last third to first", grown, "", most=FLAT),
        ]
    return rows
