"""Texts in the user's language: English in the sources, translations in tables beside the help pages.

``tr("{n} cases", n=3)`` looks its English text up and fills it in. The language is chosen before the other
modules of the program are imported, by :func:`choose` or the environment variable :data:`VARIABLE`, which
worker processes inherit. What has no translation stays English.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

VARIABLE = "SEMBLANCE_LANGUAGE"
ENGLISH = "en"
#: Code -> what the language calls itself.
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}


def folder() -> Path:
    """Where the tables lie: ``LANGUAGE/PART.json``, each a mapping of English to translated texts."""
    import resources

    return Path(resources.__file__).parent / "translations"


def chosen() -> str:
    """The code of the language in force."""
    code = os.environ.get(VARIABLE, ENGLISH)
    return code if code in LANGUAGES else ENGLISH


def choose(code: str) -> None:
    """Use another language from now on, here and in processes started later; unknown ones mean English."""
    os.environ[VARIABLE] = code if code in LANGUAGES else ENGLISH
    table.cache_clear()


@lru_cache(maxsize=1)
def table() -> Mapping[str, str]:
    """English -> translation of the language in force; empty for English."""
    if chosen() == ENGLISH:
        return {}
    texts: dict[str, str] = {}
    for file in sorted((folder() / chosen()).glob("*.json")):
        texts.update(json.loads(file.read_text(encoding="utf-8")))
    return texts


def tr(text: str, /, **values: object) -> str:
    """``text`` in the language in force, ``{name}`` and ``{name:,}`` in it filled in from ``values``.

    The text has to stand in the call as it is, not as a variable or an f-string: that is where the tests look
    for what is to be translated.
    """
    found = table().get(text, text)
    return found.format(**values) if values else found


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """``one`` for ``n`` = 1, else ``many``; ``{n}`` is filled in with thousands apart."""
    return tr(one if n == 1 else many, n=f"{n:,}", **values)
