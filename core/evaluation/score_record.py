"""Scores of one group or period as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

Interval = tuple[float, float]


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _interval(value: Any) -> Interval | None:
    return None if value is None else (float(value[0]), float(value[1]))


#: Converters by the annotation of a field.
_READERS: dict[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "float | None": _number,
    "Interval | None": _interval,
}


class ScoreRecord:
    """Base of frozen dataclasses whose fields are annotated ``str``, ``int``, ``float | None`` and
    ``Interval | None``."""

    def to_json(self) -> dict[str, Any]:
        """As stored with the scores of a metric and printed by commands; :meth:`from_json` reads it."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            KeyError, TypeError, ValueError, IndexError: values of another form.
        """
        # Postponed annotations are stored as text.
        return cls(**{name: _READERS[kind](values[name]) for name, kind in cls.__annotations__.items()})
