"""The records of the log of edits as plain values; importing this loads no database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Edit:
    """An edit of the log. ``summary``: the names and counts of its description."""

    id: int
    kind: str
    summary: Mapping[str, Any]
    author: str
    time: str
    undone: bool = False


@dataclass(frozen=True)
class Reversal:
    """An edit that was undone or redone; ``skipped`` rows were changed meanwhile and stayed as they are."""

    edit: Edit
    skipped: int
