"""The map of 100,000 cases: its first image, a repaint, and a round of its growth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from semblance.app.evaluation.map_points import SHAPES, draw_points, inside_outline, point_width
from semblance.core.evaluation.projection import MAX_MOVED, NeighbourMap, euclidean_distances, principal_axes
from tests.benchmarks.harness import row

N, WIDTH = 100_000, 64
FRAME = (1400, 360)


def run(data: Path | None) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(40, WIDTH)) * 3)[rng.integers(0, 40, N)] + rng.normal(size=(N, WIDTH))
    kind = rng.integers(0, 4, N).astype(np.int16)
    began = time.perf_counter()
    plane = principal_axes(rows)
    axes = time.perf_counter() - began
    x, y = (plane.places * 20 + (FRAME[0] / 2, FRAME[1] / 2)).astype(np.float32).T
    colours = np.arange(12, dtype=np.uint8).reshape(4, 3)
    frames = []
    for _ in range(5):
        began = time.perf_counter()
        draw_points(FRAME, x, y, kind, colours, SHAPES[:4], point_width(N), (0, 0, 0))
        frames.append(time.perf_counter() - began)
    outline = rng.uniform(0, 300, (200, 2)).astype(np.float32)
    began = time.perf_counter()
    inside_outline(x, y, outline)
    line = time.perf_counter() - began
    began = time.perf_counter()
    growing = NeighbourMap(plane.places, euclidean_distances(rows), maximum=MAX_MOVED).grow()
    next(growing)
    ready = time.perf_counter() - began
    began = time.perf_counter()
    for _ in range(10):
        next(growing)
    one = (time.perf_counter() - began) / 10
    return [
        row("principal axes of 100,000 x 64", axes, "s", most=1.0),
        row("drawing 100,000 points, slowest of five", max(frames), "s", most=0.05),
        row("cases within a line of 200 points", line, "s", most=0.05),
        row("neighbours of 10,000, the others placed", ready, "s"),
        row("one round of 750", one, "s"),
    ]
