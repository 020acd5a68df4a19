"""A library's key for pseudonyms of patients, stored in its catalogue only."""

from __future__ import annotations

import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.schema import meta

_KEY = "pseudonym key"


def pseudonyms_of(catalogue: Catalogue) -> Pseudonyms:
    """The library's pseudonyms; the key is made at the first call and never changes.

    Raises:
        BadInput: the key is damaged.
    """
    with catalogue.transaction() as connection:
        key = connection.execute(sa.select(meta.c.value).where(meta.c.key == _KEY)).scalar()
        if key is None:
            key = Pseudonyms.new_key().hex()
            connection.execute(meta.insert().values(key=_KEY, value=key))
    return _from_key(catalogue, str(key))


def known_pseudonyms(catalogue: Catalogue) -> Pseudonyms | None:
    """The library's pseudonyms, ``None`` where it has no key yet; nothing is written.

    Raises:
        BadInput: the key is damaged.
    """
    found = catalogue.read(sa.select(meta.c.value).where(meta.c.key == _KEY))
    return _from_key(catalogue, str(found[0].value)) if found else None


def _from_key(catalogue: Catalogue, key: str) -> Pseudonyms:
    try:
        return Pseudonyms(bytes.fromhex(key))
    except ValueError:
        raise BadInput(
            tr_lazy(
                "The key of {library} for patients' pseudonyms is damaged.", library=catalogue.library_name
            ),
            "Restore the library from a copy, or import its images into a new one.",
        ) from None
