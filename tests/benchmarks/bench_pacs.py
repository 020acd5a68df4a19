"""Retrieval of 2,000 objects from Orthanc on this computer: WADO-RS and C-GET against dcmtk's getscu, in the same run.

Nagle's algorithm is off in all three, and Orthanc does not wait for the disk: else its waits would be all one measures.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from semblance.core.network.received_files import ReceivedFiles
from semblance.core.network.retrieval import retrieve_study
from semblance.core.network.servers import find_server
from tests.benchmarks.harness import SkippedBenchmark, row
from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.orthanc import AE_TITLE, program, running_orthanc

OBJECTS, RUNS, SIDE = 2000, 3, 256
STUDY = f"{ROOT}.1"
#: Our speed as a share of getscu's.
WEB_TARGET, GET_TARGET = 1.0, 0.5


def run(data: Path | None) -> list[dict[str, Any]]:
    if program() is None or shutil.which("getscu") is None:
        raise SkippedBenchmark(
            "Orthanc or dcmtk is not installed (apt-get install orthanc orthanc-dicomweb dcmtk)"
        )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with running_orthanc(place / "orthanc") as orthanc:
            for file in ct_series(place / "files", OBJECTS, size=(SIDE, SIDE)):
                orthanc.upload(file)

            def peer(target: Path) -> None:
                target.mkdir()
                command = [
                    "getscu",
                    "-S",
                    "-aec",
                    AE_TITLE,
                    "-od",
                    str(target),
                    "127.0.0.1",
                    str(orthanc.dicom_port),
                ]
                keys = ["-k", "QueryRetrieveLevel=STUDY", "-k", f"StudyInstanceUID={STUDY}"]
                environment = os.environ | {"TCP_NODELAY": "1"}
                subprocess.run([*command, *keys], check=True, env=environment, capture_output=True)
                assert len(list(target.iterdir())) == OBJECTS

            def ours(address: str) -> Callable[[Path], None]:
                def retrieve(target: Path) -> None:
                    result = retrieve_study(find_server(address), STUDY, [], ReceivedFiles(target))
                    assert not result.missing and len(list(target.rglob("*.dcm"))) == OBJECTS

                return retrieve

            ways = {"getscu": peer, "WADO-RS": ours(orthanc.dicomweb), "C-GET": ours(orthanc.dimse)}
            # In turn, so that what else the machine does meets all of them.
            seconds: dict[str, list[float]] = {name: [] for name in ways}
            for number in range(RUNS):
                for name, retrieve in ways.items():
                    target = place / f"{name} {number}"
                    start = time.perf_counter()
                    retrieve(target)
                    seconds[name].append(time.perf_counter() - start)
                    shutil.rmtree(target)
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    rows = [
        row(
            f"{OBJECTS:,} objects by {name}, speed against getscu",
            middle["getscu"] / middle[name],
            "times",
            least=target,
        )
        for name, target in (("WADO-RS", WEB_TARGET), ("C-GET", GET_TARGET))
    ]
    return [
        row(f"{OBJECTS:,} objects by getscu", middle["getscu"], "s"),
        *rows,
    ]
