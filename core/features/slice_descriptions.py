"""Descriptions of the slices of a volume, packed into one row of bytes.

Slices at most 5 mm apart are described: each as a whole by one row of 8-bit numbers, and by its places. A volume takes
at most :data:`ROW_BYTES`. Where it has so many slices that the places of all do not fit, every second, third ... of its
slices has places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Codes

#: Bytes of a packed volume.
ROW_BYTES = 200_000
#: Described slices lie at most so many mm apart.
FARTHEST_MM = 5.0
#: Described slices of a volume: so many cover 2 m. Where no distance is known, fewer are spread over all slices.
MOST, MOST_WITHOUT_DISTANCE = 400, 64
#: The numbers before the slices: count of slices, numbers of a whole, rows, columns and numbers of places, their step.
_HEADER = 6
_INTEGER = np.dtype("<u4")


@dataclass(frozen=True, eq=False)
class SliceDescriptions:
    """What is known of s slices of a volume.

    ``slices`` (s,): their numbers from 0 in the order of space, ascending. ``wholes`` (s, w): each slice as a whole.
    ``places`` (p, rows, columns, m): the places of every ``step``-th of them, of the first to begin with.
    """

    slices: npt.NDArray[np.intp]
    wholes: Codes
    places: Codes
    step: int = 1

    @property
    def placed(self) -> npt.NDArray[np.intp]:
        """(p,) which of ``slices`` the places belong to, as positions from 0."""
        return np.arange(0, len(self.slices), self.step, dtype=np.intp)

    def packed(self, row_bytes: int = ROW_BYTES) -> Codes:
        """(row_bytes,) all of it, zeros after its end.

        Places of slices are left out evenly until it fits.

        Raises:
            ValueError: not even the wholes fit.
        """
        count, width = self.wholes.shape
        _, rows, columns, numbers = self.places.shape
        room = row_bytes - (_HEADER + count) * _INTEGER.itemsize - self.wholes.nbytes
        most = room // max(1, rows * columns * numbers)
        if most < 1:
            raise ValueError(f"{count} slices do not fit into {row_bytes} bytes.")
        coarser = -(-len(self.places) // most)
        head = [count, width, rows, columns, numbers, self.step * coarser, *self.slices.tolist()]
        parts = [
            np.array(head, dtype=_INTEGER).view(np.int8),
            self.wholes.reshape(-1),
            self.places[::coarser].reshape(-1),
        ]
        found = np.zeros(row_bytes, dtype=np.int8)
        content = np.concatenate(parts)
        found[: len(content)] = content
        return found

    @classmethod
    def unpacked(cls, row: Codes) -> Self:
        """The inverse of :meth:`packed`; views into ``row`` (b,) where that is contiguous.

        Raises:
            ValueError: it is damaged.
        """
        row = np.ascontiguousarray(row)
        head = _integers(row, 0, _HEADER)
        count, width, rows, columns, numbers, step = head.tolist()
        if not count or not step:
            raise ValueError("A row without slices.")
        at = _HEADER * _INTEGER.itemsize
        slices = _integers(row, at, count).astype(np.intp)
        at += count * _INTEGER.itemsize
        placed = -(-count // step)
        end = at + count * width + placed * rows * columns * numbers
        if end > len(row) or (np.diff(slices) <= 0).any():
            raise ValueError("A row of slices is damaged.")
        wholes = row[at : at + count * width].reshape(count, width)
        places = row[at + count * width : end].reshape(placed, rows, columns, numbers)
        return cls(slices, wholes, places, step)


def _integers(row: Codes, at: int, count: int) -> npt.NDArray[np.uint32]:
    """``count`` integers of ``row`` from the byte ``at`` on."""
    end = at + count * _INTEGER.itemsize
    if end > len(row):
        raise ValueError("A row of slices is damaged.")
    return np.frombuffer(row[at:end].tobytes(), dtype=_INTEGER)


def described_slices(
    depth: int, distance_mm: float | None, first: int = 0, end: int | None = None
) -> npt.NDArray[np.intp]:
    """(s,) the slices to describe of those from ``first`` up to ``end`` of a volume of ``depth``, ascending, evenly
    spread.

    ``distance_mm``: from each slice to the next; ``None`` where it is unknown, as between the frames of a film.
    """
    end = depth if end is None else min(end, depth)
    count = max(1, end - first)
    if distance_mm is not None and distance_mm > 0:
        step, most = max(1, int(FARTHEST_MM / distance_mm + 1e-6)), MOST
    else:
        step, most = 1, MOST_WITHOUT_DISTANCE
    step = max(step, -(-count // most))
    # The slice that represents the volume is one of them.
    middle = first + count // 2
    return np.arange(first + (middle - first) % step, first + count, step, dtype=np.intp)
