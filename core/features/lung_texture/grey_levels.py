"""Pairs and runs of grey levels inside a region."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Levels = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[np.float64]

#: Right, down right, down, down left: the others are these seen from the other end.
DIRECTIONS = ((0, 1), (1, 1), (1, 0), (1, -1))
#: HU of the lowest and of the highest level's outer ends; beyond them the outer levels go on.
LOWEST, HIGHEST = -1000.0, 200.0


def levels_of(hu: npt.NDArray[np.float32], count: int) -> Levels:
    """Densities of any shape as levels 0 to ``count`` - 1 of equal width."""
    scaled = (hu - np.float32(LOWEST)) * np.float32(count / (HIGHEST - LOWEST))
    levels: Levels = np.clip(np.floor(scaled), 0, count - 1).astype(np.int64)
    return levels


def pairs(levels: Levels, inside: Mask, distance: int) -> tuple[Levels, Levels]:
    """(m,) and (m,) the levels of all pixels ``distance`` apart in the four directions, both ``inside``."""
    first, second = [], []
    height, width = levels.shape
    for down, right in DIRECTIONS:
        dy, dx = down * distance, right * distance
        if dy >= height or abs(dx) >= width:
            continue
        here = (slice(0, height - dy), slice(max(0, -dx), width - max(0, dx)))
        there = (slice(dy, height), slice(max(0, dx), width - max(0, -dx)))
        both = inside[here] & inside[there]
        first.append(levels[here][both])
        second.append(levels[there][both])
    if not first:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(first), np.concatenate(second)


def cooccurrence(first: Levels, second: Levels, count: int) -> Table:
    """(count, count) symmetric shares of pairs; all zero without a pair."""
    table = np.bincount(first * count + second, minlength=count * count).reshape(count, count)
    both = (table + table.T).astype(np.float64)
    return both / max(float(both.sum()), 1.0)


def runs(levels: Levels, inside: Mask) -> tuple[Levels, Levels]:
    """(n,) the levels and (n,) the lengths of all runs of one level in the four directions."""
    height, width = levels.shape
    row, column = np.indices((height, width))
    found, lengths = [], []
    for down, right in DIRECTIONS:
        line, place = _lines(row, column, down, right, height, width)
        order = np.lexsort((place.ravel(), line.ravel()))
        # What lies outside is a level of its own, taken out afterwards.
        along = np.where(inside, levels, -1).ravel()[order]
        of_line = line.ravel()[order]
        starts = np.flatnonzero(np.concatenate([[True], (np.diff(along) != 0) | (np.diff(of_line) != 0)]))
        length = np.diff(np.concatenate([starts, [len(along)]]))
        kept = along[starts] >= 0
        found.append(along[starts][kept])
        lengths.append(length[kept])
    return np.concatenate(found), np.concatenate(lengths)


def _lines(
    row: Levels, column: Levels, down: int, right: int, height: int, width: int
) -> tuple[Levels, Levels]:
    """The line in a direction that each pixel lies on, and its place along it."""
    if down == 0:
        return row, column
    return column - right * row + height + width, row
