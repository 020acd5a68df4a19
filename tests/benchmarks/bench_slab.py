"""Slabs of a volume of 512 x 512 x 300 voxels: the time of a plane while scrolling, beside reading and copying the
bytes of the slab once, which is the least that any way takes; and the error against a plain reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.imaging.cut_planes import cut_planes
from semblance.core.imaging.slab import Slab, SlabMode, slab_image
from semblance.core.imaging.volume import Volume
from tests.benchmarks.harness import row

SHAPE, SPACING = (300, 512, 512), (1.0, 0.7, 0.7)
THICKNESS_MM, PLACE = (10.0, 50.0), 150
#: A frame of the screen with two planes beside the slice.
FRAME_MS = 50.0
_REFERENCES: dict[SlabMode, Callable[..., Any]] = {
    SlabMode.MAXIMUM: np.max,
    SlabMode.MINIMUM: np.min,
    SlabMode.AVERAGE: np.mean,
}


def run(_data: Path | None) -> list[dict[str, Any]]:
    voxels = np.random.default_rng(0).integers(-1000, 2000, SHAPE).astype(np.int16)
    volume = Volume(voxels, spacing_mm=SPACING)
    rows: list[dict[str, Any]] = []
    worst = 0.0
    for thickness in THICKNESS_MM:
        for plane in cut_planes(("I", "P", "L")):
            axis = plane.across
            for mode in SlabMode:
                slab = Slab(mode, thickness)
                first, behind = slab.extent(PLACE, SHAPE[axis], SPACING[axis])
                inside = np.moveaxis(voxels, axis, 0)[first:behind]
                # In the order in which the volume is stored.
                part = np.moveaxis(inside, 0, axis)
                taken = _ms(lambda slab=slab, plane=plane: slab_image(volume, plane, PLACE, slab))
                floor = _ms(lambda part=part: np.array(part, order="C"))
                name = f"{mode.value} {thickness:.0f} mm, {plane.name}"
                rows.append(row(name, taken, "ms", most=FRAME_MS))
                rows.append(row(f"{name}, times a copy of its {part.nbytes >> 20} MB", taken / floor, "x"))
                found = slab_image(volume, plane, PLACE, slab)[0].pixels.astype(np.float64)
                expected = _REFERENCES[mode](part.astype(np.float64), axis=axis)
                worst = max(worst, float(np.abs(found - expected).max()))
    rows.append(row("greatest difference from NumPy in float64", worst, "HU", 1e-3, worst < 1e-3))
    return rows


def _ms(call: Callable[[], object], times: int = 5) -> float:
    call()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return 1000 * min(taken)
