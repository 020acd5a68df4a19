"""The natural order of texts with numbers in them. The first window sorts by it, before numpy is loaded."""

from __future__ import annotations

import re

#: Numbers in texts are padded to so many digits.
DIGITS = 12


def natural_key(text: str) -> str:
    """A key that sorts numbers inside texts by their size: ``IM 2`` before ``IM 10``."""
    return re.sub(r"\d+", lambda digits: digits.group().zfill(DIGITS), text.casefold())
