"""The program in another language for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from semblance.core.language import ENGLISH, VARIABLE, choose


@contextmanager
def speaking(code: str) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    choose(code)
    try:
        yield
    finally:
        choose(before or ENGLISH)
        if before is None:
            del os.environ[VARIABLE]
