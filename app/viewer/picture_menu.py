"""The menu of a picture."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.context import Context
from app.operations import exporting
from app.viewer.own_presets import ask_to_keep, forget_preset, own_presets
from app.viewer.picture_view import PictureView


def picture_menu(view: PictureView, context: Context, parent: QWidget) -> QMenu:
    """What can be done with the picture in ``view``; the menu deletes itself when it closes."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    region, shown = view.region, view.picture is not None
    menu.addAction("Fit\tF", view.fit).setEnabled(shown)
    menu.addAction("One to one\t1", view.actual_size).setEnabled(shown)
    menu.addAction("Turn\tT", view.turn).setEnabled(shown)
    menu.addAction("Mirror\tH", view.flip).setEnabled(shown)
    menu.addSeparator()
    _add_greys(menu, view, context, parent)
    words = menu.addAction("Words on the picture")
    words.setCheckable(True)
    words.setChecked(view.words_shown)
    words.toggled.connect(view.show_words)
    menu.addSeparator()
    if view.editable:
        outline = menu.addAction("Outline the mass in the region", view.refine_wanted.emit)
        outline.setEnabled(region.region is not None)
        menu.addAction("Undo region\tCtrl+Z", region.undo).setEnabled(region.can_undo)
        menu.addAction("Remove region\tEsc", region.remove).setEnabled(region.region is not None)
        menu.addSeparator()
    menu.addAction("Copy the picture as seen", partial(copy_seen, view)).setEnabled(shown)
    menu.addAction("Save the picture as seen…", partial(ask_and_save, view, context, parent)).setEnabled(
        shown
    )
    menu.addSeparator()
    return menu


def _add_greys(menu: QMenu, view: PictureView, context: Context, parent: QWidget) -> None:
    grey, settings = view.window_level is not None, context.settings
    view.own_presets = own_presets(settings)
    menu.addAction("Automatic brightness and contrast\t0", view.auto).setEnabled(grey)
    for preset in view.presets:
        menu.addAction(f"{preset.name}\t{preset.key}", partial(view.use_preset, preset)).setEnabled(grey)
    menu.addAction("Keep these greys…", partial(ask_to_keep, view, settings, parent)).setEnabled(grey)
    if view.own_presets:
        forget = menu.addMenu("Forget")
        for preset in view.own_presets:
            forget.addAction(preset.name, partial(forget_preset, view, settings, preset.name))
    negative = menu.addAction("Invert\tI", view.invert)
    negative.setCheckable(True)
    negative.setChecked(view.inverted)
    negative.setEnabled(view.picture is not None)


def copy_seen(view: PictureView) -> None:
    """What the view shows, words, region and lines included, to the clipboard."""
    QGuiApplication.clipboard().setImage(view.grab().toImage())


def ask_and_save(view: PictureView, context: Context, parent: QWidget) -> None:
    """Ask where to, and write what the view shows as a PNG without any text in it."""
    name, _ = QFileDialog.getSaveFileName(
        parent, "Save the picture as seen", "picture.png", "Picture (*.png)"
    )
    if name:
        save_seen(view, context, Path(name).with_suffix(".png"))


def save_seen(view: PictureView, context: Context, path: Path) -> None:
    """Write what the view shows to ``path``, and say so or why not."""
    image = view.grab().toImage()
    for key in image.textKeys():
        image.setText(key, "")
    if image.save(str(path)):
        context.messages.info(f"Saved {path.name} in {path.parent}.")
        exporting.note(context, "picture as seen", path.suffix)
    else:
        context.messages.warning(f"{path.name} could not be written.", "Choose another folder.")
