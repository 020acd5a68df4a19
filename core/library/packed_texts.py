"""Many texts in one piece of memory, and their natural order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import overload

import numpy as np
import numpy.typing as npt

from semblance.core.library.natural_key import DIGITS, natural_key
from semblance.core.normal_text import composed

#: Behind each text, so that no word without white space runs from one text into the next.
_END = "\n"
#: Bytes of a key that are compared at once, behind what all texts begin with; texts made at once.
_KEY_BYTES, _PART = 64, 1 << 16
#: With more than one in so many chosen, all texts are made at once.
_MANY = 16


class PackedTexts(Sequence[str]):
    """n texts as UTF-8: as compact, and as fast to send to another process, as an array. Immutable.

    ``data``: the texts, a line feed behind each. ``ends`` (n,) int64: where each ends, behind its line feed.
    """

    def __init__(self, data: bytes, ends: npt.NDArray[np.int64]) -> None:
        self.data, self.ends = data, ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> PackedTexts:
        """The ``texts`` in their order."""
        listed = list(texts)
        data = (_END.join(listed) + _END if listed else "").encode()
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(_END)) + 1
        if len(ends) != len(listed):
            # A text itself contains a line feed.
            ends = np.cumsum([len(text.encode()) + 1 for text in listed])
        return cls(data, ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple(self[place] for place in range(*at.indices(len(self))))
        place = range(len(self))[at]
        start = int(self.ends[place - 1]) if place else 0
        return self.data[start : int(self.ends[place]) - len(_END)].decode()

    def __iter__(self) -> Iterator[str]:
        listed = self.data.decode().split(_END)
        # A text may itself contain a line feed.
        return iter(listed[:-1] if len(listed) == len(self) + 1 else [self[at] for at in range(len(self))])

    def chosen(self, at: npt.NDArray[np.intp]) -> list[str]:
        """The texts at the places ``at``."""
        texts = self if len(at) < len(self) // _MANY else list(self)
        return [texts[place] for place in at.tolist()]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PackedTexts)
            and self.data == other.data
            and np.array_equal(self.ends, other.ends)
        )

    __hash__ = None  # type: ignore[assignment]

    def casefolded(self) -> PackedTexts:
        """The texts without regard to case, their letters composed; the same object if they have no capitals."""
        if not self.data.isascii():
            return PackedTexts.of(composed(text.casefold()) for text in self)
        lower = self.data.lower()
        return self if lower == self.data else PackedTexts(lower, self.ends)

    def starting_with(self, beginning: str) -> npt.NDArray[np.intp]:
        """The places of the texts that start with ``beginning``."""
        data, sought = np.frombuffer(self.data, dtype=np.uint8), beginning.encode()
        starts = np.append(0, self.ends[:-1])[: len(self)]
        found = np.flatnonzero(self.ends - starts > len(sought))
        for offset, byte in enumerate(sought):
            found = found[data[starts[found] + offset] == byte]
        return found

    def equal_to(self, text: str) -> npt.NDArray[np.intp]:
        """The places of the texts that are ``text``."""
        found = self.starting_with(text)
        size = len(text.encode()) + len(_END)
        is_equal: npt.NDArray[np.bool_] = np.diff(self.ends, prepend=0)[found] == size
        return found[is_equal]

    def containing(self, word: str) -> npt.NDArray[np.bool_]:
        """(n,) which texts contain ``word``, which has no white space."""
        found, sought = np.zeros(len(self), dtype=bool), word.encode()
        if len(sought) <= len(self.data):
            data = np.frombuffer(self.data, dtype=np.uint8)
            at = np.flatnonzero(data[: len(data) - len(sought) + 1] == sought[0])
            for offset, byte in enumerate(sought[1:], start=1):
                at = at[data[at + offset] == byte]
            found[np.searchsorted(self.ends, at, side="right")] = True
        return found


def natural_order(folded: PackedTexts) -> npt.NDArray[np.intp]:
    """(n,) the places of texts without regard to case (:meth:`PackedTexts.casefolded`) in the order of
    :func:`natural_key`; equal keys stay in their order.

    A million take about a second, or a fifth of it where they differ in their numbers alone. Texts with digits of other
    scripts are ordered one by one.
    """
    n, data = len(folded), folded.data
    other_digits = not data.isascii() and any(
        one.isdecimal() and not one.isascii() for one in set(data.decode())
    )
    if not n or b"\0" in data or other_digits:
        names = list(folded)
        return np.array(sorted(range(n), key=lambda at: natural_key(names[at])), dtype=np.intp)
    columns = _all_numbers(folded)
    if columns is not None:
        return np.lexsort(columns[:, ::-1].T) if columns.size else np.arange(n)
    # What the first and the last begin with, all between them begin with too.
    pairs = zip(min(folded), max(folded), strict=False)
    shared = "".join(one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs))
    shared = shared.rstrip("0123456789")
    skipped = len(natural_key(shared).encode())
    keys = np.concatenate([_keys(*part, skipped) for part in _parts(folded)])
    # Bytes of UTF-8 have the order of the characters, and so have eight of them as one big-endian number.
    numbers = keys.view(">u8").astype(np.uint64)
    varying = np.flatnonzero((numbers != numbers[0]).any(axis=0))
    order = np.lexsort(numbers[:, varying[::-1]].T) if varying.size else np.arange(n)
    is_cut = keys[:, -1] != 0
    if is_cut.any():
        _order_further(order, numbers, folded)
    return order


def _parts(texts: PackedTexts) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """The bytes of some of the texts after another, and where in them each ends, behind its line feed."""
    data = np.frombuffer(texts.data, dtype=np.uint8)
    begin = 0
    for start in range(0, len(texts), _PART):
        ends = texts.ends[start : start + _PART]
        yield data[begin : ends[-1]], ends - begin
        begin = ends[-1]


def _all_numbers(folded: PackedTexts) -> npt.NDArray[np.int64] | None:
    """(n, k) the numbers in each text, where the texts differ in nothing else; ``None`` where they do."""
    columns: list[npt.NDArray[np.int64]] = []
    first = None
    for part in _parts(folded):
        found = _numbers(*part)
        if found is None or found[0] != (first or found[0]):
            return None
        first = found[0]
        columns.append(found[1])
    return np.concatenate(columns)


def _numbers(
    data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]
) -> tuple[tuple[bytes, bytes], npt.NDArray[np.int64]] | None:
    """What stands around the numbers of the n texts in ``data``, and (n, k) their numbers; ``None`` where they differ
    in more, or where a number has too many digits to be padded."""
    n = len(ends)
    is_digit, begins, lengths = _digit_runs(data)
    sizes = np.add.reduceat(~is_digit, np.append(0, ends[:-1]), dtype=np.int64)
    if (sizes != sizes[0]).any() or len(begins) % n or lengths.max(initial=0) > DIGITS:
        return None
    others = data[~is_digit].reshape(n, -1)
    stops = np.cumsum(lengths)
    starts = stops - lengths
    # Between which of the other characters a number stands.
    places = (begins - starts).reshape(n, -1) - (np.cumsum(sizes) - sizes)[:, np.newaxis]
    if (others != others[0]).any() or (places != places[0]).any():
        return None
    values = (data[is_digit] - ord("0")) * 10 ** (np.repeat(stops, lengths) - np.arange(1, lengths.sum() + 1))
    numbers = np.add.reduceat(values, starts) if len(starts) else values
    return (others[0].tobytes(), places[0].tobytes()), numbers.reshape(n, -1)


def _digit_runs(
    data: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Which characters are digits, where each number begins, and how many digits it has. The last is no digit."""
    is_digit = (data >= ord("0")) & (data <= ord("9"))
    edges = np.flatnonzero(np.diff(is_digit, prepend=False))
    return is_digit, edges[::2], edges[1::2] - edges[::2]


