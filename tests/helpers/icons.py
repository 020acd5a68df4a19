"""The names of all icons."""

from __future__ import annotations

from semblance import resources


def icon_names() -> list[str]:
    """Every name that ``icon`` takes, sorted."""
    return sorted(path.stem for path in resources.path("icons").glob("*.svg"))
