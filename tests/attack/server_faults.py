"""Kill the writers and the server of a library on a server, and cut the network between them, again and again.

``python -m tests.attack.server_faults --rounds 300`` prints how many rounds of each kind were run. A round
raises AssertionError if something acknowledged was lost, a case was written in part, a write waited for
more than five seconds, or the audit log does not verify.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from semblance.core.errors import ServerUnavailable
from semblance.core.library.address import server_address
from semblance.core.library.records import CaseRecord, FileRecord, JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.workflows.library.exports import check_audit
from tests.helpers.postgres_server import PostgresServer, running_server

KINDS = ("client killed", "server killed", "network cut", "network silent, then cut")
CASES, LONGEST_WAIT = 5, 5.0


class Proxy:
    """Passes bytes on to a port of this computer until they are held back or its connections are cut."""

    def __init__(self, port: int) -> None:
        self._to, self._flows, self._ends = port, threading.Event(), list[socket.socket]()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._accepts = threading.Thread(target=self._accept, daemon=True)
        self._accepts.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._to))
            except ConnectionError:  # the server was killed
                client.close()
                continue
            self._ends += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):  # cut
            while data := one.recv(65536):
                self._flows.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def hold(self) -> None:
        self._flows.clear()

    def cut(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):  # at its end already
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()
        self._flows.set()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # ends accept() on Linux
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepts.join(5)
        self.cut()


def write_one(library: ServerLibrary, number: int) -> None:
    source = library.catalogue.add_source("folder", "s", Path("/images"))
    names = [f"{number}-{n}" for n in range(CASES)]
    library.catalogue.put(
        source,
        [FileRecord(name, 1, 1, name, "ok") for name in names],
        [CaseRecord(f"s/{name}", name, content=name) for name in names],
    )
    library.judgements("l").append([JudgementRecord("alike", "q", str(number), None, None, (), "w", "t")])


def write_on(address: str, first: int, acknowledged: Connection) -> None:
    """Write until the server is not there, and send each number that was written."""
    with contextlib.suppress(ServerUnavailable), ServerLibrary.open(address, writable=True) as library:
        for number in range(first, first + 10_000):
            write_one(library, number)
            acknowledged.send(number)


def kill_server(server: PostgresServer) -> None:
    """SIGKILL to the first process of the server; the others then end by themselves. Starts it again."""
    os.kill(int((server.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    until = time.monotonic() + 30
    while True:
        try:
            return server.start()
        except RuntimeError:  # processes of the killed one still have its memory
            if time.monotonic() > until:
                raise


def run_rounds(rounds: int, seed: int = 0) -> Counter[str]:
    """The number of rounds of each kind, and of writes that were acknowledged (``"acknowledged"``).

    Raises:
        AssertionError: what the module names.
    """
    chance, done = random.Random(seed), Counter[str]()
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__ if __name__ != "__main__" else "tests.attack.server_faults"])
    with running_server() as server:
        direct = server.new_database("library")
        address = server_address(direct)
        assert address is not None
        ServerLibrary.create(direct).close()
        proxy = Proxy(server.port)
        through = direct.replace(f":{server.port}/", f":{proxy.port}/")
        known: set[int] = set()
        try:
            for number in range(rounds):
                kind = KINDS[number % len(KINDS)]
                mine, theirs = processes.Pipe(duplex=False)
                child = processes.Process(target=write_on, args=(through, 10_000 * number, theirs))
                child.start()
                theirs.close()
                for _ in range(chance.randint(1, 4)):
                    known.add(mine.recv())
                time.sleep(chance.random() * 0.03)  # somewhere within a write
                if kind == "client killed":
                    assert child.pid is not None
                    os.kill(child.pid, signal.SIGKILL)
                elif kind == "server killed":
                    kill_server(server)
                    proxy.cut()
                else:
                    if kind != "network cut":
                        proxy.hold()
                        time.sleep(chance.random() * 0.3)
                    proxy.cut()
                with contextlib.suppress(EOFError):
                    # A writer that connected again goes on: it is stopped after a few more writes.
                    for _ in range(3):
                        known.add(mine.recv())
                child.kill()
                with contextlib.suppress(EOFError):
                    while True:
                        known.add(mine.recv())
                child.join()
                proxy.cut()
                check(direct, known, 10_000 * number + 9_999)
                known.add(10_000 * number + 9_999)
                assert not check_audit(address).problems, (number, kind)
                done[kind] += 1
        finally:
            proxy.close()
    return done + Counter({"acknowledged": len(known) - rounds})


def check(address: str, known: set[int], next_number: int) -> None:
    with ServerLibrary.open(address, writable=True) as library:
        start = time.monotonic()
        write_one(library, next_number)
        waited = time.monotonic() - start
        assert waited < LONGEST_WAIT, f"a write waited for {waited:.1f} s"
        found = Counter(
            int(record.case_id.split("/")[1].split("-")[0]) for record in library.catalogue.all_cases()
        )
        judged = {int(record.case) for _, record, _ in library.judgements("l").read()}
    assert set(found.values()) == {CASES}, "cases were written in part"
    assert known <= set(found) and known <= judged, "acknowledged writes were lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name, number in run_rounds(given.rounds, given.seed).items():
        print(f"{name}: {number}")


if __name__ == "__main__":
    main()
