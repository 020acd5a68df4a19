"""The names of files without folders and endings, and which of them are repeated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.library.packed_texts import Texts

_Places = npt.NDArray[np.int32]


def file_stems(ids: Texts) -> tuple[Texts, npt.NDArray[np.bool_]]:
    """The name of the file in each of n different case ids, without its ending; ``#2`` of the second case in a file
    stays. And (n,) whether the name does not occur before."""
    n, data = len(ids), np.frombuffer(ids.data, dtype=np.uint8)
    stops = (ids.ends - 1).astype(np.int32)
    begins = np.append(np.int32(0), stops + 1)[:-1]
    starts = np.maximum(begins, _last(data, "/", stops) + 1)
    marks = _last(data, "#", stops)
    numbered = (marks > starts) & (marks < stops - 1)
    if numbered.any():
        is_digit = (data >= ord("0")) & (data <= ord("9"))
        digits = np.append(0, np.cumsum(is_digit, dtype=np.int32))
        numbered &= digits[stops] - digits[marks + 1] == stops - marks - 1
    ends = np.where(numbered, marks, stops)
    dots = _last(data, ".", ends)
    name_ends = np.where((dots > starts) & (dots < ends - 1), dots, ends)
    # Folders, name, ending, and the number with the line feed.
    parts = np.stack([starts - begins, name_ends - starts, ends - name_ends, stops + 1 - ends], axis=1)
    kept = np.repeat(np.tile(np.array([False, True, False, True]), n), parts.ravel())
    stems = Texts(data[kept].tobytes(), np.cumsum(parts[:, 1] + parts[:, 3], dtype=np.int64))
    if _repeat_alike(data[~kept], n):
        # Different ids in one folder, with one ending.
        return stems, np.ones(n, dtype=bool)
    return stems, _is_first(list(stems))


def _last(data: npt.NDArray[np.uint8], character: str, before: _Places) -> _Places:
    """(n,) where the last ``character`` stands before each place; -1 where none does."""
    places = np.append(-1, np.flatnonzero(data == ord(character))).astype(np.int32)
    found: _Places = places[np.searchsorted(places, before) - 1]
    return found


def _repeat_alike(data: npt.NDArray[np.uint8], n: int) -> bool:
    """Whether ``data`` is the same ``n`` times."""
    return n > 0 and len(data) % n == 0 and bool((data.reshape(n, -1) == data[: len(data) // n]).all())


def _is_first(names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """(n,) whether the name does not occur before."""
    places: dict[str, int] = {}
    return np.fromiter((places.setdefault(name, at) == at for at, name in enumerate(names)), bool, len(names))
