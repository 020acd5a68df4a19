"""Files that ship with the program and are not code: icons, themes, help pages, translations."""

from __future__ import annotations

import importlib.resources
from pathlib import Path


def path(name: str) -> Path:
    """Where the shipped file or folder ``name`` lies, written with ``/``: "icons/open.svg".

    Raises:
        FileNotFoundError: nothing of that name is shipped.
    """
    found = Path(str(importlib.resources.files(__name__).joinpath(name)))
    if not found.exists():
        raise FileNotFoundError(f"Semblance was installed without its file {name}.")
    return found
