"""Gabor features against scikit-image, one thread each, and images a second with decoding."""

from __future__ import annotations

import multiprocessing
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from semblance.core.engine import limit_threads
from semblance.core.features import make_extractor
from semblance.core.features.gabor import FREQUENCIES, GRID, ORIENTATIONS, SIZE, gabor_bank
from semblance.core.imaging import ImageAddress, ImageReader
from tests.benchmarks.harness import row

ROUNDS = 7
#: Of ours a round, for one of scikit-image's.
CALLS = 20
PASSES = 5
WORKERS = 2
CHUNK = 25

ARCHIVE = Path("images") / "corel1k_a.zip"


def by_scikit_image(grey: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], float]:
    """(5, 8, 8, 8) block means and the largest magnitude."""
    from skimage.filters import gabor

    means = np.empty((len(FREQUENCIES), len(ORIENTATIONS), GRID, GRID))
    largest = 0.0
    for scale, frequency in enumerate(FREQUENCIES):
        for turn, theta in enumerate(ORIENTATIONS):
            real, imaginary = gabor(grey, frequency, theta, mode="reflect")
            magnitude = np.sqrt(real**2 + imaginary**2)
            largest = max(largest, float(magnitude.max()))
            means[scale, turn] = magnitude.reshape(GRID, SIZE // GRID, GRID, -1).mean(axis=(1, 3))
    return means, largest


def seconds(function: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def against_scikit_image() -> list[dict[str, Any]]:
    bank = gabor_bank()
    rng = np.random.default_rng(0)
    error = 0.0
    peer, ours = [], []
    with threadpool_limits(1):
        bank.block_means(rng.random((SIZE, SIZE), dtype=np.float32))
        for _ in range(ROUNDS):
            grey = rng.random((SIZE, SIZE))
            start = time.perf_counter()
            expected, largest = by_scikit_image(grey)
            peer.append(time.perf_counter() - start)
            single = grey.astype(np.float32)
            ours += [seconds(bank.block_means, single) for _ in range(CALLS)]
            error = max(error, float(np.abs(bank.block_means(single) - expected).max()) / largest)
    ratio = median(peer) / median(ours)
    return [
        row("difference from scikit-image / largest magnitude", error * 1e6, "1e-6", 1000, error <= 1e-3),
        row("scikit-image, an image of 128x128, one thread", median(peer) * 1e3, "ms"),
        row("ours, an image of 128x128, one thread", median(ours) * 1e3, "ms"),
        row("times scikit-image's speed", ratio, "x", least=60),
    ]


class _Worker:
    """What a worker process keeps between its chunks."""

    barrier: Barrier
    reader: ImageReader


def start_worker(barrier: Barrier) -> None:
    limit_threads()
    _Worker.barrier, _Worker.reader = barrier, ImageReader()


def get_ready(extractor: str, container: Path, member: str) -> None:
    """Load everything, then wait for the other workers."""
    extract(extractor, container, [member])
    _Worker.barrier.wait(timeout=120)


def extract(extractor: str, container: Path, members: list[str]) -> int:
    extractor_instance = make_extractor(extractor)
    for member in members:
        extractor_instance.extract(_Worker.reader.open(ImageAddress(container, member)))
    return len(members)


def images_a_second(extractor: str, container: Path, workers: int) -> float:
    """From JPEG bytes in the archive to numbers; the median pass over all images."""
    with zipfile.ZipFile(container) as archive:
        members = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
    chunks = [members[start : start + CHUNK] for start in range(0, len(members), CHUNK)]
    context = multiprocessing.get_context("spawn")
    rates = []
    with ProcessPoolExecutor(workers, context, start_worker, (context.Barrier(workers),)) as pool:
        for ready in [pool.submit(get_ready, extractor, container, members[0]) for _ in range(workers)]:
            ready.result()
        for _ in range(PASSES):
            start = time.perf_counter()
            under_way = [pool.submit(extract, extractor, container, chunk) for chunk in chunks]
            done = sum(future.result() for future in under_way)
            rates.append(done / (time.perf_counter() - start))
    return median(rates)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; those with decoding need the real data."""
    rows = against_scikit_image()
    if data is not None:
        container = data / ARCHIVE
        both = images_a_second("gabor", container, WORKERS)
        rows += [
            row("gabor from Corel JPEGs, two processes", both, "images/s", least=180),
            row("gabor from Corel JPEGs, one process", images_a_second("gabor", container, 1), "images/s"),
            row(
                "colour_edge_texture from Corel JPEGs, one process",
                images_a_second("colour_edge_texture", container, 1),
                "images/s",
            ),
        ]
    return rows
