"""The user's own window presets."""

from __future__ import annotations

import json

from PySide6.QtWidgets import QInputDialog, QWidget

from semblance.app.shell.settings import Settings
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.view_settings import MAX_PRESETS, PRESETS, saved_presets
from semblance.core.language import tr


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
    settings.set_text(PRESETS, json.dumps(entries))
