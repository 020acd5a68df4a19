"""Full-text search over the attributes of cases: the values in their headers and in ``labels.csv``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.library.schema import HEADER_TEXTS

RunQuery = Callable[[sa.Select[Any]], Sequence[sa.Row[Any]]]


def rows_with_word(read: RunQuery, word: str) -> npt.NDArray[np.int64]:
    """(m,) ascending catalogue rows of the cases with an attribute in which a word begins with ``word``.

    Letter case and accents do not matter. Punctuation inside ``word`` separates words that follow each other: "2.0"
    is found in "2.0 lung". Nothing is found by punctuation alone.
    """
    parts = re.findall(r"\w+", word)
    if not parts:
        return np.empty(0, dtype=np.int64)
    texts = sa.table(HEADER_TEXTS, sa.column("rowid"))
    match = sa.text(f"{HEADER_TEXTS} MATCH :match").bindparams(match=f'"{" ".join(parts)}"*')
    found = read(sa.select(texts.c.rowid).where(match))
    return np.sort(np.array([r[0] for r in found], dtype=np.int64))
