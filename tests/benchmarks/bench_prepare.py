"""Drop and see: seconds from the start of an import to the first ranking, in a process of its own.

The DICOM files are uncompressed images of 512 x 512 in a temporary folder, each of another patient.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import require_data, row
from tests.helpers.dicom_files import ct_slice, encoded

RUNS = 3
FILES = 1000
SIDE = 512
PROGRAM = """
import sys, time
from pathlib import Path
start = time.perf_counter()
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.library.import_and_prepare import import_and_prepare
from semblance.core.workflows.library.prepare_library import Preparation
from semblance.core.workflows.searches.rank_cases import nearest_cases

class UntilRanked(Reporter):
    seconds = 0.0

    def partial(self, preparation):
        if isinstance(preparation, Preparation) and preparation.provisional and not self.seconds:
            with open_library(library) as opened:
                case = opened.catalogue.all_cases()[0].case_id
            assert nearest_cases(library, preparation.current, Query(case=case)).ranked
            self.seconds = time.perf_counter() - start

    def check_cancelled(self):
        if self.seconds:
            raise Cancelled

if __name__ == "__main__":
    library, reporter = Path(sys.argv[2]), UntilRanked()
    try:
        import_and_prepare(Path(sys.argv[1]), library, reporter=reporter)
    except Cancelled:
        print(reporter.seconds)
"""


def dicom_files(folder: Path) -> Path:
    """:data:`FILES` images, two of each patient, in the folders of two findings."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 2000, (SIDE, SIDE)).astype(np.int16)
    for number in range(FILES):
        image = ct_slice(pixels, number)
        image.PatientID = f"P{number // 2}"
        image.StudyInstanceUID = image.SeriesInstanceUID = f"1.2.3.{number}"
        path = folder / ("a" if number // 2 % 2 else "b") / f"{number:05d}.dcm"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(encoded(image))
    return folder


def first_ranking(source: Path) -> float:
    """Median seconds from the start of the process to a ranking of the cases measured by then."""
    seconds = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program.py"
            program.write_text(PROGRAM, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, str(program), str(source), f"{folder}/library"],
                capture_output=True,
                text=True,
                check=True,
            )
        seconds.append(float(done.stdout))
    return statistics.median(seconds)


def run(data: Path | None) -> list[dict[str, Any]]:
    small = first_ranking(require_data(data) / "images" / "medical_mnist_a.zip")
    with tempfile.TemporaryDirectory() as folder:
        dicom = first_ranking(dicom_files(Path(folder)))
    return [
        row(f"first ranking of {what}", seconds, "s", most=target)
        for what, seconds, target in (("1,800 small images", small, 5), (f"{FILES:,} DICOM files", dicom, 10))
    ]
