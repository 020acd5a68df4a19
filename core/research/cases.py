"""The cases of an experiment: read, joined for transfer, and in the form in which workers read them.

Same-lesion groups hold copies of one image. Similar images that are not copies, such as frames of one scan, are in none
unless a user joined them. Copies that a user split, or that were not detected in a library, are in none either.
"""

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
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import PREFIX, CaseSource, cases_not_evaluated, read_source
from semblance.core.evaluation.split_file import SplitTable, attributes_of, split_table
from semblance.core.evaluation.splits import ONE_IMAGE, HoldOut, patient_codes
from semblance.core.features.registry import stored_extractor
from semblance.core.imaging.image_signature import image_signature, near_duplicate_pairs
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation, library_location
from semblance.core.library.open_library import open_library
from semblance.core.research.spec import CasesSpec

Rows = npt.NDArray[np.intp]

#: If more than this share of the rows of a table is equal, equal rows of two tables may be different cases.
_EQUAL_BY_CHANCE = 0.05
#: A feature whose standard deviation or mean differs by this factor probably has another unit.
_OTHER_UNIT = 10.0

#: Maximum number of images: a signature takes 0.8 ms, and every pair is compared.
MAX_IMAGES = 4000


@dataclass(frozen=True, eq=False)
class ExperimentCases:
    """The ``data``, and the ``extractor`` that determines the default steps.

    ``train`` (a,) and ``test`` (b,) rows, if one table or library is for training and another for testing.
    ``notes`` say which cases were left out. ``given``: the splits, where they are given.
    """

    data: EvaluationData
    extractor: str
    train: Rows | None = None
    test: Rows | None = None
    notes: tuple[str, ...] = ()
    given: SplitTable | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for equal features, findings, patients and sides. Finished cells are valid for equal fingerprints."""
        digest = hashlib.sha256()
        data = self.data
        for array in (
            data.X,
            data.y,
            data.groups,
            *(data.attributes[name] for name in sorted(data.attributes)),
        ):
            _update_digest(digest, array)
        if _units_differ(data):
            _update_digest(digest, data.units)
        if data.lesions is not None:
            _update_digest(digest, data.lesions)
        _update_digest(digest, self.train)
        if self.given is not None:
            digest.update(json.dumps(_split_columns(self.given)).encode())
        names = [list(data.feature_names), sorted(data.attributes), data.masses, self.extractor]
        digest.update(json.dumps(names).encode())
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """The cases as an npz file without pickled objects, for :meth:`from_bytes`."""
        data = self.data
        arrays: dict[str, Any] = {"X": data.X, "y": data.y}
        for name in ("groups", "case_rows", "case_ids"):
            if getattr(data, name) is not None:
                arrays[name] = getattr(data, name)
        if _units_differ(data):
            arrays["units"] = data.units
        if data.lesions is not None:
            arrays["lesions"] = data.lesions
        if self.train is not None:
            arrays |= {"train": self.train, "test": self.test}
        arrays |= {f"attribute {name}": values for name, values in data.attributes.items()}
        facts = {
            "feature_names": data.feature_names,
            "feature_groups": data.feature_groups,
            "source": data.source,
            "made_by": data.made_by,
            "masses": data.masses,
            "extractor": self.extractor,
            "notes": self.notes,
            "splits": None if self.given is None else [*_split_columns(self.given), self.given.source],
        }
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> ExperimentCases:
        """The cases that :meth:`to_bytes` wrote."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            attributes = {
                name.removeprefix("attribute "): arrays[name]
                for name in arrays.files
                if name.startswith("attribute ")
            }
            names = ("groups", "units", "lesions", "case_rows", "case_ids")
            arrays_given = {name: arrays[name] for name in names if name in arrays.files}
            side_rows = {name: arrays[name] for name in ("train", "test") if name in arrays.files}
            data = EvaluationData(
                arrays["X"],
                arrays["y"],
                feature_names=tuple(facts["feature_names"]),
                feature_groups=tuple(facts["feature_groups"]),
                source=facts["source"],
                made_by=facts["made_by"],
                masses=facts["masses"],
                attributes=attributes,
                **arrays_given,
            )
        given = None
        if facts["splits"] is not None:
            ids, parts, folds, repeats, source = facts["splits"]
            given = SplitTable(tuple(ids), tuple(parts), tuple(folds), tuple(repeats), source)
        return cls(data, facts["extractor"], notes=tuple(facts["notes"]), given=given, **side_rows)


def _split_columns(table: SplitTable) -> list[list[str]]:
    return [list(column) for column in (table.case_ids, table.parts, table.folds, table.repeats)]


