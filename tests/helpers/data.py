"""The folder of the real data, and the reason of tests that are skipped without it."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SEMBLANCE_DATA"
REASON = f"{VARIABLE} is not set: it names the folder of the real data"


def folder() -> Path | None:
    """The folder of the real data; ``None`` where the variable is unset or empty."""
    named = os.environ.get(VARIABLE, "")
    return Path(named).expanduser().resolve() if named else None
