"""Copies and saves an image as it is displayed. Text burnt into it is blacked out if the settings say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from semblance.app.shell import file_dialogs
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.jobs import Job, Lane
from semblance.app.viewer.image_display import ImageDisplay
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.linking import linked_view
from semblance.app.viewer.rendering import Renderer, SearchedPart
from semblance.core.imaging import hide_text
from semblance.core.imaging.text_detector import TextBox
from semblance.core.language import tr, tr_n

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
        lane=Lane.DRAW,
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
