"""Read single values of a header, even if other parts of it are damaged."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.tag import BaseTag

#: Deeper sequences than any standard object has are not followed.
MAX_DEPTH = 32
#: Maximum length of one text value; longer ones are cut.
MAX_TEXT = 1024
_CONTROL = re.compile("[\x00-\x1f\x7f]")


@functools.cache
def tag_of(keyword: str) -> BaseTag:
    """The tag called ``keyword`` in the standard.

    Raises:
        KeyError: there is no such tag.
    """
    from pydicom.datadict import keyword_dict
    from pydicom.tag import Tag

    return Tag(keyword_dict[keyword])


def value(dataset: Dataset, keyword: str) -> Any:
    """The value, or ``None`` where it is absent, empty or cannot be read."""
    tag = tag_of(keyword)
    # Look up by number: by name it takes ten times as long, and most tags are absent.
    if tag not in dataset.keys():  # noqa: SIM118 - the dataset's own test converts the tag first
        return None
    try:
        found = dataset[tag].value
    except Exception:  # noqa: BLE001 - a damaged value is parsed here, and may fail in any way
        return None
    return None if found is None or found == "" else found


def text(dataset: Dataset, keyword: str) -> str:
    """The value as one line of text, "" where there is none; several values are separated by a backslash.

    A value of a wrong length takes in the values after it, a patient's name perhaps: nothing after a zero byte is
    kept, and no value with control characters.
    """
    found = value(dataset, keyword)
    if found is None:
        return ""
    parts = [str(part) for part in found] if _is_list(found) else [str(found)]
    line = " ".join("\\".join(parts).partition("\0")[0].split())
    return "" if _CONTROL.search(line) else line[:MAX_TEXT]


def case_attributes(dataset: Dataset) -> dict[str, str]:
    """Attributes of a case from its header, "" if it has none; nothing that identifies the patient."""
    return {
        "modality": text(dataset, "Modality"),
        "body_part": text(dataset, "BodyPartExamined"),
        "view": text(dataset, "ViewPosition"),
        "sex": text(dataset, "PatientSex"),
        "age": text(dataset, "PatientAge"),
        "manufacturer": text(dataset, "Manufacturer"),
        "laterality": text(dataset, "ImageLaterality") or text(dataset, "Laterality"),
    }


def numbers(dataset: Dataset, keyword: str) -> tuple[float, ...]:
    """All values as finite numbers; empty where one is none."""
    found = value(dataset, keyword)
    if found is None:
        return ()
    try:
        out = tuple(float(part) for part in (found if _is_list(found) else (found,)))
    except (TypeError, ValueError, OverflowError):
        return ()
    return out if all(math.isfinite(part) for part in out) else ()


def number(dataset: Dataset, keyword: str) -> float | None:
    """The first value as a finite number; ``None`` where there is none."""
    found = numbers(dataset, keyword)
    return found[0] if found else None


def integer(dataset: Dataset, keyword: str) -> int | None:
    """The first value where it is a whole number; else ``None``."""
    found = number(dataset, keyword)
    return None if found is None or found != int(found) else int(found)


def items(dataset: Dataset | None, keyword: str) -> list[Dataset]:
    """The items of a sequence; none where it is absent or no sequence."""
    from pydicom import Dataset, Sequence

    found = None if dataset is None else value(dataset, keyword)
    return [item for item in found if isinstance(item, Dataset)] if isinstance(found, Sequence) else []


def item(dataset: Dataset | None, *keywords: str) -> Dataset | None:
    """The first item of a sequence within the first item of a sequence ..."""
    for keyword in keywords:
        found = items(dataset, keyword)
        if not found:
            return None
        dataset = found[0]
    return dataset


def walk(dataset: Dataset, keyword: str, depth: int = 0) -> Iterator[Dataset]:
    """Every item of the sequences ``keyword`` within each other, outer ones first."""
    if depth < MAX_DEPTH:
        for found in items(dataset, keyword):
            yield found
            yield from walk(found, keyword, depth + 1)


def _is_list(found: Any) -> bool:
    return isinstance(found, (list, tuple)) or type(found).__name__ == "MultiValue"
