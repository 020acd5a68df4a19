"""Names of outside origin as readers see them: line breaks and marks of writing direction are spelled out."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

from semblance.core.imaging.region import Region
from semblance.core.language import LazyText, visible, visible_lines
from semblance.core.reports.document import ReportDocument

#: What the author wrote, in lines of their own.
_LINES = frozenset(("comment",))
#: Data for programs.
_NOT_SHOWN = frozenset(("created", "embedded_search", "identified", "free_text"))


def with_visible_names(document: ReportDocument) -> ReportDocument:
    """A copy of ``document`` for a person to read. CSV and JSON keep the names as they are."""
    shown = copy.copy(document)
    for name, value in vars(document).items():
        if name not in _NOT_SHOWN:
            object.__setattr__(shown, name, _visible(value, name))
    return shown


def _visible(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        if isinstance(value, LazyText):
            # Its values were spelled out when it was made.
            return value
        return visible_lines(value) if name in _LINES else visible(value)
    if isinstance(value, tuple):
        return tuple(_visible(entry, name) for entry in value)
    if isinstance(value, Mapping):
        return {_visible(key): _visible(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Region):
        fields = {
            entry.name: _visible(getattr(value, entry.name), entry.name)
            for entry in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **fields)
    return value
