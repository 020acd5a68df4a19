"""DICOM: headers a second, the first slice and all slices of a series, memory of a large one.

Series are generated in a temporary folder; files are in the system's cache, as after copying them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.library.importers.dicom import DicomImporter
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT
from tests.helpers.dicom_files import ct_slice, encoded

RUNS = 5
SLICES = 500
SIDE = 512
#: Slices of the large series: 2 GB in all.
LARGE = 4096
LARGE_PROGRAM = """
import resource, sys
from pathlib import Path
from semblance.core.imaging import ImageAddress, ImageReader
parts = tuple(ImageAddress(path) for path in sorted(Path(sys.argv[1]).iterdir()))
with ImageReader() as reader, reader.stack(ImageAddress(parts[0].container, slices=parts)) as stack:
    for place in range(0, len(stack), 16):
        stack.image(place)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def series(folder: Path, count: int) -> None:
    """``count`` uncompressed slices of 512 x 512, 16 bit; only their place and number differ."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 2000, (SIDE, SIDE)).astype(np.int16)
    for number in range(count):
        (folder / f"{number:05d}").write_bytes(encoded(ct_slice(pixels, number)))


def address(folder: Path) -> ImageAddress:
    parts = tuple(ImageAddress(path) for path in sorted(folder.iterdir()))
    return ImageAddress(parts[0].container, slices=parts)


def headers(folder: Path) -> float:
    """Files a second that the importer looks into and puts together."""
    with Source.open(folder) as source:
        start = time.perf_counter()
        found = list(DicomImporter().scan(source, SILENT))
        took = time.perf_counter() - start
    assert len(found) == 1
    return SLICES / took


def opening(folder: Path) -> tuple[float, float]:
    """Seconds to the first slice that is shown (the middle one), and to all slices."""
    start = time.perf_counter()
    with ImageReader() as reader, reader.stack(address(folder)) as stack:
        stack.image(stack.middle())
        first = time.perf_counter() - start
        for place in range(len(stack)):
            stack.image(place)
        return first, time.perf_counter() - start


def lossless(data: Path) -> float:
    """Milliseconds a slice of JPEG lossless, one thread."""
    where = address(data / "dicom" / "series_chest_ct")
    with ImageReader() as reader, reader.stack(where) as stack:
        start = time.perf_counter()
        for place in range(len(stack)):
            stack.image(place)
        return (time.perf_counter() - start) / len(stack) * 1000


def run(data: Path | None) -> list[dict[str, Any]]:
    rows = []

    def add(what: str, value: float, unit: str, target: float, *, above: bool = False) -> None:
        reached = value >= target if above else value <= target
        rows.append({"what": what, "value": value, "unit": unit, "target": target, "reached": reached})

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "series"
        folder.mkdir()
        series(folder, SLICES)
        opening(folder)
        add("headers", statistics.median(headers(folder) for _ in range(RUNS)), "files/s", least=2000)
        times = [opening(folder) for _ in range(RUNS)]
        add("first slice of 500", statistics.median(first for first, _ in times), "s", most=0.5)
        add("500 slices readable", statistics.median(every for _, every in times), "s", most=2)
        if data is not None:
            each = statistics.median(lossless(data) for _ in range(RUNS))
            add("JPEG lossless, a slice", each, "ms", most=6)
        series(folder, LARGE)
        done = subprocess.run(
            [sys.executable, "-c", LARGE_PROGRAM, str(folder)], capture_output=True, text=True, check=True
        )
        add("2 GB series, resident", float(done.stdout), "MB", most=600)
    return rows
