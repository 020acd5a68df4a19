"""The menu of an image."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.shell.context import Context
from semblance.app.viewer.displayed_image import ask_and_save_image, copy_displayed_image
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.view_settings import saved_presets
from semblance.app.viewer.window_presets import ask_and_save_preset, delete_preset
from semblance.app.widgets.menus import Menu
from semblance.core.language import tr


def image_menu(view: ImageView, context: Context, parent: QWidget) -> QMenu:
    """The menu of the image in ``view``. It deletes itself when it closes."""
    menu = Menu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    region, shown = view.region, view.image is not None
    menu.addAction(tr("Fit to window") + "\tF", view.fit).setEnabled(shown)
    menu.addAction(tr("Actual size (1:1)") + "\t1", view.actual_size).setEnabled(shown)
    menu.addAction(tr("Rotate") + "\tT", view.rotate).setEnabled(shown)
    menu.addAction(tr("Flip") + "\tH", view.flip).setEnabled(shown)
    menu.addSeparator()
    _add_window_level_actions(menu, view, context, parent)
    overlay_text = menu.addAction(tr("Show overlay text"))
    overlay_text.setCheckable(True)
    overlay_text.setChecked(view.is_overlay_text_shown)
    overlay_text.toggled.connect(view.set_overlay_text_shown)
    marks = menu.addAction(tr("Show burnt-in marks"))
    marks.setCheckable(True)
    marks.setChecked(view.are_marks_shown)
    marks.setEnabled(bool(view.marks))
    marks.toggled.connect(view.set_marks_shown)
    menu.addSeparator()
    if view.editable:
        outline = menu.addAction(tr("Outline the mass in the region"), view.refine_requested.emit)
        outline.setEnabled(region.region is not None)
        menu.addAction(tr("Undo region\tCtrl+Z"), region.undo).setEnabled(region.can_undo)
        menu.addAction(tr("Remove region") + "\tEsc", region.remove).setEnabled(region.region is not None)
        menu.addSeparator()
    hides_text = context.settings.blacks_out_text
    copy = tr("Copy image with its text blacked out") if hides_text else tr("Copy image as displayed")
    save = tr("Save image with its text blacked out…") if hides_text else tr("Save image as displayed…")
    menu.addAction(copy, partial(copy_displayed_image, view, context)).setEnabled(shown)
    menu.addAction(save, partial(ask_and_save_image, view, context, parent)).setEnabled(shown)
    menu.addSeparator()
    return menu


def _add_window_level_actions(menu: QMenu, view: ImageView, context: Context, parent: QWidget) -> None:
    has_window, settings = view.window_level is not None, context.settings
    menu.addAction(tr("Automatic window / level") + "\t0", view.auto).setEnabled(has_window)
    for preset in view.presets:
        menu.addAction(f"{preset.name}\t{preset.key}", partial(view.use_preset, preset)).setEnabled(
            has_window
        )
    menu.addAction(
        tr("Save as window preset…"), partial(ask_and_save_preset, view, settings, parent)
    ).setEnabled(has_window)
    own_presets = saved_presets(settings)
    if own_presets:
        delete_menu = menu.addMenu(tr("Delete preset"))
        for preset in own_presets:
            delete_menu.addAction(preset.name, partial(delete_preset, settings, preset.name))
    negative = menu.addAction(tr("Invert") + "\tI", view.invert)
    negative.setCheckable(True)
    negative.setChecked(view.inverted)
    negative.setEnabled(view.image is not None)
