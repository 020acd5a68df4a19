"""The message in an empty panel while features are extracted."""

from __future__ import annotations

from semblance.app.shell.state import State
from semblance.core.language import tr


def extraction_message(state: State) -> tuple[str, str]:
    """Title and text while features are extracted."""
    return tr("Extracting features"), tr(
        "{name} of {n:,} cases. Train a metric when they are done.",
        name=state.extracting,
        n=len(state.columns),
    )
