"""The user's own window presets."""

from __future__ import annotations

import json

from PySide6.QtWidgets import QInputDialog, QWidget

from semblance.app.shell.settings import Settings
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.window_level import Preset
from semblance.core.language import tr

_KEY = "presets"
#: Keys of the first own presets; 3 to 7 are those of computed tomography.
_KEYS = ("8", "9", "2")
MAX_PRESETS = 20


def saved_presets(settings: Settings) -> tuple[Preset, ...]:
    """The user's presets in the order they were saved, without damaged ones."""
    try:
        entries = json.loads(settings.text(_KEY, "[]"))
        found = [(str(name), float(width), float(level)) for name, width, level in entries]
    except (ValueError, TypeError):
        return ()
    keys = (*_KEYS, *[""] * MAX_PRESETS)
    valid = [entry for entry in found[:MAX_PRESETS] if entry[1] > 0]
    return tuple(Preset(keys[place], *entry) for place, entry in enumerate(valid))


def save_preset(view: ImageView, settings: Settings, name: str) -> None:
    """Save the current window as ``name`` and replace a preset of this name."""
    image, window = view.image, view.window_level
    if image is None or window is None or not name.strip():
        return
    low, high = image.value(window.low), image.value(window.high)
    others = [(p.name, p.width, p.level) for p in saved_presets(settings) if p.name != name.strip()]
    _write(settings, [*others[-(MAX_PRESETS - 1) :], (name.strip(), high - low, (low + high) / 2)])


def delete_preset(settings: Settings, name: str) -> None:
    _write(settings, [(p.name, p.width, p.level) for p in saved_presets(settings) if p.name != name])


def ask_and_save_preset(view: ImageView, settings: Settings, parent: QWidget) -> None:
    """Ask for a name and save the current window."""
    name, accepted = QInputDialog.getText(parent, tr("Save as window preset"), tr("Name of the preset:"))
    if accepted:
        save_preset(view, settings, name)


def _write(settings: Settings, entries: list[tuple[str, float, float]]) -> None:
    settings.set_text(_KEY, json.dumps(entries))
