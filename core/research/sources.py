"""The cases of an experiment: read once, kept beside the cells while they are measured, and known again."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.builtin_tables import PREFIX
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.data_sources import Source, read_source
from semblance.core.evaluation.findings_map import parse_findings_map
from semblance.core.evaluation.splits import ONE_IMAGE, HoldOut, patient_codes
from semblance.core.features.registry import extractor_class
from semblance.core.language import tr_lazy
from semblance.core.research.near_duplicates import count_near_duplicates
from semblance.core.research.spec import CasesSpec

Rows = npt.NDArray[np.intp]

#: Above this share of equal rows in one table, equal rows are nothing special there.
_EQUAL_BY_CHANCE = 0.05
#: A feature whose spread, or place in spreads, differs by this factor was hardly measured in the same unit.
_OTHER_UNIT = 10.0


@dataclass(frozen=True, eq=False)
class Cases:
    """``data`` to measure on, and the ``extractor`` whose default steps suit it.

    ``train`` (a,) and ``test`` (b,) rows, where one table or library is trained on and the other tested.
    ``notes`` say what was left out.
    """

    data: EvaluationData
    extractor: str
    train: Rows | None = None
    test: Rows | None = None
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Equal for equal numbers, findings, patients and sides; says whether finished cells still hold."""
        digest = hashlib.sha256()
        data = self.data
        for array in (
            data.X,
            data.y,
            data.groups,
            *(data.attributes[name] for name in sorted(data.attributes)),
        ):
            _feed(digest, array)
        if _units_differ(data):
            _feed(digest, data.units)
        _feed(digest, self.train)
        names = [list(data.feature_names), sorted(data.attributes), data.masses, self.extractor]
        digest.update(json.dumps(names).encode())
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """As arrays without any object, for :meth:`from_bytes`."""
        data = self.data
        arrays: dict[str, Any] = {"X": data.X, "y": data.y}
        for name in ("groups", "case_rows", "case_ids"):
            if getattr(data, name) is not None:
                arrays[name] = getattr(data, name)
        if _units_differ(data):
            arrays["units"] = data.units
        if self.train is not None:
            arrays |= {"train": self.train, "test": self.test}
        arrays |= {f"attribute {name}": values for name, values in data.attributes.items()}
        facts = {
            "feature_names": data.feature_names,
            "feature_groups": data.feature_groups,
            "source": data.source,
            "masses": data.masses,
            "extractor": self.extractor,
            "notes": self.notes,
        }
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Cases:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            attributes = {
                name.removeprefix("attribute "): arrays[name]
                for name in arrays.files
                if name.startswith("attribute ")
            }
            names = ("groups", "units", "case_rows", "case_ids")
            given = {name: arrays[name] for name in names if name in arrays.files}
            sides = {name: arrays[name] for name in ("train", "test") if name in arrays.files}
            data = EvaluationData(
                arrays["X"],
                arrays["y"],
                feature_names=tuple(facts["feature_names"]),
                feature_groups=tuple(facts["feature_groups"]),
                source=facts["source"],
                masses=facts["masses"],
                attributes=attributes,
                **given,
            )
        return cls(data, facts["extractor"], notes=tuple(facts["notes"]), **sides)


def _units_differ(data: EvaluationData) -> bool:
    """Whether more than patients keep cases together."""
    return data.units is not None and (data.groups is None or bool((data.units != data.groups).any()))


def _feed(digest: Any, array: npt.NDArray[Any] | None) -> None:
    if array is None:
        digest.update(b"none")
        return
    digest.update(str((array.shape, array.dtype.kind)).encode())
    if array.dtype.kind in "US":
        digest.update("\x1f".join(array.ravel().tolist()).encode())
    else:
        digest.update(np.ascontiguousarray(array).tobytes())


def read_cases(spec: CasesSpec, attributes: Sequence[str], seed: int) -> Cases:
    """The cases that ``spec`` names, findings renamed, at most as many as asked for.

    Raises:
        BadArguments: an unknown feature set, built-in table or finding.
        BadInput: what cannot be read, or two sides that cannot be told apart or do not fit together.
    """
    first, extractor, notes = _one(spec, attributes, seed)
    if spec.test is None:
        return Cases(first, extractor, notes=notes)
    second, other, more = _one(spec.test, attributes, seed)
    return _both(spec, (first, extractor), (second, other), notes + more)


