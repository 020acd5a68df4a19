"""The splits of a cell and what its queries found, as the bytes that an experiment keeps beside its scores."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.evaluation.query_records import QueryRecords
from semblance.core.evaluation.result import NamedSplit
from semblance.core.evaluation.splits import HoldOut

#: The key of the bytes in the answer of a cell.
KEPT = "kept"
_ARRAYS = ("rows", "hits", "answers", "nearest", "unit", "votes", "estimate")


@dataclass(frozen=True, eq=False)
class KeptSplit:
    """A split, and what its queries found; ``None`` where that is not kept."""

    split: NamedSplit
    records: QueryRecords | None


def kept_to_bytes(kept: Sequence[KeptSplit]) -> bytes:
    """A compressed npz file without pickled objects, for :func:`kept_from_bytes`."""
    arrays: dict[str, Any] = {}
    facts = []
    for place, one in enumerate(kept):
        split, records = one.split.split, one.records
        facts.append(
            {
                "repeat": one.split.repeat,
                "fold": one.split.fold,
                "seed": split.seed,
                "by_patient": split.by_patient,
                "searched": None if records is None else records.searched,
                "k": None if records is None else list(records.k),
                "chosen": {} if records is None else dict(records.chosen),
                "columns": [] if records is None else list(records.columns),
            }
        )
        own: dict[str, Any] = {"train": split.train, "test": split.test, "validation": split.validation}
        if records is not None:
            own |= {name: getattr(records, name) for name in _ARRAYS if getattr(records, name) is not None}
            own |= {f"column {name}": values for name, values in records.columns.items()}
        arrays |= {f"{place} {name}": _small(values) for name, values in own.items()}
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def kept_from_bytes(content: bytes) -> list[KeptSplit]:
    """What :func:`kept_to_bytes` wrote.

    Raises:
        ValueError: damaged.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            return [_kept_split(place, one, arrays) for place, one in enumerate(facts)]
    except (OSError, KeyError, EOFError, zipfile.BadZipFile) as problem:
        raise ValueError("damaged") from problem


def _kept_split(place: int, facts: dict[str, Any], arrays: Any) -> KeptSplit:
    def array(name: str) -> Any:
        key = f"{place} {name}"
        if key not in arrays.files:
            return None
        values = arrays[key]
        return values.astype(np.intp) if values.dtype.kind in "iu" else values

    hold_out = HoldOut(array("train"), array("test"), facts["by_patient"], facts["seed"], array("validation"))
    records = None
    if facts["k"] is not None:
        records = QueryRecords(
            facts["searched"],
            k=tuple(facts["k"]),
            chosen=facts["chosen"],
            columns={name: array(f"column {name}") for name in facts["columns"]},
            **{name: array(name) for name in _ARRAYS},
        )
    return KeptSplit(NamedSplit(facts["repeat"], facts["fold"], hold_out), records)


def _small(values: Any) -> Any:
    """Whole numbers in four bytes."""
    array = np.asarray(values)
    return array.astype(np.int32) if array.dtype.kind in "iu" else array
