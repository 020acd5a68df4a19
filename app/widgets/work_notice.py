"""The message in an empty panel while features are extracted."""

from __future__ import annotations

from semblance.app.shell.state import State
from semblance.core.language import tr


def extraction_message(state: State) -> tuple[str, str] | None:
    """Title and text while features are extracted, or the open library is prepared; ``None`` otherwise."""
    if state.preparing is not None and state.preparing == state.path:
        return tr("Measuring the cases"), tr("Results appear as soon as the first ones are measured.")
    if state.extracting:
        return tr("Extracting features"), tr(
            "{name} of {n:,} cases. Train a metric when they are done.",
            name=state.extracting,
            n=len(state.columns),
        )
    return None
