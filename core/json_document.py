"""Results and requests as JSON: a class declares its keys once, and one encoder and one decoder serve all classes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from semblance.core.errors import SemblanceError

#: Keys in their order: one named as the attribute or property with its value, one with the name of that attribute, or
#: one with the keys of an object that groups some of them.
JsonKeys = tuple["str | tuple[str, str | JsonKeys]", ...]


class JsonDocument:
    """A frozen dataclass that is written as JSON.

    ``JSON_KEYS`` are its keys in their order; without them these are its fields. The keys ``JSON_NULL`` are null where
    the value is empty. The pairs of the keys ``JSON_PAIRS``, or the entries if it is a mapping, are objects with these
    two keys. ``JSON_STRICT``: a key that is missing makes data another document, as of scores that are stored.
    """

    JSON_KEYS: ClassVar[JsonKeys] = ()
    JSON_NULL: ClassVar[tuple[str, ...]] = ()
    JSON_PAIRS: ClassVar[Mapping[str, tuple[str, str]]] = {}
    JSON_STRICT: ClassVar[bool] = False

    def to_json(self) -> dict[str, Any]:
        """The document as plain values."""
        found = self._encoded(self._keys())
        for key, names in self.JSON_PAIRS.items():
            pairs = found[key].items() if isinstance(found[key], dict) else found[key]
            found[key] = [dict(zip(names, pair, strict=True)) for pair in pairs]
        return found | {key: found[key] or None for key in self.JSON_NULL}

    def _encoded(self, keys: JsonKeys) -> dict[str, Any]:
        return {
            key: _plain(getattr(self, one)) if isinstance(one, str) else self._encoded(one)
            for key, one in map(_pair, keys)
        }

    @classmethod
    def _keys(cls) -> JsonKeys:
        return cls.JSON_KEYS or tuple(one.name for one in dataclasses.fields(cls))  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The object that :meth:`to_json` wrote. A missing key has the default of its field, or is empty without one.

        Raises:
            ValueError: other data.
        """
        try:
            return cls._read(data)
        except (KeyError, TypeError, AttributeError, OverflowError, SemblanceError) as error:
            raise ValueError(f"This is no {cls.__name__}: {error}") from error

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        types = _types(cls)  # type: ignore[arg-type]
        fields = {one.name: one for one in dataclasses.fields(cls)}  # type: ignore[arg-type]
        values = {}
        for key, name in map(_pair, cls._keys()):
            if (field := fields.get(str(name))) is None:
                # A value that follows from the others.
                continue
            required = field.default is dataclasses.MISSING
            if cls.JSON_STRICT:
                values[field.name] = _decoded(types[field.name], data[key])
            elif key in data or required:
                values[field.name] = _decoded(types[field.name], data.get(key), required)
        return cls(**values)

    @classmethod
    def _json_types(cls) -> dict[str, Any]:
        """The types of fields that are imported only where documents are read."""
        return {}


@functools.cache
def _types(cls: type[JsonDocument]) -> dict[str, Any]:
    return get_type_hints(cls, localns=cls._json_types())


def _pair(key: str | tuple[str, str | JsonKeys]) -> tuple[str, str | JsonKeys]:
    return (key, key) if isinstance(key, str) else key


def _plain(value: Any) -> Any:
    """``value`` as JSON has it."""
    # A text that can be translated is written in English, although it has a form of its own for stored texts.
    if hasattr(value, "to_json") and not isinstance(value, str):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def _decoded(kind: Any, value: Any, required: bool = False) -> Any:
    """``value`` as the type ``kind`` of a field."""
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (one for one in get_args(kind) if one is not NoneType)
        return None if value is None or value in ("", {}) else _decoded(inner, value)
    if get_origin(kind) is tuple:
        kinds = get_args(kind)
        if kinds[-1] is Ellipsis:
            return tuple(_decoded(kinds[0], one) for one in value)
        return tuple(_decoded(one, part) for one, part in zip(kinds, value, strict=True))
    if get_origin(kind) in (dict, Mapping) and value is not None:
        named, inner = get_args(kind)
        return {named(key): one if inner is Any else _decoded(inner, one) for key, one in value.items()}
    if hasattr(kind, "from_json"):
        return kind.from_json(dict(value or {}) if required else dict(value))
    return kind() if required and value is None else kind(value)
