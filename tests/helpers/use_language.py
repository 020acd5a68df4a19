"""Runs a block in another language."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from semblance.core.language import ENGLISH, LANGUAGE_VARIABLE, set_language


@contextmanager
def use_language(code: str) -> Iterator[None]:
    previous = os.environ.get(LANGUAGE_VARIABLE)
    set_language(code)
    try:
        yield
    finally:
        set_language(previous or ENGLISH)
        if previous is None:
            del os.environ[LANGUAGE_VARIABLE]