def _units_differ(data: EvaluationData) -> bool:
    """Whether units differ from patients."""
    return data.units is not None and (data.groups is None or bool((data.units != data.groups).any()))


def _update_digest(digest: Any, array: npt.NDArray[Any] | None) -> None:
    if array is None:
        digest.update(b"none")
        return
    digest.update(str((array.shape, array.dtype.kind)).encode())
    if array.dtype.kind in "US":
        digest.update("\x1f".join(array.ravel().tolist()).encode())
    else:
        digest.update(np.ascontiguousarray(array).tobytes())


def transfer_split(cases: ExperimentCases, seed: int) -> HoldOut:
    """The split with all cases of one side for training, and all of the other for testing."""
    assert cases.train is not None and cases.test is not None
    known = patient_codes(cases.data.groups, cases.data.n_cases) is not None
    return HoldOut(cases.train, cases.test, known, seed)


def joined_sides(
    train_spec: CasesSpec, test_spec: CasesSpec, train: ExperimentCases, test: ExperimentCases
) -> ExperimentCases:
    """Join the cases of both sides, ``train`` for training and ``test`` for testing.

    Test cases with findings that no training case has are left out, and so are training cases that are also test
    cases; notes say how many.

    Raises:
        BadInput: the same table or library on both sides, features that differ, no two findings in common,
            nothing left to train on, or a patient on both sides.
    """
    _check_features(train, test)
    _check_settings(train.data, test.data)
    _check_sources(train_spec, test_spec, train.data)
    test_cases, unknown_note = _with_known_findings(train.data, test.data)
    training_cases, shared_note = _without_shared_cases(train.data, test_cases, train.extractor)
    notes = [*train.notes, *test.notes, unknown_note, shared_note, _unit_note(training_cases, test_cases)]
    joined = _joined(training_cases, test_cases, unrelated=train_spec.unrelated)
    rows = np.arange(training_cases.n_cases), training_cases.n_cases + np.arange(test_cases.n_cases)
    cases = ExperimentCases(joined, train.extractor, *rows, tuple(note for note in notes if note))
    transfer_split(cases, 0).check_leakage(joined.units, joined.n_cases)
    return cases


def _check_features(train: ExperimentCases, test: ExperimentCases) -> None:
    a, b = train.data, test.data
    if a.feature_names == b.feature_names and train.extractor == test.extractor:
        return
    different = sorted(set(a.feature_names) ^ set(b.feature_names))[:3]
    difference = tr_lazy(" Only one of them has: {differ}.", differ=", ".join(different)) if different else ""
    raise BadInput(
        tr_lazy(
            "{train} and {test} do not have the same features.{difference}",
            train=a.name,
            test=b.name,
            difference=difference,
        ),
        "Extract the same feature set of both, or give the tables the same columns in the same order.",
    )


def _check_settings(train: EvaluationData, test: EvaluationData) -> None:
    """Check that both feature sets have the same settings; tables have none."""
    train_settings, test_settings = _numeric_settings(train), _numeric_settings(test)
    if not train.made_by or not test.made_by or train_settings == test_settings:
        return
    raise BadInput(
        tr_lazy(
            "The features of {train} and {test} were extracted with different settings: {train_settings} and "
            "{test_settings}.",
            train=train.name,
            test=test.name,
            train_settings=_differing(train_settings, test_settings),
            test_settings=_differing(test_settings, train_settings),
        ),
        "Extract them in both libraries with the same settings and this version of Semblance.",
    )


def _numeric_settings(data: EvaluationData) -> dict[str, Any]:
    """The settings of the extractor that change its features; paths of files do not."""
    settings = dict(data.made_by)
    if "identity" in settings:
        return {key: settings[key] for key in ("version", "identity")}
    # The spacing is a property of the images; features are in millimetres.
    return {key: value for key, value in settings.items() if key != "spacing"}


