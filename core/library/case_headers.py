"""The headers of DICOM cases as columns: names of cases, and their studies and series."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.library.case_names import body_part_name, case_name, kind_name, modality_name, series_name

#: Attributes of which there are few different values.
TEXTS = (
    "modality", "body_part", "laterality", "view", "series_description", "study_description", "protocol", "kernel",
    "slice_thickness", "series_number", "segment",
)  # fmt: skip
#: What is read of a case for :data:`TEXTS`: lists of mammograms name the breast in words.
READ = (*TEXTS, "breast")
#: A case with one of these has a header.
GIVEN = ("modality", "view")
DATE = "date"
#: UIDs of which only those that are equal are known.
GROUPS = ("study", "series")

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CaseHeaders:
    """``codes``: of each of :data:`TEXTS`, :data:`GROUPS` and :data:`DATE` (n,) positions in ``texts``, where 0 is ""
    (not given); there are no texts of groups.

    ``images`` (n,) int32: slices of a volume, 1 for an image. ``repeats`` (n,) int32: how many cases before have the
    same name. A case without a modality is not named by its header: a list gave its view alone.
    """

    codes: Mapping[str, Codes]
    texts: Mapping[str, tuple[str, ...]]
    images: npt.NDArray[np.int32]
    repeats: npt.NDArray[np.int32]

    def text(self, name: str, index: int) -> str:
        """One of :data:`TEXTS`, or the :data:`DATE`, of the case at ``index``; "" where it is not given."""
        return self.texts[name][int(self.codes[name][index])]

    def is_named(self, index: int) -> bool:
        """Whether the case at ``index`` has a name from its header."""
        return bool(self.codes["modality"][index])

    def kind(self, index: int) -> str:
        """What the case at ``index`` is of, such as "Chest CT"."""
        return kind_name(*(self.text(name, index) if self.is_named(index) else "" for name in TEXTS[:4]))

    def series(self, index: int) -> str:
        """The name of the case's series in its study; "" where it has none."""
        description = self.text("series_description", index)
        if not description and self.text("view", index):
            return ""
        description = description or self.text("protocol", index)
        return series_name(
            self.kind(index), description, self.text("slice_thickness", index), self.text("kernel", index)
        )

    def name(self, index: int) -> str:
        """The name of the case at ``index``; a number distinguishes cases of equal names."""
        return self._numbered(index, case_name(self.kind(index), *self._rest(index)))

    def lines(self, index: int) -> tuple[str, str]:
        """The name in two lines: what the image is of, then series, segment and date; the second may be ""."""
        kind, rest = case_name(self.kind(index)), case_name("", *self._rest(index))
        return (kind, self._numbered(index, rest)) if kind and rest else (self.name(index), "")

    def _rest(self, index: int) -> tuple[str, str, str]:
        return self.series(index), self.text("segment", index), self.text("date", index)

    def _numbered(self, index: int, text: str) -> str:
        repeats = int(self.repeats[index])
        return f"{text} ({repeats + 1})" if repeats else text

    def with_word(self, word: str) -> npt.NDArray[np.bool_]:
        """(n,) whether the name of a case's modality or body part contains ``word`` (in lower case)."""
        found = np.zeros(len(self.images), dtype=bool)
        for attribute, name in (("modality", modality_name), ("body_part", body_part_name)):
            named = [bool(text) and word in name(text).casefold() for text in self.texts[attribute]]
            found |= np.array(named, dtype=bool)[self.codes[attribute]]
        return found


@dataclass(frozen=True, eq=False)
class HeaderColumns:
    """The headers of m cases as the catalogue stores them; ``None`` and null: not given.

    ``rows`` (m,): ids of the cases. ``depths`` (m,): slices, ``None`` for an image. ``texts`` (m,): a JSON list of
    :data:`TEXTS` each. ``groups``: (m,) values of each of :data:`GROUPS` and of :data:`DATE`.
    """

    rows: npt.NDArray[np.int64]
    depths: Sequence[int | None]
    texts: Sequence[str]
    groups: Mapping[str, Sequence[str | None]]


