"""Values of a library outside its tables: JSON by key, in its catalogue."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from semblance.core.library.catalogue import Catalogue
from semblance.core.library.schema import meta


def stored_value(catalogue: Catalogue, key: str) -> Any:
    """The value stored under ``key``; ``None`` where there is none, or none that can be read."""
    found = catalogue.read(sa.select(meta.c.value).where(meta.c.key == key))
    try:
        return json.loads(found[0].value) if found else None
    except (TypeError, ValueError):
        return None


def store_value(catalogue: Catalogue, key: str, value: Any) -> None:
    """Store ``value``, which JSON can hold, under ``key`` in place of what was there."""
    with catalogue.transaction() as connection:
        connection.execute(meta.delete().where(meta.c.key == key))
        connection.execute(meta.insert().values(key=key, value=json.dumps(value)))
