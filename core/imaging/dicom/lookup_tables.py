"""Look-up tables: modality, VOI and palette, in every form that files have.

pydicom's ``apply_modality_lut``, ``apply_voi_lut`` and ``apply_color_lut`` are not used for them because they raise or
give wrong numbers for tables of 8 bits packed two to a word, entries that are written as SS or have other than 8 or
16 bits, a first number of signed pixels that is written as US, palettes of 16 bits in big-endian files, and palettes
of 8 bits whose indices have 16. Only segmented palettes are expanded by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.dicom.attributes import numbers, value

if TYPE_CHECKING:
    from pydicom import Dataset

_MOST = 65536
_BYTE = 8
_COLOURS = ("Red", "Green", "Blue")


@dataclass(frozen=True, eq=False)
class LookupTable:
    """``outputs`` (n,) uint16 for the numbers from ``first`` on; lower numbers have the first output, higher ones the
    last. ``bits`` of an output, as stated or as the outputs prove."""

    first: int
    outputs: npt.NDArray[np.uint16]
    bits: int

    @property
    def last(self) -> int:
        """The last number that has an output of its own."""
        return self.first + len(self.outputs) - 1

    def mapped(self, stored: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
        """The outputs of whole numbers."""
        places = np.clip(stored.astype(np.int64) - self.first, 0, len(self.outputs) - 1)
        return self.outputs[places]


def lut_of(item: Dataset, lowest: float, *, little: bool) -> LookupTable | None:
    """The table of an item of a Modality or VOI LUT Sequence (PS3.3 C.11.1.1, C.11.2.1.1); ``None`` where it is
    missing or cut off. ``lowest``: the least number that it can be asked for; ``little``: the byte order."""
    data = value(item, "LUTData")
    return _table(numbers(item, "LUTDescriptor"), data, lowest, little=little)


def palette_of(dataset: Dataset, lowest: float, *, little: bool) -> tuple[LookupTable, ...] | None:
    """The tables of red, green and blue (PS3.3 C.7.6.3.1.5, C.7.6.3.1.6, C.7.9.2); ``None`` where one is missing or cut
    off."""
    described = numbers(dataset, "RedPaletteColorLookupTableDescriptor")
    segments = (value(dataset, f"Segmented{colour}PaletteColorLookupTableData") for colour in _COLOURS)
    if len(described) == 3 and all(segments):
        dataset, little = _expanded(dataset, little=little), True
    tables = []
    for colour in _COLOURS:
        descriptor = numbers(dataset, f"{colour}PaletteColorLookupTableDescriptor")
        data = value(dataset, f"{colour}PaletteColorLookupTableData")
        table = _table(descriptor, data, lowest, little=little)
        if table is None:
            return None
        tables.append(table)
    return tuple(tables)


def _table(described: tuple[float, ...], data: Any, lowest: float, *, little: bool) -> LookupTable | None:
    if len(described) != 3 or data is None:
        return None
    count, first, bits = (int(part) for part in described)
    # Zero stands for 65,536; a descriptor written as SS has negative counts above 32,767.
    count = count % _MOST or _MOST
    if first > 0x7FFF and lowest < 0:
        first -= _MOST
    elif first < 0 <= lowest:
        first += _MOST
    if isinstance(data, bytes):
        words = np.frombuffer(data[: len(data) // 2 * 2], "<u2" if little else ">u2")
    else:
        # US or SS: the bits of an entry count, not its sign (PS3.3 C.11.1.1.1).
        listed = np.atleast_1d(np.asarray(data, dtype=np.float64))
        if not np.isfinite(listed).all() or (np.abs(listed) > _MOST - 1).any():
            return None
        words = listed.astype(np.int64) % _MOST
    outputs = words.astype("<u2")
    if len(outputs) < count <= 2 * len(outputs) + len(data) % 2:
        packed = data if isinstance(data, bytes) and little else outputs.tobytes()
        outputs = np.frombuffer(packed, np.uint8).astype(np.uint16)
    outputs = outputs[:count].astype(np.uint16)
    if len(outputs) < count:
        return None
    needed, stated = int(outputs.max()).bit_length(), bits % _MOST
    # Writers state 16 bits for entries of 8, which would all be black.
    if not 1 <= stated <= 16 or (stated == 16 and needed <= _BYTE):
        stated = _BYTE
    return LookupTable(first, outputs, max(needed, stated))


def _expanded(dataset: Dataset, *, little: bool) -> Dataset:
    """The palette with its segments written out (PS3.3 C.7.9.2), as little endian."""
    from pydicom import Dataset
    from pydicom.pixels.processing import apply_color_lut

    part, out = Dataset(), Dataset()
    part.set_original_encoding(is_implicit_vr=False, is_little_endian=little)
    for colour in _COLOURS:
        for kind in (
            f"{colour}PaletteColorLookupTableDescriptor",
            f"Segmented{colour}PaletteColorLookupTableData",
        ):
            if kind in dataset:
                part[kind] = dataset[kind]
    count, first, bits = (int(one) for one in numbers(part, "RedPaletteColorLookupTableDescriptor"))
    every = np.arange(count % _MOST or _MOST, dtype=np.int64) + first
    entries = apply_color_lut(every, part).astype("<u2")
    for index, colour in enumerate(_COLOURS):
        setattr(out, f"{colour}PaletteColorLookupTableDescriptor", [count, first, bits])
        setattr(out, f"{colour}PaletteColorLookupTableData", entries[:, index].tobytes())
    return out
