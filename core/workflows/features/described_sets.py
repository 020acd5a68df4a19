"""The sets of what the pass of an encoder gives besides its features, written with them.

Places are coded as the places of a sample of the library need it (:class:`PlaceCoding`), which is measured first. Until
it is, their maps are kept in memory. A sample depends on the cases of the library alone, and never on which of them a
worker measured first.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.extractor import Extractor
from semblance.core.features.places import LEVELS, PLACES, Floats, PlaceCoding
from semblance.core.library.records import CODING, FITTED_FROM, GRID, ROW_BYTES, FeatureSet
from semblance.core.workflows.features.image_batch import MeasuredCases
from semblance.core.workflows.features.measuring_order import MeasuringOrder
from semblance.core.workflows.features.stored_places import coding_of

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Images that the coding of places is fitted on: with 196 places each, more hardly change 64 components of 112 numbers.
SAMPLE = 300
#: Fewer where their maps would be larger: they are in memory until all are measured.
_SAMPLE_BYTES = 96 << 20
#: A coding that was fitted on fewer is fitted anew where the library has grown so many times.
_GROWN = 2

Rows = npt.NDArray[np.int64]


class DescribedSets:
    """The parts of ``feature_set`` that ``extractor`` describes, and which cases of the library lack one."""

    def __init__(self, library: Library, feature_set: FeatureSet, extractor: Extractor) -> None:
        self._library, self._feature_set, self._extractor = library, feature_set, extractor
        self.parts = extractor.parts
        self._levels: FeatureSet | None = None
        if LEVELS in self.parts:
            columns = [(one.name, one.group) for one in extractor.level_names]
            self._levels = library.features.make_part(
                feature_set, LEVELS, {"description": LEVELS}, columns, dtype="float32"
            )
        self._places = library.features.part(feature_set, PLACES) if PLACES in self.parts else None
        known, fitted_from = _coding(self._places)
        #: The coding in use; ``None`` while one is to be chosen or fitted.
        self._coding = known if fitted_from >= SAMPLE else None
        #: Cases in random order, on the first of which the coding is fitted; empty until it is known that it must be.
        self._candidates: list[int] = []
        #: The maps of cases that wait for the coding, with the contents that they show.
        self._held: dict[int, tuple[str, Floats]] = {}
        self._failed: set[int] = set()
        #: Cases without any features, where others lack a part only.
        self._new = np.empty(0, dtype=np.int64)

    def cases_to_extract(self) -> Rows:
        """(n,) ids of the cases that lack the features or a part, ascending."""
        measures, features = self._extractor.measures_images(), self._library.features
        rows = features.cases_to_extract(self._feature_set, images=measures, parts=self.parts)
        if self.parts:
            new = features.cases_to_extract(self._feature_set, images=measures)
            self._new = new if len(new) < len(rows) else new[:0]
        return rows

    @property
    def coding(self) -> dict[str, Any] | None:
        """The coding of places for the workers; ``None``: they return the maps."""
        return None if self._coding is None else self._coding.to_settings()

    def rows_ahead(self, order: MeasuringOrder, *, growing: bool) -> Rows:
        """(n,) ids of the cases to measure before the others of ``order``: those that the coding is fitted on, unless
        the library is ``growing`` and may have others soon, then cases without any features among those with some.

        Where a coding replaces one that was fitted on few images, the cases that have that one join ``order``.
        """
        fits = PLACES in self.parts and self._coding is None
        if not fits or (growing and len(self._held) < self._sample_size()):
            return self._new
        if not self._candidates:
            self._choose(order)
        return np.array([row for row in self._sample() if row not in self._held], dtype=np.int64)

    def write(self, rows: Rows, measured: MeasuredCases) -> int:
        """Add to all sets what was ``measured`` of the cases ``rows``; the number of cases that lacked any of it."""
        features, contents = self._library.features, measured.contents
        done = features.write_chunk(
            self._feature_set, measured.rows, measured.values, measured.failures, contents
        )
        if self._levels is not None and measured.levels is not None:
            added = features.write_chunk(self._levels, measured.rows, measured.levels, (), contents)
            done = max(done, added)
        by_row = dict(zip(measured.rows.tolist(), contents, strict=True))
        described = [by_row[row] for row in measured.described.tolist()]
        if measured.places is not None and self._places is not None:
            added = features.write_chunk(self._places, measured.described, measured.places, (), described)
            done = max(done, added)
        elif measured.maps is not None:
            for row, content, one in zip(measured.described.tolist(), described, measured.maps, strict=True):
                self._held[row] = content, one
            done = max(done, self._code_held())
        if self._coding is None:
            # Those that were removed meanwhile, too.
            self.fail([row for row in rows.tolist() if row not in self._held])
        return done

    def record(self, rows: Rows, failures: Sequence[tuple[int, str, str]]) -> None:
        """Record that none of the cases ``rows`` could be measured; (case, content, reason)."""
        columns = len(self._feature_set.columns)
        self._library.features.write_chunk(
            self._feature_set, rows[:0], np.empty((0, columns), dtype=np.float32), failures
        )
        self.fail(rows.tolist())

    def fail(self, rows: Collection[int]) -> None:
        """Note the cases ``rows``, ids, that have no maps."""
        self._failed.update(rows)
        if self._coding is None and self._candidates and all(row in self._held for row in self._sample()):
            self._fit()

    def finish(self) -> None:
        """After the last case was measured: code what still waits."""
        if self._coding is None:
            self.fail(set(self._candidates) - set(self._held))

    def _choose(self, order: MeasuringOrder) -> None:
        """Use the coding that there is, or choose the cases that another one is fitted on."""
        known, fitted_from = _coding(self._places)
        images = self._images()
        if known is not None and (fitted_from >= SAMPLE or len(images) < _GROWN * fitted_from):
            self._coding = known
            self._code_held()
            return
        self._candidates = np.random.default_rng(0).permutation(images).tolist()
        if self._places is not None:
            order.add(self._library.features.cases_of(self._places))

    def _images(self) -> Rows:
        """(n,) ids of the cases that have features or may get them, ascending."""
        features, measures = self._library.features, self._extractor.measures_images()
        lacking = features.cases_to_extract(self._feature_set, images=measures)
        return np.union1d(lacking, features.cases_of(self._feature_set))

    def _sample(self) -> list[int]:
        usable = (row for row in self._candidates if row not in self._failed)
        return list(itertools.islice(usable, self._sample_size()))

    def _sample_size(self) -> int:
        of_one = next((one.nbytes for _, one in self._held.values()), 1)
        return min(SAMPLE, max(1, _SAMPLE_BYTES // of_one))

    def _fit(self) -> None:
        sample = sorted(row for row in self._sample() if row in self._held)
        if not sample:
            return
        maps = np.stack([self._held[row][1] for row in sample])
        coding = PlaceCoding.fitted(maps.reshape(-1, maps.shape[-1]))
        grid = list(maps.shape[1:3])
        settings = {
            ROW_BYTES: grid[0] * grid[1] * coding.width,
            CODING: coding.to_settings(),
            GRID: grid,
            FITTED_FROM: len(self._images()),
        }
        features = self._library.features
        if self._places is None:
            self._places = features.make_part(self._feature_set, PLACES, settings, dtype="int8")
        else:
            self._places = features.recode(self._places, settings)
        # Another program may have been faster: its coding counts.
        self._coding = coding_of(self._places)
        self._code_held()

    def _code_held(self) -> int:
        """Write the places of the maps that wait, once there is a coding; how many cases had none."""
        if self._coding is None or self._places is None or not self._held:
            return 0
        held, self._held = self._held, {}
        rows = np.array(sorted(held), dtype=np.int64)
        codes = self._coding.coded(np.stack([held[row][1] for row in rows.tolist()]))
        contents = [held[row][0] for row in rows.tolist()]
        return self._library.features.write_chunk(
            self._places, rows, codes.reshape(len(rows), -1), (), contents
        )


def _coding(places: FeatureSet | None) -> tuple[PlaceCoding | None, int]:
    """The coding of ``places`` and how many images the library had when it was fitted; without a usable one 0."""
    if places is None:
        return None, 0
    try:
        return coding_of(places), int(places.settings[FITTED_FROM])
    except (BadInput, KeyError, TypeError, ValueError):
        return None, 0
