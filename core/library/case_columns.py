"""The cases of a library as columns: what the window reads instead of the catalogue."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.library.case_headers import CaseHeaders, no_headers
from semblance.core.library.findings import by_severity, finding_letters
from semblance.core.library.natural_key import natural_key
from semblance.core.library.packed_texts import PackedTexts, natural_order
from semblance.core.normal_text import composed

_Places = npt.NDArray[np.int32]


def file_stems(ids: PackedTexts) -> tuple[PackedTexts, npt.NDArray[np.bool_]]:
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
    # The one ending of images with two dots: .nii.gz
    is_double = (ends - name_ends == len(".gz")) & (name_ends - starts > len(".nii"))
    for offset, character in enumerate(".nii.gz", start=-len(".nii")):
        is_double &= data[np.where(is_double, name_ends + offset, 0)] | 0x20 == ord(character)
    name_ends = np.where(is_double, name_ends - len(".nii"), name_ends)
    # Folders, name, ending, and the number with the line feed.
    parts = np.stack([starts - begins, name_ends - starts, ends - name_ends, stops + 1 - ends], axis=1)
    kept = np.repeat(np.tile(np.array([False, True, False, True]), n), parts.ravel())
    stems = PackedTexts(data[kept].tobytes(), np.cumsum(parts[:, 1] + parts[:, 3], dtype=np.int64))
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


Indices = npt.NDArray[np.intp]
Rows = npt.NDArray[np.int64]
NO_FINDING = -1
NO_PATIENT = -1
#: Characters of the short name of a patient, if they are enough.
CODE = 4
#: Case ids whose positions are remembered at most.
_MOST_FOUND = 10_000


class ImageAvailability(IntEnum):
    """Whether the image of a case can be shown."""

    OK = 0
    MISSING = 1
    UNREADABLE = 2
    NO_IMAGE = 3


@dataclass(frozen=True, eq=False)
class CaseColumns:
    """An immutable snapshot of n cases, ascending by catalogue row; made by :func:`case_columns`.

    ``case_row`` (n,) int64 catalogue rows; ``ids`` n texts; ``finding`` (n,) int16 positions in
    ``findings`` or -1; ``patient`` (n,) int32 positions in ``patients`` or -1; ``state`` (n,) uint8 of
    :class:`ImageAvailability`; ``by_id`` (n,) int32 the order of ids read as people do (2 before 10).
    ``short_patients``: short, different names of ``patients`` for narrow lists.
    ``folded_ids`` and ``folded_patients``: for searches without regard to case. ``stems``: the names of the files, and
    ``by_file`` (n,) bool: whether no earlier case has a file of the same name.
    """

    case_row: npt.NDArray[np.int64]
    ids: PackedTexts
    finding: npt.NDArray[np.int16]
    findings: tuple[str, ...]
    patient: npt.NDArray[np.int32]
    patients: PackedTexts
    short_patients: PackedTexts
    state: npt.NDArray[np.uint8]
    by_id: npt.NDArray[np.int32]
    folded_ids: PackedTexts
    folded_patients: PackedTexts
    stems: PackedTexts
    by_file: npt.NDArray[np.bool_]
    headers: CaseHeaders

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, index: int) -> str:
        """What the case at ``index`` is called wherever it is shown: by its header, else by its file, with the folder
        where an earlier case has a file of that name. So later cases do not change the names of earlier ones."""
        if self.headers.is_named(index):
            return self.headers.name(index)
        if self.by_file[index]:
            return self.stems[index]
        case_id = self.ids[index]
        return case_id.partition("/")[2] or case_id

    def lines(self, index: int) -> tuple[str, str]:
        """The :meth:`name` in two lines, as narrow lists show it: what the image is of, and which one it is. The second
        is "" for a case that its file names."""
        return self.headers.lines(index) if self.headers.is_named(index) else (self.name(index), "")

    @cached_property
    def has_lines(self) -> bool:
        """Whether any case has a name in two lines."""
        return bool(self.headers.codes["modality"].any())

    @cached_property
    def letters(self) -> dict[str, str]:
        """A letter for each finding, all different."""
        return finding_letters(self.findings)

    @cached_property
    def finding_counts(self) -> npt.NDArray[np.int64]:
        """(len(findings) + 1,): cases of each finding; the last number counts those without one."""
        counts = np.bincount(self.finding.astype(np.int64) + 1, minlength=len(self.findings) + 1)
        return np.roll(counts, -1)

    @property
    def patients_known(self) -> bool:
        """Whether every case names its patient."""
        return bool((self.patient != NO_PATIENT).all()) and len(self) > 0

    @cached_property
    def is_table(self) -> bool:
        """Whether all cases are rows of a table, without images."""
        return bool((self.state == ImageAvailability.NO_IMAGE).all()) and len(self) > 0

    def finding_name(self, index: int) -> str | None:
        """The finding of the case at ``index``, or ``None``."""
        code = int(self.finding[index])
        return None if code == NO_FINDING else self.findings[code]

    def patient_name(self, index: int) -> str | None:
        """The patient of the case at ``index``, or ``None``."""
        code = int(self.patient[index])
        return None if code == NO_PATIENT else self.patients[code]

    def index_of_row(self, case_row: int) -> int:
        """The position of a catalogue row in this snapshot, -1 where it is not in it."""
        index = int(np.searchsorted(self.case_row, case_row))
        return index if index < len(self) and self.case_row[index] == case_row else -1

    def indices_of_rows(self, case_rows: npt.NDArray[np.int64]) -> Indices:
        """(n,) the position of each catalogue row in this snapshot, -1 where it is not in it."""
        if not len(self):
            return np.full(len(case_rows), -1, dtype=np.intp)
        first = self.case_row[0]
        if self.case_row[-1] - first == len(self) - 1:
            # Without a gap between them, their numbers say where they are.
            indices = case_rows - first
            return np.where((indices >= 0) & (indices < len(self)), indices, -1)
        indices = np.minimum(np.searchsorted(self.case_row, case_rows), len(self) - 1)
        return np.where(self.case_row[indices] == case_rows, indices, -1)

    def ids_of_rows(self, case_rows: Rows) -> list[str]:
        """The ids of the catalogue rows that are in this snapshot, in their order."""
        indices = self.indices_of_rows(case_rows)
        return self.ids.chosen(indices[indices >= 0])

    def index_of_id(self, case_id: str | None) -> int:
        """The position of a case id, -1 where it is not in this snapshot, and without one."""
        if not case_id:
            return -1
        index = self._found_ids.get(case_id)
        if index is None:
            if len(self._found_ids) >= _MOST_FOUND:
                self._found_ids.clear()
            index = self._found_ids[case_id] = self._find_id(case_id)
        return index

    def row_of_id(self, case_id: str | None) -> int:
        """The catalogue row of a case id, -1 where it is not in this snapshot, and without one."""
        index = self.index_of_id(case_id)
        return int(self.case_row[index]) if index >= 0 else -1

    def name_of_id(self, case_id: str) -> str:
        """The :meth:`name` of a case, the id itself where it is not in this snapshot."""
        index = self.index_of_id(case_id)
        return self.name(index) if index >= 0 else case_id

    @cached_property
    def _found_ids(self) -> dict[str, int]:
        """What :meth:`index_of_id` found: the few cases that a search is about are looked up again and again."""
        return {}

    def _find_id(self, case_id: str) -> int:
        key = natural_key(case_id)
        first = bisect_left(self.by_id, key, key=lambda at: natural_key(self.ids[at]))
        # Not as a list: the first is nearly always the one.
        for index in self.by_id[first:]:
            if self.ids[index] == case_id:
                return int(index)
            if natural_key(self.ids[index]) != key:
                break
        return -1

    def count_held_out(self, training: Rows, sealed: npt.ArrayLike = ()) -> int:
        """Cases with a finding that are no ``training`` case, of no training case's patient, and not ``sealed``."""
        of_training = self.indices_of_rows(training)
        of_training = of_training[of_training >= 0]
        of_sealed = self.indices_of_rows(np.asarray(sealed, dtype=np.int64))
        unseen = self.finding != NO_FINDING
        unseen[of_training] = unseen[of_sealed[of_sealed >= 0]] = False
        patients = self.patient[of_training]
        is_training_patient = np.zeros(len(self.patients) + 1, dtype=bool)
        is_training_patient[patients[patients != NO_PATIENT]] = True
        return int((unseen & ~is_training_patient[self.patient]).sum())

    def codes(self, findings: Collection[str | None]) -> set[int]:
        """The codes of finding names; ``None`` stands for cases without a finding."""
        known: dict[str | None, int] = {name: code for code, name in enumerate(self.findings)}
        known[None] = NO_FINDING
        return {known[name] for name in findings if name in known}

    def filtered(
        self,
        findings: Collection[int] | None = None,
        text: str = "",
        in_headers: Mapping[str, npt.NDArray[np.int64]] | None = None,
    ) -> Indices:
        """Ascending positions of the cases that have one of ``findings`` and contain every word of ``text``.

        ``findings`` are codes (-1: no finding); ``None`` selects all. Words are searched in the id, the patient, the
        finding and the names of modality and body part, without regard to case. ``in_headers``: word of
        :func:`words` -> catalogue rows of cases that have it elsewhere in their header.
        """
        selected = np.ones(len(self), dtype=bool)
        if findings is not None:
            selected &= self._with_findings(findings)
        for word in words(text):
            named = {code for code, name in enumerate(self.findings) if word in composed(name.casefold())}
            found = (
                self.folded_ids.containing(word)
                | self._with_patients(self.folded_patients.containing(word))
                | self._with_findings(named)
                | self.headers.with_word(word)
            )
            if in_headers is not None and word in in_headers:
                indices = self.indices_of_rows(in_headers[word])
                found[indices[indices >= 0]] = True
            selected &= found
        return np.flatnonzero(selected)

    def ordered_by_id(self, rows: Indices | None = None) -> Indices:
        """``rows`` (all cases by default) in the order of their ids."""
        by_id = self.by_id.astype(np.intp)
        if rows is None:
            return by_id
        is_chosen = np.zeros(len(self), dtype=bool)
        is_chosen[rows] = True
        return by_id[is_chosen[by_id]]

    def _with_patients(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """(n,) the cases of the patients ``chosen``, of all :attr:`patients`."""
        return np.append(chosen, False)[self.patient]

    def _with_findings(self, findings: Collection[int]) -> npt.NDArray[np.bool_]:
        allowed = np.zeros(len(self.findings) + 1, dtype=bool)
        allowed[[code for code in findings if code < len(self.findings)]] = True
        return allowed[self.finding]

    def patient_code(self, index: int) -> str | None:
        """The short name of the patient of the case at ``index``, or ``None``."""
        code = int(self.patient[index])
        return None if code == NO_PATIENT else self.short_patients[code]


def case_columns(
    case_row: npt.ArrayLike,
    ids: Sequence[str],
    findings: Sequence[str | None],
    patients: Sequence[str | None],
    states: npt.ArrayLike,
    known_findings: Sequence[str] = (),
    headers: CaseHeaders | None = None,
) -> CaseColumns:
    """The snapshot of n cases, given in ascending order of their catalogue rows; ``headers``: ``None`` for none.

    ``known_findings`` come first, in this order, also those that no case has; then the others, most severe first.

    Takes about 1 s for 1,000,000 cases: call it in a worker, it can be pickled.
    """
    finding_names, finding = _encode(
        findings,
        lambda names: [*known_findings, *by_severity(name for name in names if name not in known_findings)],
    )
    patient_names, patient = _encode(patients, _sorted_naturally)
    id_texts, patient_texts = PackedTexts.of(ids), PackedTexts.of(patient_names)
    folded_ids = id_texts.casefolded()
    stems, by_file = file_stems(id_texts)
    return CaseColumns(
        case_row=np.asarray(case_row, dtype=np.int64),
        ids=id_texts,
        finding=finding.astype(np.int16),
        findings=tuple(finding_names),
        patient=patient,
        patients=patient_texts,
        short_patients=PackedTexts.of(short_codes(patient_names)),
        state=np.asarray(states, dtype=np.uint8),
        by_id=natural_order(folded_ids).astype(np.int32),
        folded_ids=folded_ids,
        folded_patients=patient_texts.casefolded(),
        stems=stems,
        by_file=by_file,
        headers=no_headers(len(ids)) if headers is None else headers,
    )


def short_codes(names: Sequence[str]) -> list[str]:
    """The first four characters of each of n different names, or the last four, or as many more as distinguish it from
    the others."""
    text = "".join(names)
    try:
        characters = np.frombuffer(text.encode("latin-1"), dtype=np.uint8)
    except UnicodeEncodeError:
        characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sizes = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
    ends = np.cumsum(sizes)
    first = np.minimum(_distinct_lengths(characters, ends - sizes, sizes, 1), sizes)
    last = np.minimum(_distinct_lengths(characters, ends - 1, sizes, -1), sizes)
    if first.sum() <= last.sum():
        return [name[:length] for name, length in zip(names, first.tolist(), strict=True)]
    return [name[len(name) - length :] for name, length in zip(names, last.tolist(), strict=True)]


def _distinct_lengths(
    characters: npt.NDArray[np.unsignedinteger[Any]],
    begins: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    step: int,
) -> npt.NDArray[np.int64]:
    """(n,) how many of the ``sizes`` (n,) ``characters`` of each name, from ``begins`` (n,) on by ``step``, are in no
    other name, :data:`CODE` at least; more than there are for a name that another one goes on from."""
    base = int(characters.max(initial=0)) + 2

    def characters_at(names: npt.NDArray[np.intp], place: int) -> npt.NDArray[np.int64]:
        """Their numbers at ``place``, each one more than it is; 0 behind the end of a name."""
        there = sizes[names] > place
        found = np.zeros(len(names), dtype=np.int64)
        found[there] = characters[begins[names[there]] + step * place] + np.int64(1)
        return found

    lengths = np.full(len(sizes), CODE, dtype=np.int64)
    left = np.arange(len(sizes))
    group = np.zeros(len(sizes), dtype=np.int64)
    for place in range(int(sizes.max(initial=0)) + 1):
        if len(left) < 2:
            break
        keys = group * base + characters_at(left, place)
        if (keys == keys[0]).all():
            # What all names begin with.
            continue
        _, group, count = np.unique(keys, return_inverse=True, return_counts=True)
        lengths[left] = max(CODE, place + 1)
        repeated = count[group] > 1
        left, group = left[repeated], group[repeated]
    return lengths


def no_cases() -> CaseColumns:
    """The snapshot of an empty library."""
    return case_columns([], [], [], [], [])


def words(text: str) -> list[str]:
    """The words of a filter text, in lower case."""
    return composed(text.casefold()).split()


def _sorted_naturally(names: Collection[str]) -> list[str]:
    listed = list(names)
    return [listed[place] for place in natural_order(PackedTexts.of(listed).casefolded()).tolist()]


def _encode(
    names: Sequence[str | None], sort: Callable[[Collection[str]], list[str]]
) -> tuple[list[str], npt.NDArray[np.int32]]:
    codes: dict[Any, Any] = dict.fromkeys(names)
    codes.pop(None, None)
    known = sort(codes)
    codes.update(zip(known, count()))
    codes[None] = -1
    return known, np.fromiter(map(codes.__getitem__, names), dtype=np.int32, count=len(names))