def _order_further(order: npt.NDArray[np.intp], numbers: npt.NDArray[np.uint64], folded: PackedTexts) -> None:
    """Order the texts whose first bytes are equal by the whole of their keys."""
    ordered = numbers[order]
    begins = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
    ends = np.append(begins[1:], len(order))
    for group in np.flatnonzero(ends - begins > 1).tolist():
        equal = slice(begins[group], ends[group])
        order[equal] = sorted(order[equal].tolist(), key=lambda at: natural_key(folded[at]))


def _keys(data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], skipped: int) -> npt.NDArray[np.uint8]:
    """(n, _KEY_BYTES) of each of the n texts in ``data`` the bytes of its natural key from ``skipped`` on, and zeros
    behind them."""
    _, begins, lengths = _digit_runs(data)
    missing = np.maximum(0, DIGITS - lengths)
    padding = np.zeros(len(data), dtype=np.int64)
    padding[begins] = missing
    shift = np.cumsum(padding)
    starts = np.append(0, ends[:-1])
    text = np.repeat(np.arange(len(starts)), ends - starts)
    first = starts + shift[starts] - padding[starts] + skipped
    column = np.arange(len(data)) + shift - first[text]
    keys = np.zeros((len(starts), _KEY_BYTES), dtype=np.uint8)
    zero = np.repeat(column[begins] - missing, missing) + _counted(missing)
    zero_text = np.repeat(text[begins], missing)
    data = data.copy()
    data[ends - 1] = 0
    for rows, columns, values in ((text, column, data), (zero_text, zero, None)):
        inside = (columns >= 0) & (columns < _KEY_BYTES)
        keys[rows[inside], columns[inside]] = ord("0") if values is None else values[inside]
    return keys


def _counted(lengths: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """0, 1, ... up to each of ``lengths``, one after another."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
