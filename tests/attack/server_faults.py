"""``python -m tests.attack.server_faults --faults 300``: faults while a library on a server is changed.

Client or server are killed, connections are cut, packets are delayed, and the disk of the server is full. After each
nothing that was acknowledged is lost, no import is there by half, another program can change the library at once, and
the audit trail is whole. Exit status 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from semblance.core.library.records import JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from tests.attack.server_child import FEATURES, KINDS, LEDGER, STEPS, names_of
from tests.helpers.postgres_server import PASSWORD, PostgresServer
from tests.kills.harness import Child
from tests.kills.small_disk import mount_disk, unmount_disk

FAULTS = ("client killed", "server killed", "connection cut", "packets delayed", "disk full")
#: Megabytes of the server's disk, and seconds that a fault lasts.
DISK_MB, FAULT_S = 700, 0.3
#: Nobody waits longer for a lock.
LONGEST_S = 5.0


class Proxy:
    """Passes connections on to a server, until they are cut, and delays what they carry."""

    def __init__(self, port: int) -> None:
        self._server_port, self._pairs = port, set[socket.socket]()
        self.is_cut, self.delay = False, 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections and accept no others until :attr:`is_cut` is unset."""
        self.is_cut = True
        for one in list(self._pairs):
            _shut(one)

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                client.close()
                continue
            self._pairs |= {client, server}
            if self.is_cut:
                _shut(client)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                time.sleep(self.delay)
                target.sendall(data)
        except OSError:
            pass  # the other side is told below
        finally:
            _shut(target)
            self._pairs.discard(source)


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


