"""A project of a library on a server, as those who may open it see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OfferedProject:
    """A project that the account may open now, with its right there; ``until``: the last day, UTC."""

    name: str
    purpose: str
    until: str
    right: str
