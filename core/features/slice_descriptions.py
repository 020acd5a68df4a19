"""Descriptions of the slices of a volume, packed into one row of bytes.

Slices at most 5 mm apart are described: each as a whole in 8-bit numbers, and by its places. Of a coded place
(:class:`semblance.core.features.places.PlaceCoding`) the signs of its numbers are kept, 64 bits: with the places of a
query as they are, these rank slices nearly as the 8-bit numbers do, in an eighth of the space. Where a volume has so
many slices that they do not fit into :data:`ROW_BYTES`, 2 x 2 places are averaged first.

A whole is the average of the encoder's last maps beside that of the map of the places, each of length 1, projected on
random signs (D. Achlioptas, "Database-friendly random projections", JCSS 66, 2003), which nothing is fitted for.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import LARGEST, Codes, Floats, PlaceCoding, unit_codes, unit_rows

#: Of places (..., rows, columns): the signs of their numbers, the first in the lowest bit.
SignCodes = npt.NDArray[np.uint64]

#: Bytes of a packed volume.
ROW_BYTES = 200_000
#: Described slices lie at most so many mm apart.
FARTHEST_MM = 5.0
#: Described slices of a volume at most: so many cover 1.9 m. Where no distance is known, fewer are spread over all.
MOST, MOST_WITHOUT_DISTANCE = 380, 64
#: Numbers of a whole; half of them where more do not fit.
WHOLE = 256
#: The numbers before the slices: count of slices, numbers of a whole, rows and columns of places.
_HEADER = 4
_INTEGER, _SIGNS = np.dtype("<u4"), np.dtype("<u8")
_BITS = 64
#: The largest number of a whole of length 1 that is coded: four standard deviations.
_TOP = 4.0 / WHOLE**0.5


@dataclass(frozen=True)
class SliceLayout:
    """How the slices of a volume are packed: the average of ``pooled`` x ``pooled`` places, and ``width`` numbers of
    a whole."""

    pooled: int
    width: int

    @classmethod
    def fitting(cls, count: int, rows: int, columns: int, row_bytes: int = ROW_BYTES) -> Self:
        """The finest in which ``count`` slices of ``rows`` x ``columns`` places fit.

        Raises:
            ValueError: not even the coarsest fits.
        """
        room = row_bytes - (_HEADER + count) * _INTEGER.itemsize
        for pooled in (1, 2, 4):
            if pooled > 1 and (rows % pooled or columns % pooled):
                continue
            for width in (WHOLE, WHOLE // 2):
                places = rows * columns // pooled**2
                if count * (width + places * _SIGNS.itemsize) <= room:
                    return cls(pooled, width)
        raise ValueError(f"{count} slices of {rows} x {columns} places do not fit into {row_bytes} bytes.")


@dataclass(frozen=True, eq=False)
class SliceDescriptions:
    """What is known of s slices of a volume.

    ``slices`` (s,): their numbers from 0 in the order of space, ascending. ``wholes`` (s, w): each slice as a whole.
    ``places`` (s, rows, columns): the signs of their places.
    """

    slices: npt.NDArray[np.intp]
    wholes: Codes
    places: SignCodes

    def packed(self, row_bytes: int = ROW_BYTES) -> Codes:
        """(row_bytes,) all of it, zeros after its end.

        Raises:
            ValueError: it does not fit.
        """
        count, width = self.wholes.shape
        head = np.array([count, width, *self.places.shape[1:], *self.slices.tolist()], dtype=_INTEGER)
        places = np.ascontiguousarray(self.places, dtype=_SIGNS)
        content = head.tobytes() + self.wholes.tobytes() + places.tobytes()
        if len(content) > row_bytes:
            raise ValueError(f"{count} slices do not fit into {row_bytes} bytes.")
        return np.frombuffer(content.ljust(row_bytes, b"\0"), dtype=np.int8)

    @classmethod
    def unpacked(cls, row: Codes) -> Self:
        """The inverse of :meth:`packed`.

        Raises:
            ValueError: it is damaged.
        """
        content = np.ascontiguousarray(row).tobytes()
        count, width, rows, columns = _numbers(content, 0, _HEADER, _INTEGER).tolist()
        at = _HEADER * _INTEGER.itemsize
        slices = _numbers(content, at, count, _INTEGER).astype(np.intp)
        at += slices.size * _INTEGER.itemsize
        wholes = _numbers(content, at, count * width, np.dtype(np.int8)).astype(np.int8)
        places = _numbers(content, at + wholes.nbytes, count * rows * columns, _SIGNS)
        if not count or not rows or not columns or (np.diff(slices) <= 0).any():
            raise ValueError("A row of slices is damaged.")
        signs_of_places = places.reshape(count, rows, columns).astype(np.uint64)
        return cls(slices, wholes.reshape(count, width), signs_of_places)


def _numbers(content: bytes, at: int, count: int, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """``count`` numbers of ``content`` from the byte ``at`` on."""
    if at + count * dtype.itemsize > len(content):
        raise ValueError("A row of slices is damaged.")
    return np.frombuffer(content, dtype, count, at)


def described_slices(
    depth: int, distance_mm: float | None, positions_mm: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.intp]:
    """(s,) the slices to describe of a volume of ``depth``, ascending; the one that represents it is among them.

    ``distance_mm``: from each slice to the next; ``None`` where it is unknown, as between the frames of a film: then
    they are spread evenly. ``positions_mm`` (depth,): where each lies, for slices at uneven distances.
    """
    most, step = MOST_WITHOUT_DISTANCE, 1
    if distance_mm is not None and distance_mm > 0:
        most = MOST
        if positions_mm is not None and len(positions_mm) == depth:
            found = _within_distance(positions_mm)
            if len(found) <= most:
                return found
        step = max(1, int(FARTHEST_MM / distance_mm + 1e-6))
    step = max(step, -(-depth // most))
    return np.arange(depth // 2 % step, depth, step, dtype=np.intp)


def _within_distance(positions: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """The fewest slices from the middle one outwards with none farther from the next than it must be."""
    middle = len(positions) // 2
    found = [middle]
    for ahead in (range(middle + 1, len(positions)), range(middle - 1, -1, -1)):
        last = before = middle
        for one in ahead:
            if abs(positions[one] - positions[last]) > FARTHEST_MM + 1e-6 and before != last:
                found.append(last := before)
            before = one
            if abs(positions[one] - positions[last]) > FARTHEST_MM + 1e-6:
                found.append(last := one)
    return np.unique(np.array(found, dtype=np.intp))


def sign_codes(places: Floats) -> SignCodes:
    """(...,) the signs of ``places`` (..., m), of at most 64 numbers each."""
    bits = np.zeros((*places.shape[:-1], _BITS), dtype=np.bool_)
    bits[..., : places.shape[-1]] = places > 0.0
    packed = np.packbits(bits, axis=-1, bitorder="little")
    codes: SignCodes = packed.view(_SIGNS)[..., 0].astype(np.uint64)
    return codes


def signs(codes: SignCodes, width: int) -> Floats:
    """(..., width) of length 1, the inverse of :func:`sign_codes`."""
    packed = np.ascontiguousarray(codes, dtype=_SIGNS)[..., np.newaxis].view(np.uint8)
    bits = np.unpackbits(packed, axis=-1, count=width, bitorder="little")
    found: Floats = bits.astype(np.float32)
    found -= np.float32(0.5)
    found *= np.float32(2.0 / width**0.5)
    return found


def coded_slices(
    features: Floats, maps: Floats, coding: PlaceCoding, layout: SliceLayout
) -> tuple[Codes, SignCodes]:
    """The wholes (s, w) and places (s, rows, columns) of the ``features`` (s, d) and ``maps`` (s, r, c, m)."""
    count, rows, columns, channels = maps.shape
    pooled = layout.pooled
    blocks = maps.reshape(count, rows // pooled, pooled, columns // pooled, pooled, channels)
    places = sign_codes(coding.projected(blocks.mean(axis=(2, 4))))
    whole = np.concatenate([unit_rows(features), unit_rows(maps.mean(axis=(1, 2)))], axis=1)
    projected = unit_rows(whole @ _random_signs(whole.shape[1]))[:, : layout.width]
    steps = np.rint(projected * np.float32(LARGEST / _TOP))
    return np.clip(steps, -LARGEST, LARGEST).astype(np.int8), places


def whole_rows(wholes: Codes, width: int = WHOLE) -> Floats:
    """(s, width) float32 of length 1 of coded ``wholes``, of which those of long volumes have fewer numbers."""
    return unit_codes(wholes[:, :width])


@functools.cache
def _random_signs(numbers: int) -> Floats:
    """(numbers, WHOLE) of -1 and 1, always the same."""
    raw = np.random.PCG64(numbers).random_raw(numbers * WHOLE // _BITS)
    bits = np.unpackbits(np.asarray(raw, dtype=_SIGNS).view(np.uint8), bitorder="little")
    return (bits.reshape(numbers, WHOLE) * np.float32(2.0) - np.float32(1.0)).astype(np.float32)
