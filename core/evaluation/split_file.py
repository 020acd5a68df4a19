"""Splits that are given: a file of case ids and parts, arrays from Python, or a column of the cases themselves.

A row has ``case_id``, ``part`` (train, validation, test, or excluded), ``fold`` and ``repeat``. Rows of one repeat and
one fold make one split, in which every case has a part. Where no row has a part, the folds are those of
cross-validation: each is tested once, and the cases of the other folds of its repeat are trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import HoldOut, patient_codes
from semblance.core.language import join_texts, tr_lazy
from semblance.core.normal_text import composed, is_missing

Rows = npt.NDArray[np.intp]

#: The columns of a file of splits, and other names that are read for them.
HEADER = ("case_id", "part", "fold", "repeat")
_COLUMNS = {
    "case_id": ("case_id", "case id", "id", "case"),
    "part": ("part", "split", "set", "subset"),
    "fold": ("fold",),
    "repeat": ("repeat", "repetition"),
}
#: How the parts are written, by what they are for.
PART_WORDS = {
    "train": ("train", "training"),
    "validation": ("val", "validation", "valid", "dev"),
    "test": ("test", "testing"),
    "excluded": ("excluded", "exclude", "unused", "none", "-"),
}
_PART_OF_WORD = {word: part for part, words in PART_WORDS.items() for word in words}
_CODES = {part: code for code, part in enumerate(PART_WORDS)}
_EXCLUDED, _ABSENT = _CODES["excluded"], len(_CODES)

#: Named in place of a file: the parts that a data set came with, and a column or attribute of the cases.
OFFICIAL, COLUMN = ("official", "medmnist"), "column:"
#: Attributes that name the official part of a case; the kind ``medmnist`` stores the second.
OFFICIAL_ATTRIBUTES = ("part", "split")
_NOT_EVALUATED = tr_lazy("they have no finding, or the evaluation leaves them out")
#: Names that a message lists.
_MOST_NAMED = 10


@dataclass(frozen=True, eq=False)
class GivenSplits:
    """Splits with what they are called: ``labels`` are repeat and fold of each, "" where there is one.

    ``per_repeat``: the number of splits of each repeat, if all have as many, else 1.
    """

    rule: str
    splits: tuple[HoldOut, ...]
    labels: tuple[tuple[str, str], ...]
    per_repeat: int = 1


@dataclass(frozen=True, eq=False)
class SplitTable:
    """The rows (n,) of a table of splits; "" where a row has no part, fold or repeat. ``source`` names it in messages.

    ``notes``: what a person should know of how its cases were found.
    """

    case_ids: tuple[str, ...]
    parts: tuple[str, ...]
    folds: tuple[str, ...]
    repeats: tuple[str, ...]
    source: str = "'splits'"
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, value: object, source: str = "'splits'") -> Self:
        """From a data frame or a mapping of columns as a file has them, a mapping from case ids to parts, another
        table, or the path of a file.

        Raises:
            BadInput: no column of ids, columns of different lengths, or a part of another name.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str | Path):
            return cls.read(Path(value))
        if isinstance(value, np.ndarray) and value.dtype.names:
            value = {name: value[name] for name in value.dtype.names}
        names = getattr(value, "columns", None)
        if names is None and isinstance(value, Mapping):
            names = list(value)
            if not {str(name).strip().lower() for name in names} & set(_COLUMNS["case_id"]):
                value = {"case_id": names, "part": [value[name] for name in names]}
                names = list(value)
        if names is None:
            raise BadArguments(
                "The splits are neither a file nor a table.",
                "Give the path of a file, a data frame, or a mapping of columns: case_id, part, fold, repeat.",
            )
        columns = {str(name): _texts(value[name]) for name in names}  # type: ignore[index]
        return cls._of_columns(columns, source)

    @classmethod
    def read(cls, file: Path) -> Self:
        """From a CSV, TSV or Parquet file.

        Raises:
            BadInput: no such file, damaged, no column of ids, or a part of another name.
        """
        from semblance.core.library.importers.csv_text import read_csv
        from semblance.core.library.importers.parquet_table import is_parquet

        try:
            with file.open("rb") as opened:
                content = None if is_parquet(opened, file.name) else opened.read()
        except OSError as problem:
            raise BadInput(
                tr_lazy("The file of splits '{file}' cannot be read.", file=file),
                "Check its name. A column of the cases is named column:NAME.",
            ) from problem
        if content is None:
            return cls._of_columns(_parquet_columns(file), f"'{file.name}'")
        text = read_csv(content, file.name)
        if text.failed:
            raise BadInput(
                tr_lazy(
                    "Line {line} of '{file}': {reason}.",
                    line=text.failed[0].line,
                    file=file.name,
                    reason=text.failed[0].reason,
                ),
                "Correct the file.",
            )
        cells = list(zip(*text.rows, strict=True)) or [()] * len(text.header)
        return cls._of_columns(dict(zip(text.header, map(list, cells), strict=True)), f"'{file.name}'")

    @classmethod
    def of_values(cls, case_ids: Sequence[str], values: Sequence[str], source: str) -> Self:
        """From one value for each case: parts where all are names of parts, else each value is a fold that is tested
        once.

        Raises:
            BadInput: some cases have none, or some values are parts and others not.
        """
        words = [_whole(str(value).strip()) for value in values]
        known = [word.lower() in _PART_OF_WORD for word in words]
        empty = [name for name, word in zip(case_ids, words, strict=True) if not word]
        if empty:
            raise BadInput(
                tr_lazy("{source} has no value for {cases}.", source=source, cases=_listed(empty)),
                "Give every case one, or choose another column.",
            )
        blank = ("",) * len(words)
        if all(known):
            parts = tuple(_PART_OF_WORD[word.lower()] for word in words)
            return cls(tuple(case_ids), parts, blank, blank, source)
        if any(known):
            other = next(word for word, is_part in zip(words, known, strict=True) if not is_part)
            raise _unknown_part(source, other)
        return cls(tuple(case_ids), blank, tuple(words), blank, source)

    @classmethod
    def _of_columns(cls, columns: Mapping[str, Sequence[str]], source: str) -> Self:
        found = {}
        lower = {name.strip().lower(): name for name in columns}
        for key, names in _COLUMNS.items():
            name = next((lower[one] for one in names if one in lower), None)
            found[key] = None if name is None else [composed(str(one).strip()) for one in columns[name]]
        ids = found["case_id"]
        if ids is None:
            raise BadInput(
                tr_lazy("{source} has no column of case ids.", source=source),
                "Name it 'case_id'. The other columns are part, fold and repeat.",
            )
        if found["part"] is None and found["fold"] is None:
            raise BadInput(
                tr_lazy("{source} has neither a part nor a fold for its cases.", source=source),
                "Name a column 'part' (train, validation, test) or 'fold'.",
            )
        given = [one for one in found.values() if one is not None]
        if any(len(one) != len(ids) for one in given):
            raise BadInput(
                tr_lazy("The columns of {source} differ in length.", source=source),
                "Give one value for each case.",
            )
        if not ids:
            raise BadInput(tr_lazy("{source} has no rows.", source=source), "Give one row for each case.")
        blank = [""] * len(ids)
        parts = []
        for word in found["part"] or blank:
            part = "" if is_missing(word) and word != "-" else _PART_OF_WORD.get(word.lower())
            if part is None:
                raise _unknown_part(source, word)
            parts.append(part)
        folds, repeats = (
            tuple("" if is_missing(one) else _whole(one) for one in found[key] or blank)
            for key in ("fold", "repeat")
        )
        return cls(tuple(ids), tuple(parts), folds, repeats, source)

    def matched(self, known: Mapping[str, str], names: Iterable[str]) -> SplitTable:
        """The rows of the cases ``names``, by the ids that these have.

        ``known``: every case that a row may name, and why it is not among ``names`` ("" if it is, or may be). A row
        may name a case by the part of its id behind the last slash, where only one case has that.

        Raises:
            BadInput: a row of an unknown case, two rows of a case in one split, a case that a split has no row of, or a
                part or fold of some rows only. The cases are listed.
        """
        self._check_complete()
        own = _own_names(known)
        found = [one if one in known else own.get(one, "") for one in self.case_ids]
        problems = []
        unknown = list(dict.fromkeys(one for one, name in zip(self.case_ids, found, strict=True) if not name))
        if unknown:
            problems.append(
                tr_lazy("{source} names unknown cases: {cases}.", source=self.source, cases=_listed(unknown))
            )
        seen: set[tuple[str, str, str]] = set()
        twice: dict[str, None] = {}
        has_parts = any(self.parts)
        for name, fold, repeat in zip(found, self.folds, self.repeats, strict=True):
            key = (name, fold if has_parts else "", repeat)
            if name and key in seen:
                twice[name] = None
            seen.add(key)
        if twice:
            problems.append(
                tr_lazy(
                    "{source} has more than one row in a split for {cases}.",
                    source=self.source,
                    cases=_listed(list(twice)),
                )
            )
        listed = list(names)
        wanted = set(listed)
        missing: dict[str, None] = {}
        for split in self._keys(has_parts):
            missing |= dict.fromkeys(name for name in listed if (name, *split) not in seen)
        if missing:
            problems.append(
                tr_lazy(
                    "{source} has no row in a split for {cases}.",
                    source=self.source,
                    cases=_listed(list(missing)),
                )
            )
        if problems:
            raise BadInput(
                join_texts(problems, " "),
                "Give every case one row in each split; `semblance info` lists the case ids. A case that a split "
                "leaves out has the part 'excluded'.",
            )
        kept = [place for place, name in enumerate(found) if name in wanted]
        reasons: dict[str, set[str]] = {}
        for name in found:
            if known[name]:
                reasons.setdefault(known[name], set()).add(name)
        notes = tuple(
            tr_lazy("{n:,} cases of the splits are left out: {reason}.", n=len(cases), reason=reason)
            for reason, cases in reasons.items()
        )
        return replace(
            self,
            case_ids=tuple(found[place] for place in kept),
            parts=tuple(self.parts[place] for place in kept),
            folds=tuple(self.folds[place] for place in kept),
            repeats=tuple(self.repeats[place] for place in kept),
            notes=notes,
        )

    def _check_complete(self) -> None:
        if any(self.folds) and not all(self.folds):
            without = [name for name, fold in zip(self.case_ids, self.folds, strict=True) if not fold]
            raise BadInput(
                tr_lazy("{source} has no fold for {cases}.", source=self.source, cases=_listed(without)),
                "Give every row a fold, or none.",
            )
        if any(self.parts) and not all(self.parts):
            without = [name for name, part in zip(self.case_ids, self.parts, strict=True) if not part]
            raise BadInput(
                tr_lazy("{source} has no part for {cases}.", source=self.source, cases=_listed(without)),
                "Give every row a part, or none: then each fold is tested once.",
            )

    def _keys(self, has_parts: bool) -> list[tuple[str, str]]:
        """Fold and repeat of each set of rows in which a case stands once, in the order of the rows."""
        folds = self.folds if has_parts else ("",) * len(self.repeats)
        return list(dict.fromkeys(zip(folds, self.repeats, strict=True)))

    def splits(self, data: EvaluationData, seed_of: Callable[[int], int]) -> GivenSplits:
        """The splits of the cases of ``data``; ``seed_of`` gives the seed of a repeat, counted from 0.

        Raises:
            BadInput: a split without a training or a test case, or a patient in two parts of one, with the list.
        """
        names = {name: row for row, name in enumerate(case_names(data))}
        rows = np.array([names.get(name, -1) for name in self.case_ids], dtype=np.intp)
        by_fold = not any(self.parts)
        codes = np.array([_CODES.get(part, _ABSENT) for part in self.parts], dtype=np.intp)
        labels: list[tuple[str, str]] = []
        splits: list[HoldOut] = []
        repeats = list(dict.fromkeys(self.repeats))
        repeat_of, fold_of = np.array(self.repeats), np.array(self.folds)
        patients = patient_codes(data.groups, data.n_cases)
        for number, repeat in enumerate(repeats):
            in_repeat = repeat_of == repeat
            for fold in dict.fromkeys(fold_of[in_repeat].tolist()):
                in_fold = in_repeat & (fold_of == fold)
                part = np.full(data.n_cases, _ABSENT, dtype=np.intp)
                if by_fold:
                    _put(part, rows, in_repeat, _CODES["train"])
                    _put(part, rows, in_fold, _CODES["test"])
                else:
                    _put(part, rows, in_fold, codes)
                self._check(part, patients, data, repeat, fold)
                train, validation, test = (
                    np.flatnonzero(part == _CODES[name]) for name in ("train", "validation", "test")
                )
                labels.append((repeat, fold))
                splits.append(HoldOut(train, test, patients is not None, seed_of(number), validation))
        per_repeat = len(splits) // len(repeats)
        counts = {repeat: sum(one[0] == repeat for one in labels) for repeat in repeats}
        same = all(n == per_repeat for n in counts.values())
        return GivenSplits(
            self._rule(splits, data, by_fold), tuple(splits), tuple(labels), per_repeat if same else 1
        )

    def _check(self, part: Rows, patients: Rows | None, data: EvaluationData, repeat: str, fold: str) -> None:
        named = (
            tr_lazy("repeat {repeat}", repeat=repeat) if repeat else "",
            tr_lazy("fold {fold}", fold=fold) if fold else "",
        )
        where = join_texts([text for text in named if text])
        place = tr_lazy(" ({where})", where=where) if any(named) else ""
        for name in ("train", "test"):
            if not (part == _CODES[name]).any():
                raise BadInput(
                    tr_lazy(
                        "{source}{place} has no case of the part '{part}' that can be used.",
                        source=self.source,
                        place=place,
                        part=name,
                    ),
                    "Every split needs training and test cases with a finding.",
                )
        if patients is None:
            return
        used = np.flatnonzero(part < _EXCLUDED)
        first = np.full(int(patients.max()) + 1, -1, dtype=np.intp)
        first[patients[used[::-1]]] = used[::-1]
        other = used[part[used] != part[first[patients[used]]]]
        if not len(other):
            return
        names = case_names(data)
        words = list(PART_WORDS)
        pairs = {int(patients[row]): (int(first[patients[row]]), row) for row in reversed(other.tolist())}
        texts = [
            f"{names[a]} ({words[part[a]]}) / {names[b]} ({words[part[b]]})"
            for a, b in sorted(pairs.values())
        ]
        raise BadInput(
            tr_lazy(
                "{source}{place} puts cases of one patient into different parts. Patients: {n:,}, cases: {cases}.",
                source=self.source,
                place=place,
                n=len(texts),
                cases=_listed(texts, "; "),
            ),
            "Give all cases of a patient the same part.",
        )

    def _rule(self, splits: Sequence[HoldOut], data: EvaluationData, by_fold: bool) -> str:
        """What the splits are, with the number of tested cases that are copies of training cases."""
        rule = (
            tr_lazy("given folds ({source})", source=self.source)
            if by_fold
            else tr_lazy("given parts ({source})", source=self.source)
        )
        units = patient_codes(data.units, data.n_cases)
        copies = (
            0 if units is None else sum(int(np.isin(units[s.test], units[s.train]).sum()) for s in splits)
        )
        if not copies:
            return rule
        return tr_lazy(
            "{rule}; {n:,} tested cases have a copy or the same lesion in a training part",
            rule=rule,
            n=copies,
        )