class ServerFaults:
    """A server, a proxy before it, a library, and lives that change it."""

    def __init__(self, folder: Path) -> None:
        self._folder, home = folder, folder / "server"
        home.mkdir()
        self.has_small_disk = mount_disk(home, DISK_MB)
        self._server = PostgresServer(home)
        self._server.start()
        self._address = self._server.new_database("library")
        self._disk = home
        ServerLibrary.create(self._address).close()
        self._proxy = Proxy(self._server.port)
        self._through_proxy = self._address.replace(f":{self._server.port}/", f":{self._proxy.port}/")
        os.environ["PGPASSWORD"] = PASSWORD
        self._child = Child(folder / "errors", "tests.attack.server_child")
        self._seconds = 1.0
        #: Faults that fell into a life's changes, and changes that were refused in them.
        self.happened: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()
        self.messages: collections.Counter[str] = collections.Counter()
        self.longest_wait = 0.0
        self._acknowledged: dict[str, list[tuple[int, int]]] = {}

    def close(self) -> None:
        self._child.close()
        self._proxy.close()
        self._server.stop("immediate")
        if self.has_small_disk:
            unmount_disk(self._disk)

    def try_fault(self, number: int, rng: random.Random) -> str:
        """One life with a fault at a random moment, and what it left; returns what happened."""
        life, fault = f"life{number}", FAULTS[number % len(FAULTS)]
        log = self._folder / f"{life}.log"
        log.touch()
        moment = rng.uniform(0.0, self._seconds)
        begin = time.monotonic()
        with ThreadPoolExecutor(1) as thread:
            killed_at = moment if fault == "client killed" else None
            ended = thread.submit(
                self._child.live, life, Path(self._through_proxy), self._folder, log, moment=killed_at
            )
            time.sleep(moment)
            was_running = not ended.done()
            wait = self._make(fault)
            status = ended.result()
        if fault == "client killed":
            was_running = status is None
        else:
            assert status == 0, f"{fault} at {moment:.2f} s: the life ended with {status}"
        if fault == "packets delayed" or not was_running:
            self._seconds = max(0.3, 0.9 * self._seconds)
        elif status == 0:
            self._seconds = 0.7 * self._seconds + 0.3 * (time.monotonic() - begin)
        self.happened[fault] += was_running
        self.longest_wait = max(self.longest_wait, wait)
        said = f"{fault} at {moment:.2f} s, others waited {wait:.2f} s"
        self._read_log(life, log, fault)
        self._check(said)
        assert wait <= LONGEST_S, said
        return said if was_running else f"{said}; it had ended"

    def _make(self, fault: str) -> float:
        """Seconds that another program, whose own connection works, waited for its change during or after the fault."""
        if fault == "connection cut":
            self._proxy.cut()
            wait = self._write()
            time.sleep(FAULT_S)
            self._proxy.is_cut = False
            return wait
        if fault == "packets delayed":
            self._proxy.delay = FAULT_S / 3
            wait = max(self._write() for _ in range(5))
            self._proxy.delay = 0.0
            return wait
        if fault == "disk full" and self.has_small_disk:
            self._fill_disk()
        if fault in ("server killed", "disk full"):
            self._server.stop("immediate")
            time.sleep(FAULT_S)
            self._server.start()
        return self._write()

    def _fill_disk(self) -> None:
        ballast, facts = self._disk / "ballast", os.statvfs(self._disk)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, facts.f_bavail * facts.f_frsize))
        time.sleep(5 * FAULT_S)
        # A server that cannot write its log has ended by then; it is started again.
        ballast.unlink()

    def _write(self) -> float:
        """Seconds until somebody else could change the library."""
        begin = time.monotonic()
        with ServerLibrary.open(self._address, writable=True) as library:
            library.judgements("others").append(
                [JudgementRecord("alike", "q", "c", None, None, (), "o", "t")]
            )
        return time.monotonic() - begin

    def _read_log(self, life: str, log: Path, fault: str) -> None:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self._acknowledged[life] = [
            (line["step"], line["attempt"]) for line in lines if line["ended"] == "acknowledged"
        ]
        messages = [line["what"] for line in lines if line["ended"] == "refused"]
        self.refused[fault] += len(messages)
        self.messages.update(messages)
        log.unlink()

    def _check(self, said: str) -> None:
        """All that any life had acknowledged is there, and nothing by half."""
        with ServerLibrary.open(self._address) as library:
            found = {row.case_id: row.finding for row in library.catalogue.all_cases()}
            judged = collections.Counter(record.case for _, record, *_ in library.judgements(LEDGER).read())
            searches, features = set(library.searches()), library.features.all()
            ids, values = library.features.read(features[0]) if features else (np.array([]), np.array([]))
            assert len(set(ids.tolist())) == len(ids), f"{said}: a case has features twice"
            assert not len(ids) or np.array_equal(values, np.stack([ids, ids * 2], axis=1)), said
            for life, done in self._acknowledged.items():
                for step, attempt in done:
                    self._check_step(life, step, attempt, found, judged, searches, said)
                for step in range(0, STEPS, len(KINDS)):
                    there = sum(name in found for name in names_of(life, step))
                    assert there in (0, len(names_of(life, step))), f"{said}: half an import of {life}"
            assert library.check_audit().problems == (), f"{said}: {library.check_audit().problems}"
            sets = {one.name for one in features}
            assert FEATURES in sets or not any(
                s % 5 == 4 for d in self._acknowledged.values() for s, _ in d
            ), said

    def _check_step(self, life, step, attempt, found, judged, searches, said) -> None:  # type: ignore[no-untyped-def]
        kind = KINDS[step % len(KINDS)]
        cases = names_of(life, step - step % len(KINDS))
        lost = f"{said}: the {kind} of step {step} of {life} is lost"
        if kind == "import":
            assert all(name in found for name in cases), lost
        elif kind == "finding":
            assert {found[name] for name in cases} == {f"{life}-{step}"}, lost
        elif kind == "judgement":
            assert judged[f"{life}-{step}-{attempt}"] == 1, lost
        elif kind == "search":
            assert f"{life}-{step}" in searches, lost


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attack.server_faults", description=__doc__)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, wrong = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        faults = ServerFaults(Path(folder))
        try:
            for number in range(options.faults):
                try:
                    print(f"{number + 1}: {faults.try_fault(number, rng)}", flush=True)
                except Exception:  # noqa: BLE001 - each is reported, and the others are tried too
                    wrong += 1
                    traceback.print_exc()
        finally:
            faults.close()
        errors = (Path(folder) / "errors").read_text()
    print(
        f"{options.faults} faults, during changes: {dict(faults.happened)}; refused changes: {dict(faults.refused)};"
        f" {wrong} wrong;"
        f" longest wait of others {faults.longest_wait:.2f} s"
    )
    for message, count in faults.messages.most_common():
        print(f"  {count} x {message}")
    if "Traceback" in errors:
        print(errors[-3000:])
    sys.exit(1 if wrong or "Traceback" in errors else 0)


if __name__ == "__main__":
    main()
