"""The menu of a picture."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget

from app.viewer.picture_view import PictureView


def picture_menu(view: PictureView, parent: QWidget) -> QMenu:
    """What can be done with the picture in ``view``; the menu deletes itself when it closes."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    region, shown, grey = view.region, view.picture is not None, view.window_level is not None
    menu.addAction("Fit\tF", view.fit).setEnabled(shown)
    menu.addAction("Automatic brightness and contrast\t0", view.auto).setEnabled(grey)
    for preset in view.presets:
        menu.addAction(f"{preset.name}\t{preset.key}", partial(view.use_preset, preset))
    negative = menu.addAction("Invert\tI", view.invert)
    negative.setCheckable(True)
    negative.setChecked(view.inverted)
    negative.setEnabled(shown)
    words = menu.addAction("Words on the picture")
    words.setCheckable(True)
    words.setChecked(view.words_shown)
    words.toggled.connect(view.show_words)
    menu.addSeparator()
    menu.addAction("Undo region\tCtrl+Z", region.undo).setEnabled(region.can_undo)
    menu.addAction("Remove region\tEsc", region.remove).setEnabled(region.region is not None)
    menu.addSeparator()
    return menu
