"""The program in another language for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from semblance.core.language import ENGLISH, LANGUAGE_VARIABLE, set_language


@contextmanager
def using_language(code: str) -> Iterator[None]:
    before = os.environ.get(LANGUAGE_VARIABLE)
    set_language(code)
    try:
        yield
    finally:
        set_language(before or ENGLISH)
        if before is None:
            del os.environ[LANGUAGE_VARIABLE]
