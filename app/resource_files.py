"""Where the files the program ships with lie."""

from __future__ import annotations

from pathlib import Path

RESOURCES = Path(__file__).resolve().parent.parent / "resources"


def resource(*parts: str) -> Path:
    """The path of a shipped file, for example ``resource("icons", "save.svg")``."""
    return RESOURCES.joinpath(*parts)
