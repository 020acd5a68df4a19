"""What the user set for all images: own window presets, and how they respond to the mouse."""

from __future__ import annotations

import json
from dataclasses import dataclass

from semblance.app.shell.settings import Settings
from semblance.app.viewer.window_level import Preset

PRESETS = "presets"
MAX_PRESETS = 20
#: Keys of the first own presets; 3 to 7 are those of computed tomography.
_KEYS = ("8", "9", "2")
DRAG_SPEED, WHEEL_REVERSED = "drag_speed", "wheel_reversed"
#: How far a drag changes window and level; 1 is 1/500 of the window a pixel.
DRAG_SPEEDS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class ViewSettings:
    """Without ``settings`` all values are the defaults."""

    settings: Settings | None = None

    @property
    def presets(self) -> tuple[Preset, ...]:
        return () if self.settings is None else saved_presets(self.settings)

    @property
    def drag_speed(self) -> float:
        stored = None if self.settings is None else self.settings.number(DRAG_SPEED)
        return 1.0 if stored is None else min(max(DRAG_SPEEDS), max(min(DRAG_SPEEDS), stored))

    @property
    def slices_per_notch(self) -> int:
        """1 if the wheel turned away from the user shows an earlier slice, else -1."""
        reversed_ = self.settings is not None and self.settings.flag(WHEEL_REVERSED, default=False)
        return -1 if reversed_ else 1


def saved_presets(settings: Settings) -> tuple[Preset, ...]:
    """The user's presets in the order they were saved, without damaged ones."""
    try:
        entries = json.loads(settings.text(PRESETS, "[]"))
        found = [(str(name), float(width), float(level)) for name, width, level in entries]
    except (ValueError, TypeError):
        return ()
    keys = (*_KEYS, *[""] * MAX_PRESETS)
    valid = [entry for entry in found[:MAX_PRESETS] if entry[1] > 0]
    return tuple(Preset(keys[place], *entry) for place, entry in enumerate(valid))
