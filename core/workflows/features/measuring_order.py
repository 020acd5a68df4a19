"""The order in which the cases of a library are measured: what a person waits for first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.files import write_file
from semblance.core.library.records import CHUNK
from semblance.core.tasks import SILENT, Reporter

#: Cases read together by a worker before it looks whether it should end; the size of the first parts.
STEP = 16

Rows = npt.NDArray[np.int64]


def measure_first(library: Path, rows: Sequence[int], *, reporter: Reporter = SILENT) -> None:
    """Ask for the cases with the catalogue ids ``rows`` to be measured before all others, in this order.

    It replaces what an earlier call asked for. An extraction that is under way hands them out next; a later
    one begins with them. Cases that are measured already are passed over. Quick, and writes nothing into the
    catalogue, so no metric is loaded again for it.

    Raises:
        SemblanceError: the library cannot be written to.
    """
    write_file(_file(library), json.dumps([int(row) for row in rows]).encode(), durable=False)


def rows_to_measure_first(library: Path) -> list[int]:
    """What :func:`measure_first` asked for last; none where nothing readable is there."""
    try:
        found = json.loads(_file(library).read_bytes())
    except (OSError, ValueError):
        return []
    return [row for row in found if isinstance(row, int)] if isinstance(found, list) else []


def _file(library: Path) -> Path:
    # The folder of derived data is swept whenever a metric is stored.
    return library / "features" / "measure_first.json"


class MeasuringOrder:
    """Deals out the cases ``rows`` (n,), ascending ids, in parts for ``workers`` processes.

    Without ``first`` the parts are as large as a chunk of the store and in order. With it, parts begin with
    the ids that ``first()`` names, and the earliest parts are small, so that a ranking is possible soon, and
    ``spread`` evenly over the rows, so that it is not one of the first folder alone.
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
        """Deal out those of ``rows`` (n,) too that were not known before."""
        new = np.setdiff1d(rows, self._rows)
        every = np.concatenate([self._rows, new])
        order = np.argsort(every, kind="stable")
        self._rows = every[order]
        self._open = np.concatenate([self._open, np.ones(len(new), dtype=np.bool_)])[order]
        # Few cases are shared out too: every worker gets a part of them.
        left = int(self._open.sum())
        self._largest = min(CHUNK, max(STEP, -(-left // self._workers)))

    def __len__(self) -> int:
        """How many cases there are, those that were dealt out too."""
        return len(self._rows)

    def __bool__(self) -> bool:
        """Whether cases are left."""
        return bool(self._open.any())

    @property
    def parts(self) -> int:
        """How many parts there are at most when all are as large as possible."""
        return -(-int(self._open.sum()) // self._largest)

    def take(self) -> Rows:
        """(p,) the ids of the next part, p >= 1 while cases are left."""
        size = self._largest
        chosen = np.empty(0, dtype=np.intp)
        if self._first is not None:
            size = min(size, STEP << min(self._n_handed_out // self._workers, 16))
            chosen = self._places(self._first())[:size]
            self._open[chosen] = False
        self._n_handed_out += 1
        left = np.flatnonzero(self._open)
        rest = min(size - len(chosen), len(left))
        if rest and self._first is not None and self._spread and size < self._largest:
            left = left[np.linspace(0, len(left) - 1, rest).astype(np.intp)]
        others = left[:rest]
        self._open[others] = False
        part: Rows = self._rows[np.concatenate([chosen, others])]
        return part

    def _places(self, ids: Sequence[int]) -> npt.NDArray[np.intp]:
        """Where those of ``ids`` stand that are left, in the order of ``ids``."""
        first_rows = np.array(list(dict.fromkeys(ids)), dtype=np.int64)
        places = np.minimum(np.searchsorted(self._rows, first_rows), max(len(self._rows) - 1, 0))
        found: npt.NDArray[np.intp] = places[(self._rows[places] == first_rows) & self._open[places]]
        return found
