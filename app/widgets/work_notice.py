"""What an empty panel says while something goes on that will fill it."""

from __future__ import annotations

from semblance.app.shell.state import State
from semblance.core.language import tr


def extracting(state: State) -> tuple[str, str]:
    """Title and text while features are extracted."""
    return tr("Extracting features"), tr(
        "{name} of {n:,} cases. Train a metric when they are done.",
        name=state.extracting,
        n=len(state.columns),
    )
