"""A declared document is written by its keys, and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy


@dataclass(frozen=True)
class Inner(JsonDocument):
    JSON_KEYS: ClassVar[JsonKeys] = (("path", "file"), "number")

    file: Path | None = None
    number: int | None = None


@dataclass(frozen=True)
class Outer(JsonDocument):
    JSON_KEYS: ClassVar[JsonKeys] = ("name", ("first", "inner"), "pairs", "several", ("on", "flag"), "size")

    name: str
    inner: Inner
    pairs: tuple[tuple[str, float], ...] = ()
    several: tuple[Inner, ...] = ()
    flag: bool = True
    size: float = 1.5


INNER = st.builds(
    Inner, st.none() | st.sampled_from([Path("a/b.png"), Path("c")]), st.none() | st.integers(-9, 9)
)
OUTER = st.builds(
    Outer,
    st.text(),
    INNER,
    st.lists(st.tuples(st.text(), st.floats(allow_nan=False))).map(tuple),
    st.lists(INNER).map(tuple),
    st.booleans(),
    st.floats(allow_nan=False),
)


@given(OUTER)
def test_what_was_written_is_read(document):
    assert Outer.from_json(json.loads(json.dumps(document.to_json()))) == document


@given(OUTER, st.sets(st.sampled_from(["name", "first", "pairs", "several", "on", "size"])))
def test_what_is_missing_has_its_default_or_is_empty(document, missing):
    data = {key: value for key, value in document.to_json().items() if key not in missing}
    found = Outer.from_json(data).to_json()
    empty = Outer("", Inner()).to_json()
    assert found == {
        key: empty[key] if key in missing else value for key, value in document.to_json().items()
    }


@dataclass(frozen=True)
class Grouped(JsonDocument):
    JSON_KEYS: ClassVar[JsonKeys] = ("a", ("hidden", ("b", ("c", "double"))), "text")
    JSON_NULL: ClassVar[tuple[str, ...]] = ("text",)

    a: int = 1
    b: int = 2
    text: str = ""

    @property
    def double(self) -> int:
        return 2 * self.b


def test_keys_are_grouped_named_and_null_where_empty():
    assert json.dumps(Grouped().to_json()) == '{"a": 1, "hidden": {"b": 2, "c": 4}, "text": null}'
    assert Grouped(text="x").to_json()["text"] == "x"


def test_a_translatable_text_is_written_in_english():
    text = tr_lazy("{n} cases", n=3)
    assert json.dumps(Grouped(text=text).to_json()["text"]) == '"3 cases"'


def test_other_data_is_refused_as_one_kind_of_error():
    for data in [
        5,
        {"pairs": [["a", 1, 2]]},
        {"pairs": 3},
        {"several": [4]},
        {"size": "large"},
        {"first": {"number": float("inf")}},
        {"first": {"path": [1]}},
    ]:
        with pytest.raises(ValueError):
            Outer.from_json(data)


@dataclass(frozen=True)
class Scores(JsonDocument):
    """Its keys are its fields, and all of them are stored."""

    JSON_STRICT: ClassVar[bool] = True

    by_finding: Mapping[str, Inner]
    interval: tuple[float, float] | None = None


def test_without_keys_the_fields_are_written_and_mappings_hold_documents():
    scores = Scores({"benign": Inner(None, 3)}, (0.1, 0.4))
    written = scores.to_json()
    assert written == {"by_finding": {"benign": {"path": None, "number": 3}}, "interval": [0.1, 0.4]}
    assert Scores.from_json(json.loads(json.dumps(written))) == scores


def test_what_is_stored_misses_no_key():
    for incomplete in ({}, {"by_finding": {}}, {"interval": None}):
        with pytest.raises(ValueError, match="Scores"):
            Scores.from_json(incomplete)


def test_arrays_are_lists():
    assert Scores(np.arange(3)).to_json()["by_finding"] == [0, 1, 2]


class Stage(Enum):
    NEW = "new"


@dataclass(frozen=True)
class Failures(JsonDocument):
    JSON_PAIRS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "failed": ("case", "reason"),
        "renamed": ("old", "new"),
    }

    stage: Stage
    failed: tuple[tuple[str, str], ...]
    renamed: Mapping[str, str]


def test_pairs_are_objects_and_members_of_an_enumeration_their_values():
    document = Failures(Stage.NEW, (("a", "no file"),), {"b": "c"})
    assert document.to_json() == {
        "stage": "new",
        "failed": [{"case": "a", "reason": "no file"}],
        "renamed": [{"old": "b", "new": "c"}],
    }