def case_names(data: EvaluationData) -> list[str]:
    """(n,) the ids of the cases; "row1", "row2", ... where they have none."""
    if data.case_ids is not None:
        return [str(one) for one in data.case_ids.tolist()]
    return [f"row{row + 1}" for row in range(data.n_cases)]


def attributes_of(splits: object) -> tuple[str, ...]:
    """The attributes of the cases that splits named by a text need."""
    if not isinstance(splits, str):
        return ()
    if splits in OFFICIAL:
        return OFFICIAL_ATTRIBUTES
    return (splits.removeprefix(COLUMN),) if splits.startswith(COLUMN) else ()


def split_table(
    splits: object, data: EvaluationData, read: EvaluationData, known: Mapping[str, str] | None = None
) -> SplitTable:
    """The table that ``splits`` names, with the rows of the cases of ``data``, those of ``read`` that are evaluated.

    ``splits``: what :meth:`SplitTable.of` takes, :data:`OFFICIAL`, ``column:NAME``, or a sequence of one part (or fold)
    for each case of ``read``. ``known`` as for :meth:`SplitTable.matched`; ``None``: the cases of ``read``.

    Raises:
        BadArguments, BadInput: as :meth:`SplitTable.of`, :meth:`SplitTable.matched`; or no such column.
    """
    wanted, every = case_names(data), case_names(read)
    attributes = attributes_of(splits)
    if attributes:
        given = [data.attributes[name] for name in attributes if name in data.attributes]
        values = next((one for one in given if (one != "").any()), None)
        if values is None:
            what = " / ".join(attributes)
            raise BadInput(
                tr_lazy("The cases of {data} have no column '{column}'.", data=data.name, column=what),
                "Name an attribute of the library or a column of the table, or give a file.",
            )
        source = str(splits) if splits in OFFICIAL else f"'{attributes[0]}'"
        return SplitTable.of_values(wanted, values.tolist(), source)
    if isinstance(splits, list | tuple | np.ndarray) and not getattr(
        getattr(splits, "dtype", None), "names", None
    ):
        values_of_cases = _texts(splits)
        if len(values_of_cases) != len(every):
            raise BadInput(
                tr_lazy(
                    "There are {n:,} parts for {cases:,} cases.", n=len(values_of_cases), cases=len(every)
                ),
                "Give one part for each case, in their order, or a table with case ids.",
            )
        part_of = dict(zip(every, values_of_cases, strict=True))
        return SplitTable.of_values(wanted, [part_of[name] for name in wanted], "'splits'")
    reasons = dict.fromkeys(every, _NOT_EVALUATED) | dict(known or {}) | dict.fromkeys(wanted, "")
    return SplitTable.of(splits).matched(reasons, wanted)


