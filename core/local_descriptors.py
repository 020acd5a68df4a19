"""The layout of local descriptors in the row of an image: several small integers in one column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]

#: Integers of so many bits are exact in float32.
EXACT_BITS = 24
#: The value of all columns of a missing descriptor.
NO_DESCRIPTOR = -1.0


@dataclass(frozen=True)
class DescriptorPacking:
    """Descriptors of ``len(low)`` values between ``low`` and ``high``, each stored in ``bits`` bits.

    One column of a row holds ``24 // bits`` values, one place ``columns`` of them next to one another; a row is one
    place after another, those that the image lacks (:data:`NO_DESCRIPTOR`) last. ``whitened``: the values have
    different units, so words are found after whitening.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    bits: int
    whitened: bool = False

    @property
    def values(self) -> int:
        """Values of one descriptor."""
        return len(self.low)

    @property
    def columns(self) -> int:
        """Columns of one place."""
        return -(-self.values // self.values_per_column)

    @property
    def largest(self) -> int:
        """The largest number a column can hold."""
        return (1 << self.bits * self.values_per_column) - 1

    @property
    def values_per_column(self) -> int:
        """Values in one column."""
        return EXACT_BITS // self.bits

    def pack(self, descriptors: npt.NDArray[np.floating] | npt.NDArray[np.uint8], places: int) -> Floats:
        """(places * columns,) a row, of ``descriptors`` (p, values) with p <= places."""
        low, high = np.array(self.low), np.array(self.high)
        top = (1 << self.bits) - 1
        steps = np.rint((descriptors - low) * (top / (high - low)))
        padded = np.zeros((len(descriptors), self.columns * self.values_per_column), dtype=np.int64)
        padded[:, : self.values] = np.clip(steps, 0, top)
        whole = padded.reshape(len(descriptors), self.columns, self.values_per_column)
        row = np.full((places, self.columns), NO_DESCRIPTOR, dtype=np.float32)
        row[: len(descriptors)] = (whole << self._shifts()).sum(axis=2)
        return row.reshape(-1)

    def places(self, rows: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
        """(n, places) which places of rows (n, d) there are."""
        there: npt.NDArray[np.bool_] = np.all(rows.reshape(len(rows), -1, self.columns) >= 0, axis=2)
        return there

    def unpack(self, row: npt.NDArray[np.floating], chosen: Places | None = None) -> Floats:
        """(p, values) the descriptors of a row (d,): of all places there are, or of those ``chosen``."""
        packed = row.reshape(-1, self.columns)[self.places(row[None])[0] if chosen is None else chosen]
        top = (1 << self.bits) - 1
        whole = (packed.astype(np.int32)[:, :, None] >> self._shifts().astype(np.int32)) & np.int32(top)
        low, high = (np.array(bound, dtype=np.float32) for bound in (self.low, self.high))
        steps = whole.reshape(len(packed), self.columns * self.values_per_column)[:, : self.values].astype(
            np.float32
        )
        return np.asarray(steps * ((high - low) / np.float32(top)) + low, dtype=np.float32)

    def _shifts(self) -> npt.NDArray[np.int64]:
        return self.bits * np.arange(self.values_per_column, dtype=np.int64)
