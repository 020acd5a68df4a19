"""Mass features of regions of 256 x 256 pixels a second, drawn and to be segmented."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from semblance.core.engine import limit_threads
from semblance.core.features import make_extractor
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region, region_of_mask
from tests.benchmarks.harness import row

SIDE = 256
REGIONS = 40
WORKERS = 2
PASSES = 3
TARGET = 40.0


def masses(count: int, seed: int = 0) -> list[tuple[Image, Region]]:
    """Bright lobed masses of 60 to 200 pixels in smooth noise, with their outlines as masks."""
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    turn = np.arctan2(y, x)
    regions = []
    for _ in range(count):
        radius = rng.uniform(30, 100) * (1 + rng.uniform(0, 0.2) * np.cos(rng.integers(2, 9) * turn))
        mask = np.hypot(x, y) <= radius
        tissue = ndimage.gaussian_filter(rng.normal(0, 1, (SIDE, SIDE)), 3) * 0.3
        grey = 0.35 + 0.25 * ndimage.gaussian_filter(mask.astype(float), 3) + tissue
        grey += rng.normal(0, 0.02, grey.shape)
        regions.append(
            (Image((np.clip(grey, 0, 1) * 255).round().astype(np.uint8), 255.0), region_of_mask(mask))
        )
    return regions


def measured(rough: bool, seed: int) -> tuple[float, float]:
    """Seconds, by the clock and of the processor, for ``REGIONS`` regions here; ``rough``: only the
    rectangle is given."""
    extractor = make_extractor("mass")
    found = masses(REGIONS, seed)
    extractor.extract(*found[0])
    start, busy = time.perf_counter(), time.process_time()
    for image, region in found:
        box = Region(region.x, region.y, region.width, region.height)
        extractor.extract(image, box if rough else region)
    return time.perf_counter() - start, time.process_time() - busy


def regions_a_second(rough: bool) -> tuple[float, float]:
    """Of two processes side by side, and processor seconds a region; the median pass."""
    context = multiprocessing.get_context("spawn")
    rates, busy = [], []
    with ProcessPoolExecutor(WORKERS, context, limit_threads) as pool:
        for number in range(PASSES):
            seeds = [2 * number + worker for worker in range(WORKERS)]
            seconds = list(pool.map(measured, [rough] * WORKERS, seeds))
            rates.append(sum(REGIONS / seconds_taken for seconds_taken, _ in seconds))
            busy.append(sum(used for _, used in seconds) / (WORKERS * REGIONS))
    return median(rates), median(busy)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    rows = []
    for rough, what in ((False, "drawn outlines"), (True, "rectangles, segmented first")):
        rate, busy = regions_a_second(rough)
        rows.append(row(f"mass features of 256x256, {what}, two processes", rate, "regions/s", least=TARGET))
        rows.append(row(f"processor time a region, {what}", busy * 1e3, "ms"))
    return rows
