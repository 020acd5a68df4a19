"""A CT series in the viewer: opening, reading 500 slices ahead, scrolling, three planes, and memory;
frames in processor time of the window's thread."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import row

SLICES, SIDE = 500, 512
#: The series once and again, as one of 2 GB.
AGAIN = 8
FIRST_MS, ALL_S, FRAME_MS, RESIDENT_MB = 500.0, 2.0, 16.0, 600.0
_PATIENCE_S = 120.0


def run(data: Path | None) -> list[dict[str, Any]]:
    from PySide6.QtWidgets import QApplication

    from semblance.app.shell.jobs import Jobs, WorkerPool
    from semblance.app.shell.theme import set_theme
    from semblance.app.viewer.image_pane import ImagePane
    from semblance.app.window.preload import preload_reading
    from semblance.core.imaging.image_address import ImageAddress
    from semblance.core.imaging.memory import return_freed_blocks

    return_freed_blocks()
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    set_theme(app, "dark")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [ImageAddress(file) for file in _series(folder)]
        jobs = Jobs()
        pane = ImagePane(jobs)
        pane.resize(1100, 1000)
        pane.show()
        for pool in (WorkerPool.READ, WorkerPool.SLICE):
            jobs.preload(pool, preload_reading)
        _until(app, lambda: not jobs.active)
        rows = _opened(app, jobs, pane, ImageAddress(folder, slices=tuple(files)))
        rows += _scrolled(app, pane)
        rows += _planes(app, jobs, pane)
        large = ImageAddress(folder, "again", slices=tuple(files * AGAIN))
        rows += _resident(app, jobs, pane, large)
        jobs.shutdown()
        pane.close()
        pane.deleteLater()
        app.processEvents()
    return rows


def _series(folder: Path) -> list[Path]:
    """Uncompressed slices of 512 x 512 signed numbers, 1 mm apart."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

    noise = np.random.default_rng(0).integers(-1000, 1000, (SIDE, SIDE)).astype(np.int16)
    files = []
    for index in range(SLICES):
        dataset = Dataset()
        dataset.file_meta = FileMetaDataset()
        dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID = CTImageStorage
        dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID = f"1.2.3.{index}"
        dataset.Modality, dataset.PatientID, dataset.SeriesInstanceUID = "CT", "phantom", "1.2.4"
        dataset.Rows = dataset.Columns = SIDE
        dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
        dataset.BitsAllocated = dataset.BitsStored = 16
        dataset.HighBit, dataset.PixelRepresentation = 15, 1
        dataset.RescaleSlope, dataset.RescaleIntercept = "1", "0"
        dataset.PixelSpacing, dataset.SliceThickness = ["0.7", "0.7"], "1"
        dataset.ImagePositionPatient = ["0", "0", str(index)]
        dataset.ImageOrientationPatient = ["1", "0", "0", "0", "1", "0"]
        dataset.PixelData = np.roll(noise, index, axis=0).tobytes()
        files.append(folder / f"{index:04d}.dcm")
        dataset.save_as(files[-1], enforce_file_format=True)
    return files


def _opened(app: Any, jobs: Any, pane: Any, address: Any) -> list[dict[str, Any]]:
    begin, worked = time.perf_counter(), _processor_s()
    _open(app, jobs, pane, address)
    pane.view.repaint()
    first = 1000 * (time.perf_counter() - begin)
    _until(app, lambda: len(pane.slices.loaded) == SLICES)
    loaded, worked = time.perf_counter() - begin, _processor_s() - worked
    return [
        row("series of 500 uncompressed slices: first one shown", first, "ms", most=FIRST_MS),
        row("series of 500 uncompressed slices: all there", loaded, "s", most=ALL_S),
        row("series of 500 uncompressed slices: processor time of all processes", worked, "s"),
    ]


def _open(app: Any, jobs: Any, pane: Any, address: Any) -> None:
    from semblance.app.shell.jobs import WorkerPool
    from semblance.core.workflows.imaging import view_images

    shown: list[Any] = []
    job = jobs.run("", view_images.view_file, address, pool=WorkerPool.READ, quiet=True)
    job.done.connect(shown.append)
    _until(app, lambda: shown)
    pane.show_viewed(shown[0], None, address, None)


def _scrolled(app: Any, pane: Any) -> list[dict[str, Any]]:
    times = []
    for index in range(SLICES):
        # Of the window's own thread: nothing is waited for where every slice is loaded.
        begin = time.thread_time()
        pane.slices.go_to_slice(index)
        pane.view.repaint()
        times.append(1000 * (time.thread_time() - begin))
    app.processEvents()
    return [
        row(
            "slices of 512 x 512: scrolling frame, 99 %", float(np.percentile(times, 99)), "ms", most=FRAME_MS
        )
    ]


def _planes(app: Any, jobs: Any, pane: Any) -> list[dict[str, Any]]:
    from semblance.app.viewer.plane_views import PlaneViews
    from semblance.core.workflows.imaging.view_images import StackFacts

    views = PlaneViews(jobs, pane)
    views.resize(500, 1000)
    views.show()
    views.on = True
    begin = time.perf_counter()
    views.begin(StackFacts(SLICES, pane.slices.place, (1.0, 0.7, 0.7), ("S", "P", "L")))
    _until(app, lambda: views.views[1].image is not None and views.views[2].image is not None)
    opened = time.perf_counter() - begin
    times = []
    for step in range(40):
        begin = time.perf_counter()
        x, y = 20 + 10 * step, 480 - 10 * step
        pane.view.located.emit(x, y)
        expected_texts = {1: f"Coronal {y + 1} of", 2: f"Sagittal {x + 1} of"}
        _until(
            app,
            lambda expected_texts=expected_texts: all(
                views.views[axis].slice_text.startswith(text) for axis, text in expected_texts.items()
            ),
        )
        times.append(1000 * (time.perf_counter() - begin))
    views.set_shown(False)
    views.end()
    _until(app, lambda: not jobs.active)
    views.close()
    views.deleteLater()
    return [
        row("three planes of 500 slices: shown", opened, "s"),
        row("three planes of 500 slices: the cross moves both others, median", float(np.median(times)), "ms"),
    ]


def _resident(app: Any, jobs: Any, pane: Any, address: Any) -> list[dict[str, Any]]:
    """Memory while a series of 2 GB is gone through from end to end."""
    _open(app, jobs, pane, address)
    peak = whole = 0.0
    for index in range(0, SLICES * AGAIN, 100):
        pane.slices.go_to_slice(index)
        _until(app, lambda index=index: index in pane.slices.loaded)
        _until(app, lambda: not pane.slices.busy)
        window = _resident_mb("self")
        peak = max(peak, window)
        workers = sum(_resident_mb(str(child.pid)) for child in multiprocessing.active_children())
        whole = max(whole, window + workers)
    if peak == 0:
        return []
    return [
        row("series of 2 GB: resident in the window's process", peak, "MB", most=RESIDENT_MB),
        row("series of 2 GB: resident with the processes that read it", whole, "MB"),
    ]


def _processor_s() -> float:
    """Of this process and its workers, on how loaded a machine ever."""
    total = time.process_time()
    for child in multiprocessing.active_children():
        try:
            fields = Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        ticks = fields.rpartition(")")[2].split()[11:13]
        total += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return total


def _resident_mb(process: str) -> float:
    """0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS:")), 0.0)


def _until(app: Any, condition: Callable[[], object]) -> None:
    begin = time.perf_counter()
    while not condition():
        app.processEvents()
        time.sleep(0.0005)
        if time.perf_counter() - begin > _PATIENCE_S:
            raise TimeoutError("what was waited for did not come")
