"""A computer whose clock is wrong."""

from __future__ import annotations

import datetime

import pytest


def change_clock(monkeypatch: pytest.MonkeyPatch, **ahead: float) -> None:
    """Have the clock of this process go ``ahead`` of the right time; ``hours=-7``: behind it."""
    difference = datetime.timedelta(**ahead)

    class Wrong(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return _RIGHT.now(tz) + difference

    monkeypatch.setattr(datetime, "datetime", Wrong)


_RIGHT = datetime.datetime