def _one(
    spec: CasesSpec, attributes: Sequence[str], seed: int
) -> tuple[EvaluationData, str, tuple[str, ...]]:
    library = None if spec.library is None else Path(spec.library)
    data, extractor, left_out = read_source(Source(library, spec.table, spec.features), attributes)
    renamed = parse_findings_map(spec.findings) if spec.findings else None
    data = prepare(data, findings=renamed, max_cases=spec.max_cases, seed=seed)
    notes: tuple[str, ...] = ()
    if left_out:
        notes += (tr_lazy("{n} rows of {data} could not be used.", n=len(left_out), data=data.name),)
    alike = count_near_duplicates(library, data) if library is not None and data.patients != "known" else 0
    if alike:
        notes += (
            tr_lazy(
                "{n} cases of {data} look like another of no known patient, as images saved anew or taken "
                "a moment later do: scores may be too good.",
                n=alike,
                data=data.name,
            ),
        )
    return data, extractor, notes


def _both(
    spec: CasesSpec, a: tuple[EvaluationData, str], b: tuple[EvaluationData, str], notes: tuple[str, ...]
) -> Cases:
    """One table of both sides; refused where a case or a patient is on both."""
    (train, extractor), (test, other) = a, b
    if train.feature_names != test.feature_names or extractor != other:
        differ = sorted(set(train.feature_names) ^ set(test.feature_names))[:3]
        told = tr_lazy(" Only one of them has: {differ}.", differ=", ".join(differ)) if differ else ""
        raise BadInput(
            tr_lazy(
                "{train} and {test} do not have the same features.{told}",
                train=train.name,
                test=test.name,
                told=told,
            ),
            "Extract the same feature set of both, or give the tables the same columns in the same order.",
        )
    ours, theirs = (_made_by(one) for one in (train, test))
    # The columns of a table are nobody's making.
    if train.made_by and test.made_by and ours != theirs:
        raise BadInput(
            tr_lazy(
                "The features of {train} and {test} were not made alike: {ours} and {theirs}.",
                train=train.name,
                test=test.name,
                ours=_told(ours, theirs),
                theirs=_told(theirs, ours),
            ),
            "Extract them in both libraries with the same settings and this version of Semblance.",
        )
    assert spec.test is not None
    if _same_place(spec, spec.test):
        raise BadInput(
            tr_lazy(
                "{train} would be trained on and tested: every case would be on both sides.", train=train.name
            ),
            "Name another table or library to test on, or leave 'test' out for random splits.",
        )
    known = set(train.findings)
    unseen = ~np.isin(test.y, list(known))
    if unseen.all():
        raise BadInput(
            tr_lazy("{train} and {test} have no finding in common.", train=train.name, test=test.name),
            "Rename findings, with 'findings'.",
        )
    if unseen.any():
        notes += (
            tr_lazy(
                "{unseen} cases of {test} have findings that {train} lacks: left out.",
                unseen=int(unseen.sum()),
                test=test.name,
                train=train.name,
            ),
        )
        test = test.rows(np.flatnonzero(~unseen))
    if len(test.findings) < 2:
        raise BadInput(
            tr_lazy("{test} has only one finding that {train} knows.", test=test.name, train=train.name),
            "Two are needed to compare.",
        )
    twins = _twins(train.X, test.X)
    if twins.any():
        of = tr_lazy(
            "{twins} cases of {train} have exactly the numbers of a case of {test}",
            twins=int(twins.sum()),
            train=train.name,
            test=test.name,
        )
        if extractor_class(extractor).needs_image or _tell_cases_apart(train.X):
            train = train.rows(np.flatnonzero(~twins))
            notes += (tr_lazy("{of}: the same cases, left out of training.", of=of),)
        else:
            notes += (f"{of}.",)
    if len(train.findings) < 2:
        raise BadInput(
            tr_lazy(
                "Too few cases of {train} are left that {test} does not hold too.",
                train=train.name,
                test=test.name,
            ),
            "Name a table or library with other cases to train on.",
        )
    scaled = _other_units(train, test)
    if scaled:
        notes += (
            tr_lazy(
                "{n} features of {test} have another scale than those of {train}, {first} among them: were "
                "they measured in the same unit?",
                n=len(scaled),
                test=test.name,
                train=train.name,
                first=scaled[0],
            ),
        )
    groups = _patients(train.groups, test.groups, (train.n_cases, test.n_cases), unrelated=spec.unrelated)
    units = _patients(train.units, test.units, (train.n_cases, test.n_cases), unrelated=spec.unrelated)
    names = [f"train {name}" for name in _ids(train)] + [f"test {name}" for name in _ids(test)]
    both = replace(
        train,
        X=np.concatenate([train.X, test.X]),
        y=np.concatenate([train.y, test.y]),
        groups=groups,
        units=units,
        # The catalogue of only one library knows a row; images are found by the tested one's.
        case_rows=None
        if test.case_rows is None
        else np.concatenate([np.full(train.n_cases, -1, dtype=np.int64), test.case_rows]),
        case_ids=np.array(names, dtype=np.str_),
        source=f"{train.source} → {test.source}",
        attributes={
            name: np.concatenate([train.attributes[name], test.attributes[name]])
            for name in train.attributes
            if name in test.attributes
        },
    )
    sides = np.arange(train.n_cases), train.n_cases + np.arange(test.n_cases)
    whole_split(Cases(both, extractor, *sides), 0).check_leakage(both.units, both.n_cases)
    return Cases(both, extractor, *sides, notes)


