"""The cases of an experiment, as they are kept beside the cells while these are measured."""

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
        """The cases that :meth:`to_bytes` wrote."""
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


def whole_split(cases: Cases, seed: int) -> HoldOut:
    """All of one side to train on, all of the other to test."""
    assert cases.train is not None and cases.test is not None
    known = patient_codes(cases.data.groups, cases.data.n_cases) is not None
    return HoldOut(cases.train, cases.test, known, seed)
