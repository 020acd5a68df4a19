"""Read single values of a header, even if other parts of it are damaged."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semblance.core.normal_text import composed

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.tag import BaseTag

#: Deeper sequences than any standard object has are not followed.
MAX_DEPTH = 32
#: Maximum length of one text value; longer ones are cut.
MAX_TEXT = 1024
#: A number with a decimal comma, as programs write it that follow the language of the computer.
_DECIMAL_COMMA = re.compile(r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$")
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

    Letters are composed, so that one name is one text. A value of a wrong length takes in the values after it, a
    patient's name perhaps: nothing after a zero byte is kept, and no value with control characters.
    """
    found = value(dataset, keyword)
    if found is None:
        return ""
    parts = [str(part) for part in found] if _is_list(found) else [str(found)]
    line = composed(" ".join("\\".join(parts).partition("\0")[0].split()))
    return "" if _CONTROL.search(line) else line[:MAX_TEXT]


@dataclass(frozen=True)
class Numbers:
    """The numbers of an element. ``written``: its text where it is not as the standard writes numbers; empty
    ``values`` then mean that it cannot be read, which is not the same as that it is absent."""

    values: tuple[float, ...] = ()
    written: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether the element is absent or can be read."""
        return bool(self.values) or not self.written


def read_numbers(dataset: Dataset, keyword: str) -> Numbers:
    """All values as finite numbers, none where one is not a number. Text of any VR is read, also with decimal commas.

    The only reader of numbers in a header: :func:`semblance.core.imaging.dicom.number_remarks.number_remarks` lists
    what it could not read.
    """
    tag = tag_of(keyword)
    if tag not in dataset.keys():  # noqa: SIM118 - as in value()
        return Numbers()
    found = value(dataset, keyword)
    parts = [] if found is None else list(found) if _is_list(found) else [found]
    if parts and all(isinstance(part, (int, float)) for part in parts):
        return _finite([float(part) for part in parts], "\\".join(map(str, parts)))
    if parts and not any(isinstance(part, (str, bytes)) for part in parts):
        return Numbers((), type(parts[0]).__name__)
    written = _written(dataset, tag, parts)
    if not written:
        return Numbers()
    try:
        return _finite([float(part) for part in written.split("\\")], written)
    except ValueError:
        pass
    try:
        return Numbers(
            _finite([float(_DECIMAL_COMMA.sub(r"\1.\2", part)) for part in written.split("\\")], "").values,
            written,
        )
    except ValueError:
        return Numbers((), written)


def _written(dataset: Dataset, tag: BaseTag, parts: list[Any]) -> str:
    """The text of an element, also where pydicom does not take it for its VR."""
    if not parts:
        raw = dataset.get_item(tag)
        parts = [b"" if raw is None else raw.value]
    texts = [part.decode("latin-1") if isinstance(part, bytes) else str(part or "") for part in parts]
    return "\\".join(texts).strip(" \0")[:MAX_TEXT]


def _finite(found: list[float], written: str) -> Numbers:
    return Numbers(tuple(found)) if all(map(math.isfinite, found)) else Numbers((), written)


def numbers(dataset: Dataset, keyword: str) -> tuple[float, ...]:
    """All values as finite numbers; empty where one is none."""
    return read_numbers(dataset, keyword).values


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


def code_of(coded: Dataset | None) -> tuple[str, str]:
    """The coding scheme and the value of an item of a code sequence; empty without one."""
    if coded is None:
        return "", ""
    return text(coded, "CodingSchemeDesignator"), text(coded, "CodeValue")