def case_headers(given: HeaderColumns, case_rows: npt.NDArray[np.int64]) -> CaseHeaders:
    """The columns of the cases ``case_rows`` (n,), ascending; those without a header are one image each.

    Headers of other cases are left out.
    """
    n = len(case_rows)
    # Values that no header has are stored once for all cases.
    nowhere = np.zeros(n, dtype=np.int32)
    codes: dict[str, Codes] = {}
    values: dict[str, tuple[str, ...]] = {}
    there = np.isin(given.rows, case_rows)
    indices = np.searchsorted(case_rows, given.rows[there])

    def encode(listed: Iterable[str | None]) -> tuple[Codes, tuple[str, ...]]:
        code_of: dict[str, int] = {"": 0}
        found = np.array([code_of.setdefault(value or "", len(code_of)) for value in listed], dtype=np.int32)
        return found, tuple(code_of)

    def spread(column: Codes) -> Codes:
        if not column.any():
            return nowhere
        found = np.zeros(n, dtype=np.int32)
        found[indices] = column[there]
        return found

    # Headers repeat each other: each different list of texts is parsed once.
    list_of, lists = encode(given.texts)
    parsed = [_texts_of(one) for one in lists]
    for place, name in enumerate(TEXTS):
        of_list, values[name] = encode(one[place] for one in parsed)
        codes[name] = spread(of_list[list_of])
    for name in (*GROUPS, DATE):
        column, known = encode(given.groups[name])
        codes[name] = spread(column)
        values[name] = known if name == DATE else ()
    images = np.ones(n, dtype=np.int32)
    images[indices] = np.array([depth or 1 for depth in given.depths], dtype=np.int32)[there]
    return CaseHeaders(codes, values, images, _repeats(codes, n))


def _texts_of(listed: str) -> tuple[str, ...]:
    """:data:`TEXTS` from a JSON list of :data:`READ`; all "" from ""."""
    found = json.loads(listed) if listed else [None] * len(READ)
    *texts, breast = (str(value) if value is not None else "" for value in found)
    side = TEXTS.index("laterality")
    texts[side] = texts[side] or {"left": "L", "right": "R"}.get(breast.lower(), "")
    return tuple(texts)


def no_headers(n: int) -> CaseHeaders:
    """The columns of ``n`` cases without headers."""
    none = HeaderColumns(np.empty(0, dtype=np.int64), (), (), dict.fromkeys((*GROUPS, DATE), ()))
    return case_headers(none, np.arange(n))


def _repeats(codes: Mapping[str, Codes], n: int) -> npt.NDArray[np.int32]:
    """(n,) the number of earlier cases with the same name."""
    repeats = np.zeros(n, dtype=np.int32)
    named = np.flatnonzero(codes["modality"])
    if not named.size:
        return repeats
    part = {name: codes[name][named] for name in (*TEXTS, DATE)}
    described = (part["series_description"] > 0) | (part["view"] > 0)
    part["protocol"] = np.where(described, 0, part["protocol"])
    measured = ~described & (part["protocol"] == 0)
    for name in ("slice_thickness", "kernel"):
        part[name] = np.where(measured, part[name], 0)
    in_name = [part[name] for name in part if name not in ("study_description", "series_number")]
    keys: tuple[npt.NDArray[np.generic], ...] = (np.arange(len(named)), *in_name)
    order = np.lexsort(keys)
    changes = np.zeros(len(named), dtype=bool)
    changes[0] = True
    for column in in_name:
        changes[1:] |= np.diff(column[order]) != 0
    first = np.maximum.accumulate(np.where(changes, np.arange(len(named)), 0))
    repeats[named[order]] = np.arange(len(named)) - first
    return repeats
