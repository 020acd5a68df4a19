"""The cases of an experiment, in the form in which workers read them."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import HoldOut, patient_codes

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ExperimentCases:
    """The ``data``, and the ``extractor`` that determines the default steps.

    ``train`` (a,) and ``test`` (b,) rows, if one table or library is for training and another for testing.
    ``notes`` say which cases were left out.
    """

    data: EvaluationData
    extractor: str
    train: Rows | None = None
    test: Rows | None = None
    notes: tuple[str, ...] = ()

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
        return cls(data, facts["extractor"], notes=tuple(facts["notes"]), **side_rows)


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