def _put(part: Rows, rows: Rows, chosen: npt.NDArray[np.bool_], codes: Rows | int) -> None:
    """Set the parts of the cases that ``chosen`` rows of the table name, those of ``data`` only."""
    chosen = chosen & (rows >= 0)
    part[rows[chosen]] = codes if isinstance(codes, int) else codes[chosen]


def _own_names(known: Mapping[str, str]) -> dict[str, str]:
    """The case of each text that stands behind the last slash of one id only."""
    found: dict[str, str] = {}
    for name in known:
        own = name.rpartition("/")[2]
        found[own] = "" if own in found else name
    return found


def _unknown_part(source: str, word: str) -> BadInput:
    return BadInput(
        tr_lazy("{source} has the part '{part}', which is not known.", source=source, part=word),
        "Parts are train, validation (or val, valid, dev), test and excluded.",
    )


def _listed(names: Sequence[str], separator: str = ", ") -> str:
    """The first names, and how many more there are."""
    shown = separator.join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return tr_lazy("{names} and {n:,} more", names=shown, n=more) if more > 0 else shown


def _whole(text: str) -> str:
    """A whole number without the decimals that a table program gives it."""
    whole, point, decimals = text.partition(".")
    return whole if point and whole.isdigit() and not decimals.strip("0") else text


def _texts(column: Any) -> list[str]:
    """The values of a column as texts; "" for none."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [
        value if isinstance(value, str) else "" if value is None else _whole(str(value)) for value in values
    ]


def _parquet_columns(file: Path) -> dict[str, list[str]]:
    from semblance.core.library.importers.parquet_table import import_parquet

    parquet = import_parquet()
    try:
        opened = parquet.ParquetFile(file)
        known = {name for names in _COLUMNS.values() for name in names}
        chosen = [name for name in opened.schema_arrow.names if name.strip().lower() in known]
        table = opened.read(columns=chosen)
    except Exception as problem:
        raise BadInput(
            tr_lazy("The file of splits '{file}' cannot be read.", file=file),
            "It is damaged, or no Parquet file.",
        ) from problem
    return {name: _texts(table.column(name).to_pylist()) for name in table.column_names}
