"""A library's own key for patients' pseudonyms, kept in its catalogue and nowhere else."""

from __future__ import annotations

import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.schema import meta

_KEY = "pseudonym key"


def pseudonyms_of(catalogue: Catalogue) -> Pseudonyms:
    """What patients are called in the library; its key is made when first asked for, and stays.

    Raises:
        BadInput: the key is damaged.
    """
    with catalogue.writing() as connection:
        key = connection.execute(sa.select(meta.c.value).where(meta.c.key == _KEY)).scalar()
        if key is None:
            key = Pseudonyms.new_key().hex()
            connection.execute(meta.insert().values(key=_KEY, value=key))
    try:
        return Pseudonyms(bytes.fromhex(str(key)))
    except ValueError:
        raise BadInput(
            tr_lazy(
                "The key of {library} for patients' pseudonyms is damaged.",
                library=catalogue.file.parent.name,
            ),
            "Restore the library from a copy, or import its images into a new one.",
        ) from None
