"""The tick *Black out text in images* of what writes images for others."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox

from semblance.app.shell.settings import Settings
from semblance.core.imaging.text_detector import is_text_detector_installed
from semblance.core.language import tr


def clean_pixels_box(settings: Settings) -> QCheckBox:
    """The tick as the settings have it; where what finds text is not installed, it can only be taken away: only the
    person can say that text stays."""
    box = QCheckBox(tr("Black out text in images"))
    box.setChecked(settings.blacks_out_text)
    if is_text_detector_installed():
        box.setToolTip(tr("Takes about a second for each image."))
    else:
        box.setEnabled(box.isChecked())
        box.setToolTip(tr("Not installed. The help page Installation says how it is."))
    return box