def _differing(settings: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The settings that differ from ``other``, as text."""
    return ", ".join(f"{key}={value}" for key, value in settings.items() if other.get(key) != value) or "–"


def _check_sources(train_spec: CasesSpec, test_spec: CasesSpec, train: EvaluationData) -> None:
    if _is_same_source(train_spec, test_spec):
        raise BadInput(
            tr_lazy(
                "{train} would be trained on and tested: every case would be on both sides.", train=train.name
            ),
            "Name another table or library to test on, or leave 'test' out for random splits.",
        )


def _is_same_source(a: CasesSpec, b: CasesSpec) -> bool:
    """Whether both are the same table or library, by resolved path."""
    names = [one.table or one.library or "" for one in (a, b)]
    if any(name.startswith(PREFIX) for name in names):
        return names[0] == names[1]
    return Path(names[0]).resolve() == Path(names[1]).resolve()


def _with_known_findings(train: EvaluationData, test: EvaluationData) -> tuple[EvaluationData, str]:
    """The test cases with findings of training cases, and a note on the others."""
    known = np.isin(test.y, list(train.findings))
    if not known.any():
        raise BadInput(
            tr_lazy("{train} and {test} have no finding in common.", train=train.name, test=test.name),
            "Rename findings, with 'findings'.",
        )
    note = ""
    if not known.all():
        note = tr_lazy(
            "{unseen} cases of {test} have findings that {train} lacks: left out.",
            unseen=int((~known).sum()),
            test=test.name,
            train=train.name,
        )
    test = test.rows(np.flatnonzero(known))
    if len(test.findings) < 2:
        raise BadInput(
            tr_lazy("{test} has only one finding that {train} knows.", test=test.name, train=train.name),
            "Two are needed to compare.",
        )
    return test, note


def _without_shared_cases(
    train: EvaluationData, test: EvaluationData, extractor: str
) -> tuple[EvaluationData, str]:
    """The training cases that are not test cases, and a note on the others."""
    shared = _rows_in(train.X, test.X)
    note = ""
    if shared.any():
        count = tr_lazy(
            "{twins} cases of {train} have exactly the numbers of a case of {test}",
            twins=int(shared.sum()),
            train=train.name,
            test=test.name,
        )
        if stored_extractor(extractor).needs_image or _rows_identify_cases(train.X):
            train = train.rows(np.flatnonzero(~shared))
            note = tr_lazy("{of}: the same cases, left out of training.", of=count)
        else:
            note = f"{count}."
    if len(train.findings) < 2:
        raise BadInput(
            tr_lazy(
                "Too few cases of {train} are left that {test} does not hold too.",
                train=train.name,
                test=test.name,
            ),
            "Name a table or library with other cases to train on.",
        )
    return train, note


def _rows_in(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """(n,) whether the rows of ``a`` (n, d) are in ``b`` too."""
    rows = {row.tobytes() for row in np.ascontiguousarray(b)}
    return np.array([row.tobytes() in rows for row in np.ascontiguousarray(a)], dtype=np.bool_)


def _rows_identify_cases(rows: npt.NDArray[Any]) -> bool:
    """Whether equal rows (n, d) are the same case. This is so if few rows of one table are equal."""
    different = len({row.tobytes() for row in np.ascontiguousarray(rows)})
    return len(rows) - different <= _EQUAL_BY_CHANCE * len(rows)


def _unit_note(train: EvaluationData, test: EvaluationData) -> str:
    """A note if features of the sides seem to have different units."""
    names = _features_of_other_scale(train, test)
    if not names:
        return ""
    return tr_lazy(
        "{n} features of {test} have another scale than those of {train}, {first} among them: were "
        "they measured in the same unit?",
        n=len(names),
        test=test.name,
        train=train.name,
        first=names[0],
    )


def _features_of_other_scale(a: EvaluationData, b: EvaluationData) -> list[str]:
    """Names of the features whose standard deviations differ ten times, or means by ten standard deviations."""
    found = []
    for place, name in enumerate(a.feature_names):
        sides = [one.X[:, place][np.isfinite(one.X[:, place])] for one in (a, b)]
        if min(map(len, sides)) < 2:
            continue
        (low, high), distance_of_means = (
            sorted(float(side.std()) for side in sides),
            sides[0].mean() - sides[1].mean(),
        )
        if low > 0.0 and (high > _OTHER_UNIT * low or abs(distance_of_means) > _OTHER_UNIT * high):
            found.append(name)
    return found


def _joined(train: EvaluationData, test: EvaluationData, *, unrelated: bool) -> EvaluationData:
    """The cases of both sides, training cases first; ``unrelated``: equal patient names are different patients."""
    sizes = train.n_cases, test.n_cases
    names = [f"train {name}" for name in _case_names(train)] + [f"test {name}" for name in _case_names(test)]
    return replace(
        train,
        X=np.concatenate([train.X, test.X]),
        y=np.concatenate([train.y, test.y]),
        groups=_joined_patients(train.groups, test.groups, sizes, unrelated=unrelated),
        units=_joined_patients(train.units, test.units, sizes, unrelated=unrelated),
        lesions=_joined_lesions(train, test),
        # Rows are of one catalogue only, that of the test cases, so that their images can be shown.
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


def _case_names(data: EvaluationData) -> list[str]:
    return [str(row) for row in range(data.n_cases)] if data.case_ids is None else data.case_ids.tolist()


def _joined_lesions(train: EvaluationData, test: EvaluationData) -> npt.NDArray[np.int64]:
    """Lesions of both sides, none on both."""
    sides = [
        np.arange(side.n_cases) if side.lesions is None else np.unique(side.lesions, return_inverse=True)[1]
        for side in (train, test)
    ]
    return np.concatenate([sides[0], sides[1] + train.n_cases]).astype(np.int64)


def _joined_patients(
    train: npt.NDArray[np.str_] | None,
    test: npt.NDArray[np.str_] | None,
    sizes: tuple[int, int],
    *,
    unrelated: bool,
) -> npt.NDArray[np.str_] | None:
    """Patients of both sides; with ``unrelated`` equal names are different patients."""
    if train is None and test is None:
        return None
    sides: list[str] = []
    for prefix, side, size in (("train", train, sizes[0]), ("test", test, sizes[1])):
        names = [""] * size if side is None else side.tolist()
        # Units of one image are numbered within their library.
        sides += [
            f"{prefix} {name}" if name and (unrelated or name.startswith(ONE_IMAGE)) else name
            for name in names
        ]
    return np.array(sides, dtype=np.str_)


def count_near_duplicates(library: LibraryLocation, data: EvaluationData) -> int:
    """The number of cases that look like a case of another unit, which a split may put on the other side.

    A unit is a patient, a same-lesion group or an image.

    Thumbnails of the first :data:`MAX_IMAGES` cases are compared. A case without a thumbnail is not counted.

    Raises:
        BadInput: the library cannot be read.
    """
    if data.case_rows is None:
        return 0
    with open_library(library) as opened:
        images = opened.catalogue.shown_images()
        content = {int(case.id): str(case.content) for case in opened.catalogue.all_cases()}
        shown = [place for place, row in enumerate(data.case_rows.tolist()) if row in images][:MAX_IMAGES]
        keys = sorted({content[int(data.case_rows[place])] for place in shown})
        signatures = {key: image_signature(image) for key, image in opened.thumbnails.get(keys).items()}
    found = [
        (place, signature)
        for place in shown
        if (signature := signatures.get(content[int(data.case_rows[place])])) is not None
    ]
    if len(found) < 2:
        return 0
    units = patient_codes(data.units, data.n_cases)
    unit_of_case = np.arange(data.n_cases) if units is None else units
    units_found = unit_of_case[[place for place, _ in found]]
    is_near_duplicate = near_duplicate_pairs([signature for _, signature in found]) & (
        units_found[:, None] != units_found
    )
    return int(np.count_nonzero(is_near_duplicate.any(axis=1)))


def read_cases(
    spec: CasesSpec, attributes: Sequence[str], seed: int, known: LibraryLocation | None = None
) -> ExperimentCases:
    """The cases that ``spec`` names, with findings renamed, and at most the number requested.

    Raises:
        BadArguments: an unknown feature set, built-in table or finding.
        BadInput: data that cannot be read, or two sides that overlap or do not fit together.
    """
    cases = _one_source(spec, attributes, seed, known)
    if spec.test is None:
        return cases
    return joined_sides(spec, spec.test, cases, _one_source(spec.test, attributes, seed, known))


def _one_source(
    spec: CasesSpec, attributes: Sequence[str], seed: int, known: LibraryLocation | None
) -> ExperimentCases:
    library = None if spec.library is None else library_location(spec.library, known)
    needed = tuple(dict.fromkeys((*attributes, *attributes_of(spec.splits))))
    read, extractor, left_out = read_source(CaseSource(library, spec.table, spec.features), needed)
    renamed = parse_findings_map(spec.findings) if spec.findings else None
    data = prepare(read, findings=renamed, max_cases=spec.max_cases, seed=seed)
    notes: tuple[str, ...] = ()
    given = None
    if spec.splits:
        others = None if library is None else cases_not_evaluated(library)
        given = split_table(spec.splits, data, read, others)
        notes += given.notes
    if left_out:
        notes += (tr_lazy("{n} rows of {data} could not be used.", n=len(left_out), data=data.name),)
    n_duplicates = (
        count_near_duplicates(library, data) if library is not None and data.patients != "known" else 0
    )
    if n_duplicates:
        notes += (
            tr_lazy(
                "{n} cases of {data} show the same lesion as cases that may be of the same patient, or are copies of "
                "them. Patients are unknown, so scores may be too high.",
                n=n_duplicates,
                data=data.name,
            ),
        )
    return ExperimentCases(data, extractor, notes=notes, given=given)
