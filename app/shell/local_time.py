"""Times of records as a person reads them."""

from __future__ import annotations

from datetime import datetime


def local_time(time: str) -> str:
    """A recorded time in local time, to the minute; as it is where it is no time."""
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return time
