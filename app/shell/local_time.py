"""Times of records as a person reads them."""

from __future__ import annotations

from datetime import datetime


def local_time(time: str, *, seconds: bool = False) -> str:
    """A recorded time in local time, to the minute or the second; as it is where it is no time."""
    try:
        return datetime.fromisoformat(time).astimezone().strftime(f"%Y-%m-%d %H:%M{':%S' if seconds else ''}")
    except ValueError:
        return time
