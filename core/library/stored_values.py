"""Values of a library that belong to no table: JSON by key, in its catalogue."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from semblance.core.library.catalogue import Catalogue
from semblance.core.library.schema import meta


def stored_value(catalogue: Catalogue, key: str) -> Any:
    """The value stored under ``key``; ``None`` where there is none, or none that can be read."""
    found = catalogue.read(_value_of(key))
    return _value(found[0].value) if found else None


def store_value(catalogue: Catalogue, key: str, value: Any) -> None:
    """Store ``value``, which JSON can hold, under ``key`` in place of what was there."""
    with catalogue.transaction() as connection:
        write_value(connection, key, value)


def read_value(connection: sa.Connection, key: str) -> Any:
    """As :func:`stored_value`, within a running transaction."""
    return _value(connection.execute(_value_of(key)).scalar())


def write_value(connection: sa.Connection, key: str, value: Any) -> None:
    """As :func:`store_value`, within a running transaction."""
    connection.execute(meta.delete().where(meta.c.key == key))
    connection.execute(meta.insert().values(key=key, value=json.dumps(value)))


def _value_of(key: str) -> sa.Select[Any]:
    return sa.select(meta.c.value).where(meta.c.key == key)


def _value(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None
