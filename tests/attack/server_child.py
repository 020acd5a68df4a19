"""A life that changes a library on a server in numbered steps, and writes down what the server acknowledged."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from semblance.core.errors import SemblanceError
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseRecord, FileRecord, JudgementRecord
from semblance.core.workflows.library.edit_cases import set_finding
from tests.kills.child import serve

STEPS, CASES = 15, 20
#: Of the steps of a life, in turn.
KINDS = ("import", "finding", "judgement", "search", "features")
#: Seconds until a life gives up.
PATIENCE = 90.0
LEDGER, FEATURES = "l", "f"


def names_of(life: str, step: int) -> list[str]:
    """The case ids that step ``step`` of ``life`` imports."""
    return [f"s/{life}-{step}-{n}" for n in range(CASES)]


def do_step(library: Path, life: str, step: int, attempt: int) -> None:
    """
    Raises:
        SemblanceError: the server did not acknowledge it.
    """
    kind, cases = KINDS[step % len(KINDS)], names_of(life, step - step % len(KINDS))
    if kind == "finding":
        set_finding(library, cases, f"{life}-{step}")
        return
    with open_library(library, writable=True) as opened:
        if kind == "import":
            source = opened.catalogue.add_source("folder", "s", Path("/images"))
            opened.catalogue.put(
                source,
                [FileRecord(name, 1, 1, name, "ok") for name in cases],
                [CaseRecord(name, name, content=name) for name in cases],
            )
        elif kind == "judgement":
            made = JudgementRecord("alike", "q", f"{life}-{step}-{attempt}", None, None, (), "w", "t")
            opened.judgements(LEDGER).append([made])
        elif kind == "search":
            opened.save_search(f"{life}-{step}", {"number": step})
        else:
            made_set = opened.features.make(FEATURES, "raw", 1, {}, [("a", "g"), ("b", "g")], dtype="float64")
            rows = opened.features.cases_to_extract(made_set, images=None)[:256]
            opened.features.write_chunk(made_set, rows, np.stack([rows, rows * 2], axis=1).astype(float))


def live(life: str, library: Path, _source: Path, log: Path) -> int:
    """Do all steps, each again until it is acknowledged; the process's status."""
    address, end = server_address(str(library)), time.monotonic() + PATIENCE
    assert address is not None
    with log.open("a", buffering=1) as lines:
        for step in range(STEPS):
            attempt = 0
            while True:
                lines.write(json.dumps({"step": step, "attempt": attempt, "ended": "tried"}) + "\n")
                begin = time.monotonic()
                try:
                    do_step(address, life, step, attempt)
                except SemblanceError as error:
                    if time.monotonic() > end:
                        raise
                    took = time.monotonic() - begin
                    lines.write(
                        json.dumps({"ended": "refused", "what": error.message, "seconds": took}) + "\n"
                    )
                    attempt += 1
                    time.sleep(0.05)
                else:
                    lines.write(
                        json.dumps({"step": step, "attempt": attempt, "ended": "acknowledged"}) + "\n"
                    )
                    break
    return 0


if __name__ == "__main__":
    serve(live)
