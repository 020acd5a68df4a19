"""The numbers of a feature set, with the cases they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from semblance.core.library.library import Library
    from semblance.core.library.location import LibraryLocation
    from semblance.core.library.records import FeatureSet


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """A feature set of a library: one row of numbers for each case, in the order the cases were added.

    ``case_ids`` (n,) name the rows of :attr:`array`; ``names`` (d,) its columns. Cases in the sealed test vault are
    left out. For the places of images :attr:`array` is (n, p, m): p places of ``grid`` (rows, columns), counted along
    its rows; the similarity of two places is their cosine.
    """

    name: str
    extractor: str
    case_ids: tuple[str, ...]
    names: tuple[str, ...]
    grid: tuple[int, int] | None = None
    _location: Any = field(default=None)
    _set: Any = field(default=None)
    _rows: Any = field(default=None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of :attr:`array`, which is not read for it."""
        each = (len(self.names),) if self.grid is None else (self.grid[0] * self.grid[1], len(self.names))
        return (len(self.case_ids), *each)

    @cached_property
    def array(self) -> npt.NDArray[Any]:
        """(n, d) float32, or float64 for the columns of a table; (n, p, m) float32 for places. Read once.

        Raises:
            BadInput: the numbers are lost or damaged.
        """
        import numpy as np

        found = None
        start = 0
        for _, block in self.blocks():
            if found is None:
                found = np.empty(self.shape, dtype=block.dtype)
            found[start : start + len(block)] = block
            start += len(block)
        return np.empty(self.shape, dtype=np.float32) if found is None else found

    def blocks(self, size: int = 4096) -> Iterator[tuple[tuple[str, ...], npt.NDArray[Any]]]:
        """The case ids and rows of :attr:`array`, at most ``size`` at a time, for sets larger than the memory.

        Raises:
            BadInput: the numbers are lost or damaged.
        """
        from semblance.core.library.open_library import open_library

        with open_library(self._location) as opened:
            for start in range(0, len(self.case_ids), size):
                rows = self._rows[start : start + size]
                yield self.case_ids[start : start + size], _values(opened, self._set, rows, self.grid)

    def to_frame(self) -> Any:
        """A data frame: case_id, then a column for each feature (a table of places has none)."""
        from semblance.core.errors import BadInput
        from semblance.frame import data_frame

        if self.grid is not None:
            raise BadInput("The places of a case are several rows.", "Use .array (n, p, m).")
        return data_frame({"case_id": self.case_ids, **dict(zip(self.names, self.array.T, strict=True))})

    def __len__(self) -> int:
        return len(self.case_ids)

    def __repr__(self) -> str:
        from semblance.core.language import visible

        return (
            f"Features {visible(self.name)!r} by {self.extractor}: {' x '.join(f'{n:,}' for n in self.shape)}"
        )


def read_features(location: LibraryLocation, name: str | None = None) -> Features:
    """The feature set ``name`` of a library; without a name the only one. ``places`` and ``levels`` are those of the
    only set that has them, if no set has that name.

    Raises:
        BadArguments: no such set, or several where none is named.
        BadInput: the library has no features.
    """
    import numpy as np

    from semblance.core.evaluation.data_sources import sealed_rows
    from semblance.core.features.places import PLACES
    from semblance.core.library.open_library import open_library
    from semblance.core.workflows.features.stored_places import coding_of

    with open_library(location) as opened:
        found = _set(opened, name)
        ids = {row.id: row.case_id for row in opened.catalogue.all_cases()}
        rows = opened.features.cases_of(found)
        rows = rows[np.isin(rows, list(ids)) & ~np.isin(rows, sealed_rows(opened))]
        grid, names = None, tuple(column for column, _ in found.columns)
        if found.part == PLACES:
            grid = (int(found.settings["grid"][0]), int(found.settings["grid"][1]))
            names = tuple(f"component {n}" for n in range(1, coding_of(found).width + 1))
        case_ids = tuple(ids[row] for row in rows.tolist())
    return Features(found.name, found.extractor, case_ids, names, grid, location, found, rows)


def features_of(location: LibraryLocation, name: str, case_ids: Sequence[str]) -> npt.NDArray[Any]:
    """(n, d) the features of ``case_ids``, in their order.

    Raises:
        BadInput: no such case, or one without these features.
    """
    import numpy as np

    from semblance.core.errors import BadInput
    from semblance.core.language import tr_lazy
    from semblance.core.library.open_library import open_library

    with open_library(location) as opened:
        feature_set = opened.features.get(name)
        known = opened.catalogue.rows_of(list(case_ids))
        for case in case_ids:
            if case not in known:
                raise opened.catalogue.no_such_case(case)
        rows = np.array([known[case] for case in case_ids], dtype=np.int64)
        ids, values = opened.features.read(feature_set, np.unique(rows))
        lacking = [case for case, row in zip(case_ids, rows.tolist(), strict=True) if row not in ids]
        if lacking:
            raise BadInput(
                tr_lazy(
                    "The case {case} has no numbers in the feature set '{feature_set}'.",
                    case=lacking[0],
                    feature_set=name,
                ),
                "Choose other cases, or extract its features.",
            )
        found: npt.NDArray[Any] = values[np.searchsorted(ids, rows)]
        return found


def _set(library: Library, name: str | None) -> FeatureSet:
    from semblance.core.features.places import PARTS

    every = library.features.every()
    if name in PARTS and name not in [one.name for one in every]:
        parts = [one for one in every if one.part == name]
        if len(parts) == 1:
            return parts[0]
    packed = next((one for one in every if one.name == name), None)
    return library.features.get(name) if packed is None else packed


def _values(
    library: Library, feature_set: FeatureSet, rows: npt.NDArray[np.int64], grid: tuple[int, int] | None
) -> npt.NDArray[Any]:
    from semblance.core.features.places import LARGEST
    from semblance.core.workflows.features.stored_places import coding_of

    _, values = library.features.read(feature_set, rows)
    if grid is None:
        return values
    coded = values.reshape(len(values), grid[0] * grid[1], -1)
    found: npt.NDArray[Any] = coded.astype("float32") * (coding_of(feature_set).top / LARGEST)
    return found
