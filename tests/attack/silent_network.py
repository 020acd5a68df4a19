"""``python -m tests.attack.silent_network``: the network loses every packet while a library on a server is changed.

The program notices it, and others can change the library soon after. It runs in a network of its own, which needs the
right to make one: then the exit status is :data:`NOT_ALLOWED`. Prints the seconds as JSON.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import threading
import time

from semblance.core.errors import ServerUnavailable
from semblance.core.library.records import JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from tests.helpers.postgres_server import running_server
from tests.kills.small_disk import NOT_ALLOWED

_NEW_NETWORK = 0x40000000


def _set_network(state: str) -> bool:
    return subprocess.run(["ip", "link", "set", "lo", state], check=False).returncode == 0


def _judge(library: ServerLibrary, name: str) -> None:
    library.judgements("l").append([JudgementRecord("alike", "q", name, None, None, (), name, "t")])


def main() -> int:
    if ctypes.CDLL(None).unshare(_NEW_NETWORK) or not _set_network("up"):
        return NOT_ALLOWED
    with running_server() as server:
        address = server.new_database("library")
        with ServerLibrary.create(address) as first, ServerLibrary.open(address, writable=True) as other:
            _judge(other, "before")
            in_transaction, is_cut = threading.Event(), threading.Event()
            noticed: list[float] = []

            def change() -> None:
                try:
                    with first.catalogue.transaction() as connection:
                        connection.exec_driver_sql("SELECT 1")
                        in_transaction.set()
                        is_cut.wait()
                        begin = time.monotonic()
                        connection.exec_driver_sql("SELECT 2")
                except ServerUnavailable:
                    noticed.append(time.monotonic() - begin)

            writer = threading.Thread(target=change, daemon=True)
            writer.start()
            in_transaction.wait()
            _set_network("down")
            begin = time.monotonic()
            is_cut.set()
            writer.join(60)
            if not noticed:
                return 1
            # The server has been as long without an answer as the program.
            _set_network("up")
            _judge_again(other)
            free = time.monotonic() - begin
            judged = len(other.judgements("l").read())
    print(json.dumps({"noticed": noticed[0], "free": free, "judged": judged}))
    return 0


def _judge_again(library: ServerLibrary) -> None:
    """As a user would: the first attempt may find its own connection lost."""
    try:
        _judge(library, "after")
    except ServerUnavailable:
        _judge(library, "after")


if __name__ == "__main__":
    sys.exit(main())
