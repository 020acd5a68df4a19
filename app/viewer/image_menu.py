"""The menu of an image: its case, the window, and the image as it is displayed, copied and saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.shell import file_dialogs, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.settings import Settings
from semblance.app.viewer import tools
from semblance.app.viewer.image_display import ImageDisplay
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.key_images import KeyImages
from semblance.app.viewer.linking import linked_view
from semblance.app.viewer.rendering import Renderer, SearchedPart
from semblance.app.viewer.view_settings import MAX_PRESETS, PRESETS, saved_presets
from semblance.app.widgets.dialog import NameDialog
from semblance.app.widgets.menus import Menu
from semblance.core.imaging import hide_text
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.text_detector import TextBox
from semblance.core.language import tr, tr_n
from semblance.core.searches.query import Query


def image_menu(
    view: ImageView,
    context: Context,
    parent: QWidget,
    pane: ImagePane | None = None,
    show_header: Callable[[], object] | None = None,
) -> QMenu:
    """The menu of the image in ``view``: what can be done with its case, then with the image. It deletes itself when it
    closes. ``pane``: what it is from; ``show_header``: shows the header of its file."""
    menu = Menu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    region, shown = view.region, view.image is not None
    if pane is not None and shown:
        context.case_menu.fill(menu, _case_row(pane, context), show_header)
        menu.addSeparator()
    menu.addAction(tr("Fit to window") + "\tF", view.fit).setEnabled(shown)
    menu.addAction(tr("Actual size (1:1)") + "\t1", view.actual_size).setEnabled(shown)
    is_measured = view.image is not None and view.image.spacing_mm is not None
    menu.addAction(tr("True size, in mm of the screen"), view.true_size).setEnabled(is_measured)
    menu.addAction(tr("Rotate") + "\tT", view.rotate).setEnabled(shown)
    menu.addAction(tr("Flip") + "\tH", view.flip).setEnabled(shown)
    menu.addSeparator()
    _add_window_level_actions(menu, view, context, parent)
    overlay_text = menu.addAction(tr("Show overlay text"))
    overlay_text.setCheckable(True)
    overlay_text.setChecked(view.is_overlay_text_shown)
    overlay_text.toggled.connect(view.set_overlay_text_shown)
    places = menu.addAction(tr("Show matched places"))
    places.setCheckable(True)
    places.setChecked(view.are_places_shown and view.is_overlay_text_shown)
    places.setEnabled(bool(view.place_marks) and view.is_overlay_text_shown)
    places.toggled.connect(view.set_places_shown)
    marks = menu.addAction(tr("Show burnt-in annotations"))
    marks.setCheckable(True)
    marks.setChecked(view.are_marks_shown)
    marks.setEnabled(bool(view.marks))
    marks.toggled.connect(view.set_marks_shown)
    menu.addSeparator()
    keys = None if pane is None else pane.findChild(KeyImages)
    if keys is not None:
        key = menu.addAction(tr("Key image") + "\tJ", keys.toggle)
        key.setCheckable(True)
        key.setChecked(keys.is_marked)
        key.setEnabled(keys.can_mark)
        menu.addAction(tr("Next key image") + "\tShift+J", keys.go_to_next).setEnabled(
            any(one.slice is not None for one in keys.marked)
        )
        menu.addSeparator()
    if view.editable:
        outline = menu.addAction(tr("Outline the mass in the region"), view.refine_requested.emit)
        outline.setEnabled(region.region is not None)
        menu.addAction(tr("Undo region\tCtrl+Z"), view.undo).setEnabled(view.can_undo)
        menu.addAction(tr("Remove region") + "\tEsc", region.remove).setEnabled(region.region is not None)
    _add_measuring(menu, view, context, pane)
    hides_text = context.settings.blacks_out_text
    copy = tr("Copy image with its text blacked out") if hides_text else tr("Copy image as displayed")
    save = tr("Save image with its text blacked out…") if hides_text else tr("Save image as displayed…")
    menu.addAction(copy, partial(copy_displayed_image, view, context)).setEnabled(shown)
    menu.addAction(save, partial(ask_and_save_image, view, context, parent)).setEnabled(shown)
    menu.addSeparator()
    return menu


def _add_measuring(menu: QMenu, view: ImageView, context: Context, pane: ImagePane | None) -> None:
    """The tools that measure, and the acts on the measurement that is selected."""
    measure, region = view.measure, view.region.region
    selected, has_image = measure.selected_figure, view.image is not None
    tools_menu = menu.addMenu(tr("Measure"))
    for tool in tools.MEASURING:
        tools_menu.addAction(icon(tool.icon), f"{tool.title}\t{tool.key}", partial(view.set_tool, tool.name))
    tools_menu.addSeparator()
    tools_menu.addAction(
        tr("Measure the region to search with"),
        lambda: measure.add(Figure.of_region(region)) if region is not None else None,
    ).setEnabled(region is not None)
    tools_menu.addAction(tr("Remove all measurements"), measure.remove_all).setEnabled(bool(measure.figures))
    shown = tools_menu.addAction(tr("Show measurements") + "\tShift+M")
    shown.setCheckable(True)
    shown.setChecked(measure.is_shown)
    shown.toggled.connect(view.set_measurements_shown)
    tools_menu.addSeparator()
    tools_menu.addAction(tr("Magnify: hold") + "\tG").setEnabled(False)
    tools_menu.setEnabled(has_image)
    if selected is not None:
        if selected.region is not None:
            search = _search_with(view, context, pane, selected)
            menu.addAction(tr("Search with this measured region"), search or view.update).setEnabled(
                search is not None
            )
        menu.addAction(tr("Remove this measurement") + "\t" + tr("Del"), measure.remove)
    menu.addSeparator()


def _case_row(pane: ImagePane, context: Context) -> int:
    """The catalogue row of the image, -1 where it is no case of the open library."""
    library, what = pane.source
    return what if isinstance(what, int) and library is not None and library == context.state.location else -1


def _search_with(
    view: ImageView, context: Context, pane: ImagePane | None, figure: Figure
) -> Callable[[], object] | None:
    """What makes a measured region the region to search with; ``None`` where nothing can, as on a plane across
    slices."""
    region = figure.region
    if region is None or figure.plane is not None:
        return None
    if view.editable:
        return partial(view.region.draw, region)
    columns = context.state.columns
    index = -1 if pane is None else columns.index_of_row(_case_row(pane, context))
    if pane is None or index < 0:
        return None
    query = Query(case=columns.ids[index], region=pane.on_shown_slice(region))
    return partial(search_operations.submit_query, context, query)


def _add_window_level_actions(menu: QMenu, view: ImageView, context: Context, parent: QWidget) -> None:
    has_window, settings = view.window_level is not None, context.settings
    whole, menu = menu, menu.addMenu(tr("Window / level"))
    menu.setEnabled(has_window)
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
    negative = whole.addAction(tr("Invert") + "\tI", view.invert)
    negative.setCheckable(True)
    negative.setChecked(view.inverted)
    negative.setEnabled(view.image is not None)


def save_preset(view: ImageView, settings: Settings, name: str) -> None:
    """Save the current window as ``name`` and replace a preset of this name."""
    if view.window_values is None or not name.strip():
        return
    low, high = view.window_values
    others = [(p.name, p.width, p.level) for p in saved_presets(settings) if p.name != name.strip()]
    _write(settings, [*others[-(MAX_PRESETS - 1) :], (name.strip(), high - low, (low + high) / 2)])


def delete_preset(settings: Settings, name: str) -> None:
    _write(settings, [(p.name, p.width, p.level) for p in saved_presets(settings) if p.name != name])


def ask_and_save_preset(view: ImageView, settings: Settings, parent: QWidget) -> None:
    """Ask for a name and save the current window."""
    title = tr("Save as window preset")
    if name := NameDialog(parent, title, tr("Name of the preset"), tr("Save")).ask():
        save_preset(view, settings, name)


def _write(settings: Settings, entries: list[tuple[str, float, float]]) -> None:
    settings.set_text(PRESETS, json.dumps(entries))


#: Widget pixels added around a box: a smoothed image shows a little of the text beside it.
_MARGIN = 2


def copy_displayed_image(view: ImageView, context: Context) -> None:
    """Copy the image as displayed, with overlay text, region and lines."""

    def copy(image: QImage, areas: int | None) -> None:
        QGuiApplication.clipboard().setImage(image)
        if areas is not None:
            context.messages.info(f"{tr('The image was copied.')} {_result_text(areas)}")

    _with_displayed_image(view, context, tr("Copying the image"), copy)


def ask_and_save_image(view: ImageView, context: Context, parent: QWidget) -> None:
    """Ask for a file and save the image as displayed as a PNG without metadata."""
    title, kinds = tr("Save image as displayed"), f"{tr('Image')} (*.png)"
    path, _ = choose_target(parent, title, tr("image") + ".png", kinds)
    if path:
        save_displayed_image(view, context, path.with_suffix(".png"))


def save_displayed_image(view: ImageView, context: Context, path: Path) -> None:
    """Save the image as displayed to ``path`` and show a message."""
    _with_displayed_image(view, context, tr("Saving {name}", name=path.name), partial(_save, context, path))


def _save(context: Context, path: Path, image: QImage, areas: int | None) -> None:
    for key in image.textKeys():
        image.setText(key, "")
    if image.save(str(path)):
        saved = tr("Saved {name} in {folder}.", name=path.name, folder=path.parent)
        context.messages.info(saved if areas is None else f"{saved} {_result_text(areas)}")
        file_dialogs.log_export(context, "image as seen", path.suffix)
    else:
        context.messages.warning(
            tr("{name} could not be written.", name=path.name), tr("Choose another folder.")
        )


def _result_text(areas: int) -> str:
    if not areas:
        return tr("No text was found in it.")
    return tr_n("Text in it was blacked out in {n} area.", "Text in it was blacked out in {n} areas.", areas)


def _with_displayed_image(
    view: ImageView, context: Context, title: str, use: Callable[[QImage, int | None], None]
) -> Job | None:
    """Call ``use`` with the image as displayed now and the number of areas blacked out, ``None`` if text stays. If the
    text cannot be searched for, the error is shown and ``use`` is not called."""
    displayed = view.grab()
    if not context.settings.blacks_out_text:
        use(displayed.toImage(), None)
        return None
    parts = list(_searched_parts(view))
    job = context.jobs.run(
        title,
        hide_text.find_displayed_text,
        [part.pixels for part in parts],
        pool=WorkerPool.DRAW,
        channel="displayed image",
    )

    def black_out(found: Sequence[Sequence[TextBox]]) -> None:
        areas = [part.in_widget(box) for part, boxes in zip(parts, found, strict=True) for box in boxes]
        visible = [area for area in areas if area.intersects(QRectF(view_box))]
        use(_blacked_out(displayed, areas), len(visible))

    view_box = view.rect()
    return context.follow(job, black_out)


def _searched_parts(view: ImageDisplay) -> Iterator[SearchedPart]:
    """What the view shows: its image, and the one of another view drawn over it."""
    shown = [(view, view.viewport)]
    if view.second is not None:
        other = view.second.view
        shown.append((other, linked_view(view.viewport, other.viewport.resized(view.width(), view.height()))))
    for display, viewport in shown:
        if display.image is None:
            continue
        part = Renderer(display.image).searched_part(
            viewport, view.devicePixelRatioF(), display.window_level, inverted=display.inverted
        )
        if part.pixels.size:
            yield part


def _blacked_out(displayed: QPixmap, areas: Sequence[QRectF]) -> QImage:
    painter = QPainter(displayed)
    for area in areas:
        painter.fillRect(area.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN), Qt.GlobalColor.black)
    painter.end()
    return displayed.toImage()
