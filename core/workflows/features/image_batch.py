"""Images that are measured together, and what was measured of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.features.extractor import Extractor
from semblance.core.features.places import LEVELS, Codes, PlaceCoding


@dataclass
class MeasuredCases:
    """``values`` (n, d) of the cases ``rows`` (n,), whose ``contents`` they show; (case, content, reason) of others;
    ``marks``: how many burnt-in marks each case has whose image was searched for them.

    Where the extractor describes them: ``levels`` (n, l); of the cases ``described`` (p,) the ``places`` (p, b), coded,
    or the ``maps`` (p, rows, columns, c) that are to be coded.
    """

    rows: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    failures: list[tuple[int, str, str]]
    contents: list[str]
    marks: dict[int, int] = field(default_factory=dict)
    levels: npt.NDArray[np.float32] | None = None
    described: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    places: Codes | None = None
    maps: npt.NDArray[np.float32] | None = None


class ImageBatch:
    """Collects the results of :meth:`Extractor.prepare`, and measures them when a batch is complete.

    ``parts`` are described with the features. Places are coded by ``coding``; without one their maps are kept.
    ``failures``: (case, content, reason) of those that could not be measured; a caller may add its own.
    """

    def __init__(
        self, extractor: Extractor, parts: Collection[str] = (), coding: PlaceCoding | None = None
    ) -> None:
        self._extractor, self._size, self._parts, self._coding = extractor, extractor.batch, parts, coding
        self._waiting: list[tuple[int, str, Any, Any]] = []
        self._measured: list[tuple[int, str]] = []
        self._described: list[int] = []
        self._values: list[npt.NDArray[np.float32]] = []
        self._levels: list[npt.NDArray[np.float32]] = []
        self._places: list[npt.NDArray[Any]] = []
        self.failures: list[tuple[int, str, str]] = []

    def add(self, row: int, content: str, prepared: Any, whole: Any = None) -> None:
        """Add a case by its id, and its image; ``whole``: the whole image, where its places are described."""
        self._waiting.append((row, content, prepared, whole))
        if len(self._waiting) >= self._size:
            self._measure_waiting()

    def measured(self) -> MeasuredCases:
        """All cases that were added and could be measured, and the failures of the others."""
        self._measure_waiting()
        width = len(self._extractor.feature_names)
        values = np.concatenate([np.empty((0, width), dtype=np.float32), *self._values])
        rows = np.array([row for row, _ in self._measured], dtype=np.int64)
        found = MeasuredCases(rows, values, self.failures, [content for _, content in self._measured])
        found.described = np.array(self._described, dtype=np.int64)
        if self._levels:
            found.levels = np.concatenate(self._levels)
        if self._places and self._coding is None:
            found.maps = np.concatenate(self._places)
        elif self._places:
            found.places = np.concatenate(self._places)
        return found

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

    def _store(self, waiting: list[tuple[int, str, Any, Any]]) -> None:
        shown = [prepared for _, _, prepared, _ in waiting]
        wholes = [(row, whole) for row, _, _, whole in waiting if whole is not None]
        # Of most cases the whole image is measured, so that one pass gives all.
        same = len(wholes) == len(shown) and all(a is b for a, (_, b) in zip(shown, wholes, strict=True))
        found = self._extractor.describe(shown) if LEVELS in self._parts or same else None
        values = self._extractor.measure(shown) if found is None else found.features
        maps = None
        if wholes:
            described = self._extractor.describe([whole for _, whole in wholes]) if not same else found
            maps = None if described is None else described.maps
        self._values.append(values)
        self._measured += [(row, content) for row, content, _, _ in waiting]
        if found is not None and found.levels is not None:
            self._levels.append(found.levels)
        if maps is not None:
            codes = maps if self._coding is None else self._coding.coded(maps).reshape(len(maps), -1)
            self._places.append(codes)
            self._described += [row for row, _ in wholes]
