"""``python -m tests.attack.server_faults --faults 300``: faults while a library on a server is changed.

Client or server are killed, connections are cut, packets are delayed or lost, and the disk of the server or of the
client is full. After each nothing that was acknowledged is lost, no import is there by half, another program can change
the library within seconds, and the audit trail is whole. Exit status 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import errno
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from semblance.core.library.location import server_address
from semblance.core.library.records import JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from tests.attack.server_child import FEATURES, KINDS, LEDGER, STEPS, names_of
from tests.helpers.postgres_server import PASSWORD, PostgresServer
from tests.helpers.silent_network import LOSES_PACKETS, Network
from tests.kills.harness import Child
from tests.kills.small_disk import mount_disk, unmount_disk

FAULTS = (
    "client killed",
    "server killed",
    "connection cut",
    "packets delayed",
    "packets lost",
    "disk of the server full",
    "disk of the client full",
)
#: Megabytes of the disks, and seconds that a fault lasts.
SERVER_DISK_MB, CLIENT_DISK_MB, FAULT_S = 700, 16, 0.3
#: Nobody waits longer for a lock, on a computer that is not busy.
LONGEST_S = 5.0


@contextlib.contextmanager
def _full(disk: Path) -> Iterator[None]:
    """Nothing more can be written to ``disk``; what others free meanwhile is free."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    try:
        yield
    finally:
        ballast.unlink()


class ServerFaults:
    """A server, a network before it, a library, and lives that change it."""

    def __init__(self, folder: Path, longest_s: float) -> None:
        self._folder, self._longest_s = folder, longest_s
        self._server_disk, self._client_disk = folder / "server", folder / "client"
        for disk in (self._server_disk, self._client_disk):
            disk.mkdir()
        self._has_small_disks = mount_disk(self._server_disk, SERVER_DISK_MB) and mount_disk(
            self._client_disk, CLIENT_DISK_MB
        )
        self._server = PostgresServer(self._server_disk)
        self._server.start()
        text = self._server.new_database("library")
        address = server_address(text)
        assert address is not None
        self._address = address
        ServerLibrary.create(self._address).close()
        self._network = Network(self._server.port)
        self._through_network = text.replace(f":{self._server.port}/", f":{self._network.port}/")
        os.environ |= {"PGPASSWORD": PASSWORD, "XDG_CACHE_HOME": str(self._client_disk)}
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
        self._network.close()
        self._server.stop("immediate")
        if self._has_small_disks:
            unmount_disk(self._server_disk)
            unmount_disk(self._client_disk)

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
                self._child.live, life, Path(self._through_network), self._folder, log, moment=killed_at
            )
            time.sleep(moment)
            was_running = not ended.done()
            wait = self._make(fault)
            status = ended.result()
        if fault == "client killed":
            was_running = status is None
        else:
            assert status == 0, f"{fault} at {moment:.2f} s: the life ended with {status}"
        if not was_running:
            self._seconds = max(0.3, 0.9 * self._seconds)
        elif fault in ("server killed", "connection cut"):
            self._seconds = 0.7 * self._seconds + 0.3 * (time.monotonic() - begin)
        self.happened[fault] += was_running
        self.longest_wait = max(self.longest_wait, wait)
        said = f"{fault} at {moment:.2f} s, others waited {wait:.2f} s"
        self._read_log(life, log, fault)
        self._check(said)
        assert wait <= self._longest_s, said
        return said if was_running else f"{said}; it had ended"

    def _make(self, fault: str) -> float:
        """Seconds that another program, whose own connection works, waited for its change during or after the fault."""
        if fault == "connection cut":
            self._network.cut()
        elif fault == "packets delayed":
            self._network.slow_down(FAULT_S / 3)
            wait = max(self._write() for _ in range(5))
            self._network.recover()
            return wait
        elif fault == "packets lost" and LOSES_PACKETS:
            self._network.fall_silent()
            wait = self._write()
            self._network.recover()
            return wait
        elif fault == "disk of the client full" and self._has_small_disks:
            with _full(self._client_disk):
                wait = self._write()
                time.sleep(FAULT_S)
            return wait
        elif fault == "disk of the server full" and self._has_small_disks:
            with _full(self._server_disk):
                # A server that cannot write its log ends.
                time.sleep(5 * FAULT_S)
        if fault in ("server killed", "disk of the server full"):
            self._server.stop("immediate")
            time.sleep(FAULT_S)
            self._server.start()
        return self._write()

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
    parser.add_argument("--longest", type=float, default=LONGEST_S, help="seconds that others may wait")
    options = parser.parse_args()
    rng, wrong = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        faults = ServerFaults(Path(folder), options.longest)
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