def _made_by(data: EvaluationData) -> dict[str, Any]:
    """How its features were made, as far as other numbers come of it; where files lie changes none."""
    made = dict(data.made_by)
    if "identity" in made:
        return {key: made[key] for key in ("version", "identity")}
    # The size of voxels belongs to the images; features are in millimetres.
    return {key: value for key, value in made.items() if key != "spacing"}


def _told(made: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """What differs from the other's, in words."""
    return ", ".join(f"{key}={value}" for key, value in made.items() if other.get(key) != value) or "–"


def _same_place(a: CasesSpec, b: CasesSpec) -> bool:
    """Whether both name one table or library, however they write its path."""
    names = [one.table or one.library or "" for one in (a, b)]
    if any(name.startswith(PREFIX) for name in names):
        return names[0] == names[1]
    return Path(names[0]).resolve() == Path(names[1]).resolve()


def _ids(data: EvaluationData) -> list[str]:
    return [str(row) for row in range(data.n_cases)] if data.case_ids is None else data.case_ids.tolist()


def _twins(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """(n,) which rows of ``a`` (n, d) stand in ``b`` too."""
    rows = {row.tobytes() for row in np.ascontiguousarray(b)}
    return np.array([row.tobytes() in rows for row in np.ascontiguousarray(a)], dtype=np.bool_)


def _tell_cases_apart(rows: npt.NDArray[Any]) -> bool:
    """Whether equal numbers (n, d) are one case: where hardly any two rows of one table are equal, equal rows
    of two tables are no chance either."""
    different = len({row.tobytes() for row in np.ascontiguousarray(rows)})
    return len(rows) - different <= _EQUAL_BY_CHANCE * len(rows)


def _other_units(a: EvaluationData, b: EvaluationData) -> list[str]:
    """Names of the features of which one side spreads ten times wider, or lies ten spreads off the other."""
    found = []
    for place, name in enumerate(a.feature_names):
        sides = [one.X[:, place][np.isfinite(one.X[:, place])] for one in (a, b)]
        if min(map(len, sides)) < 2:
            continue
        (low, high), apart = sorted(float(side.std()) for side in sides), sides[0].mean() - sides[1].mean()
        if low > 0.0 and (high > _OTHER_UNIT * low or abs(apart) > _OTHER_UNIT * high):
            found.append(name)
    return found


def _patients(
    train: npt.NDArray[np.str_] | None,
    test: npt.NDArray[np.str_] | None,
    sizes: tuple[int, int],
    *,
    unrelated: bool,
) -> npt.NDArray[np.str_] | None:
    """Patients of both sides; with ``unrelated`` those of one are others than those of the other."""
    if train is None and test is None:
        return None
    sides: list[str] = []
    for mark, side, size in (("train", train, sizes[0]), ("test", test, sizes[1])):
        own = [""] * size if side is None else side.tolist()
        # What only shows one image is numbered within its own library.
        sides += [
            f"{mark} {name}" if name and (unrelated or name.startswith(ONE_IMAGE)) else name for name in own
        ]
    return np.array(sides, dtype=np.str_)


def whole_split(cases: Cases, seed: int) -> HoldOut:
    """All of one side to train on, all of the other to test."""
    assert cases.train is not None and cases.test is not None
    known = patient_codes(cases.data.groups, cases.data.n_cases) is not None
    return HoldOut(cases.train, cases.test, known, seed)
