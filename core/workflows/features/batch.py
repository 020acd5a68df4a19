"""Images measured together: read one by one, and measured in batches of the size that their extractor prefers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.features.extractor import Extractor


class Batch:
    """Collects the results of :meth:`Extractor.prepare`, and measures them when a batch is complete.

    ``failures``: (case, content, reason) of those that could not be measured; a caller may add its own.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor, self._size = extractor, extractor.batch
        self._waiting: list[tuple[int, str, Any]] = []
        self._measured: list[tuple[int, str]] = []
        self._values: list[npt.NDArray[np.float32]] = []
        self.failures: list[tuple[int, str, str]] = []

    def add(self, row: int, content: str, prepared: Any) -> None:
        """Add a case by its id, and its image."""
        self._waiting.append((row, content, prepared))
        if len(self._waiting) >= self._size:
            self._measure_waiting()

    def measured(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], list[str]]:
        """Ids (n,), numbers (n, d) and contents of all cases that were added and could be measured."""
        self._measure_waiting()
        width = len(self._extractor.feature_names)
        values = np.concatenate([np.empty((0, width), dtype=np.float32), *self._values])
        rows = np.array([row for row, _ in self._measured], dtype=np.int64)
        return rows, values, [content for _, content in self._measured]

    def _measure_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            self._store(waiting)
        except SemblanceError:
            # One image must not cost the others their numbers.
            for one in waiting:
                try:
                    self._store([one])
                except SemblanceError as error:
                    self.failures.append((one[0], one[1], str(error)))

    def _store(self, waiting: list[tuple[int, str, Any]]) -> None:
        self._values.append(self._extractor.measure([prepared for _, _, prepared in waiting]))
        self._measured += [(row, content) for row, content, _ in waiting]
