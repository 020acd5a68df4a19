"""Attributes that are built on first use."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

T = TypeVar("T")


class lazy_part(cached_property[T]):  # noqa: N801 - a decorator
    """A part that is built on first use. ``Owner.part.built(owner)`` does not build it.

    A part reads the state when it is built, because earlier signals are not repeated.
    """

    def built(self, owner: object) -> T | None:
        """The part if it is built, else ``None``."""
        found: T | None = vars(owner).get(self.attrname or "")
        return found
