"""The order in which the cases of a library are measured: those that the user waits for first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.files import create_folder, write_file
from semblance.core.library.location import LibraryLocation, local_folder
from semblance.core.library.records import CHUNK
from semblance.core.tasks import SILENT, Reporter

#: Cases that a worker reads together between two checks for cancellation; the size of the first parts.
STEP = 16

Rows = npt.NDArray[np.int64]


def measure_first(library: LibraryLocation, rows: Sequence[int], *, reporter: Reporter = SILENT) -> None:
    """Request that the cases with the catalogue ids ``rows`` are measured before all others, in this order.

    The request replaces an earlier one. A running extraction measures these cases next, and a later one begins with
    them. Cases that are already measured are skipped. The call is fast and does not write to the catalogue, so no
    metric is loaded again.
    """
    create_folder(_file(library).parent)
    write_file(_file(library), json.dumps([int(row) for row in rows]).encode(), durable=False)


def rows_to_measure_first(library: LibraryLocation) -> list[int]:
    """The last request of :func:`measure_first`; empty without a readable one."""
    try:
        found = json.loads(_file(library).read_bytes())
    except (OSError, ValueError):
        return []
    return [row for row in found if isinstance(row, int)] if isinstance(found, list) else []


def _file(library: LibraryLocation) -> Path:
    # Storing a metric removes old files from the folder of derived data.
    return local_folder(library) / "features" / "measure_first.json"


def useful_workers(workers: int, n_cases: int) -> int:
    """``workers``, or fewer if ``n_cases`` make fewer parts."""
    return min(workers, max(1, -(-n_cases // STEP)))


class MeasuringOrder:
    """Divides the cases ``rows`` (n,), ascending ids, into parts for ``workers`` processes.

    Without ``first`` the parts are as large as a chunk of the store and in order. With it, parts begin with the ids
    that ``first()`` returns. The earliest parts are then small, so that a ranking is possible soon, and ``spread``
    evenly over the rows, so that it does not consist of the first folder alone.
    """

    def __init__(
        self,
        rows: Rows,
        workers: int,
        first: Callable[[], Sequence[int]] | None = None,
        *,
        spread: bool = True,
    ) -> None:
        self._rows = np.empty(0, dtype=np.int64)
        self._open = np.empty(0, dtype=np.bool_)
        self._workers, self._first, self._spread = workers, first, spread
        self._n_handed_out = 0
        self.add(rows)

    def add(self, rows: Rows) -> None:
        """Add those of ``rows`` (n,) that are new."""
        new = np.setdiff1d(rows, self._rows)
        every = np.concatenate([self._rows, new])
        order = np.argsort(every, kind="stable")
        self._rows = every[order]
        self._open = np.concatenate([self._open, np.ones(len(new), dtype=np.bool_)])[order]
        # Few cases are divided too, so that every worker gets a part.
        left = int(self._open.sum())
        self._largest = min(CHUNK, max(STEP, -(-left // self._workers)))

    def __len__(self) -> int:
        """The number of all cases, including those already taken."""
        return len(self._rows)

    def __bool__(self) -> bool:
        """Whether cases are left."""
        return bool(self._open.any())

    def take(self, ahead: Rows | Sequence[int] = ()) -> Rows:
        """(p,) the ids of the next part, p >= 1 while cases are left. While any of ``ahead`` are left, at least half of
        it are of these, and the others of those that ``first`` returns."""
        size = self._largest
        chosen, early = np.empty(0, dtype=np.intp), self._positions(ahead)
        if self._first is not None:
            size = min(size, STEP << min(self._n_handed_out // self._workers, 16))
        if len(early):
            size = min(size, max(STEP, -(-len(early) // self._workers)))
        if self._first is not None:
            chosen = self._positions(self._first())[: size // 2 if len(early) else size]
            self._open[chosen] = False
        self._n_handed_out += 1
        if len(early):
            early = early[self._open[early]][: size - len(chosen)]
            self._open[early] = False
            if len(chosen) or len(early):
                return np.asarray(self._rows[np.concatenate([chosen, early])])
        left = np.flatnonzero(self._open)
        rest = min(size - len(chosen), len(left))
        if rest and self._first is not None and self._spread and size < self._largest:
            left = left[np.linspace(0, len(left) - 1, rest).astype(np.intp)]
        others = left[:rest]
        self._open[others] = False
        part: Rows = self._rows[np.concatenate([chosen, others])]
        return part

    def _positions(self, ids: Rows | Sequence[int]) -> npt.NDArray[np.intp]:
        """The positions of those of ``ids`` that are left, in the order of ``ids``."""
        first_rows = np.array(list(dict.fromkeys(map(int, ids))), dtype=np.int64)
        if not len(self._rows):
            return np.empty(0, dtype=np.intp)
        at = np.minimum(np.searchsorted(self._rows, first_rows), len(self._rows) - 1)
        found: npt.NDArray[np.intp] = at[(self._rows[at] == first_rows) & self._open[at]]
        return found
