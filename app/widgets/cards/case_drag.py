"""Drag and drop of cases, also into other programs."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QByteArray, QMimeData, QObject, QPoint, Qt
from PySide6.QtGui import QDrag, QImage, QMouseEvent, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.drag_signals import drag_signals
from semblance.app.shell.jobs import WorkerPool
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.thumbnail_loader import ThumbnailSource, as_image
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage

CASE_MIME = "application/x-semblance-case"
_IMAGE_MIME = "application/x-qt-image"
#: Longest side in pixels of the images that other programs get, enough for a slide.
_LONGEST = 1024


class CaseData(QMimeData):
    """What is dragged: the catalogue row of a case, which only this program understands, and for other programs its
    image, once :meth:`offer_image` was called. No id is in it, because it may name the patient."""

    def __init__(self, case_row: int) -> None:
        super().__init__()
        self.case_row = case_row
        #: Whether another program asked for the image before there was one.
        self.was_too_early = False
        self._image: QImage | None = None
        self._offered = False
        self.setData(CASE_MIME, QByteArray(str(case_row).encode()))

    def offer_image(self, image: QImage | None) -> None:
        """Give other programs ``image``, ``None`` as long as it is being made."""
        self._image, self._offered = image, True

    def formats(self) -> list[str]:
        return [*super().formats(), *([_IMAGE_MIME] if self._offered else [])]

    def hasFormat(self, mime_type: str) -> bool:
        return mime_type in self.formats()

    def retrieveData(self, mime_type: str, kind: Any) -> Any:
        if mime_type != _IMAGE_MIME:
            return super().retrieveData(mime_type, kind)
        self.was_too_early = self._image is None
        return self._image


class DragImages(QObject):
    """The images that other programs get: of the cards in more pixels, or as on the cards without burnt-in text if the
    settings say so."""

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        #: The case whose image was made last, and the image.
        self._made: tuple[object, QImage] | None = None
        self._problem: SemblanceError | None = None

    def offer(self, data: CaseData, shown: QImage) -> None:
        """Offer the image of the case in ``data``: ``shown`` until the larger one is read, or as soon as it is made one
        without text."""
        context, library = self._context, self._context.state.location
        if not context.settings.blacks_out_text or library is None:
            data.offer_image(shown)
            if library is not None:
                self._read_larger(data, library)
            return
        key = library, data.case_row
        if self._made is not None and self._made[0] == key:
            data.offer_image(self._made[1])
            return
        data.offer_image(None)
        self._problem = None
        longest = max(shown.width(), shown.height())

        def keep(image: CardImage) -> None:
            assert image.pixels is not None
            self._made = key, as_image(image.pixels)
            data.offer_image(self._made[1])

        job = context.jobs.run(
            tr("Blacking out text"),
            card_images.card_image_without_text,
            library,
            data.case_row,
            longest,
            pool=WorkerPool.DRAW,
            channel="drag",
            quiet=True,
        )
        job.done.connect(keep)
        job.failed.connect(self._keep_problem)

    def _read_larger(self, data: CaseData, library: LibraryLocation) -> None:
        """Offer the image of the file. Where it cannot be read, that of the card stays."""

        def keep(image: CardImage) -> None:
            assert image.pixels is not None
            data.offer_image(as_image(image.pixels))

        job = self._context.jobs.run(
            tr("Opening the image"),
            card_images.whole_image,
            library,
            data.case_row,
            _LONGEST,
            pool=WorkerPool.DRAW,
            channel="drag",
            quiet=True,
        )
        job.done.connect(keep)

    def finish(self, data: CaseData) -> None:
        """Say why another program got no image."""
        if not data.was_too_early:
            return
        if self._problem is not None:
            self._context.messages.error(self._problem)
        else:
            self._context.messages.info(
                tr("The image was still being searched for text. Drag it again in a moment.")
            )

    def _keep_problem(self, problem: SemblanceError) -> None:
        self._problem = problem


def case_data(columns: CaseColumns, index: int) -> CaseData:
    """The drag data of the case at ``index``."""
    return CaseData(int(columns.case_row[index]))


def mime_data(model: CaseModel, place: int) -> CaseData:
    """The drag data of the case at ``place`` of a model."""
    return case_data(model.columns, model.index(place))


def dragged_case(data: QMimeData) -> int | None:
    """The catalogue row in a drag, ``None`` if it has no case of Semblance."""
    text = bytes(data.data(CASE_MIME).data()).decode("ascii", "replace")
    return int(text) if text.isdigit() else None


def is_drag(pressed_at: QPoint, event: QMouseEvent) -> bool:
    """Whether the mouse, pressed at ``pressed_at``, was moved far enough with its left button held."""
    distance = (event.position().toPoint() - pressed_at).manhattanLength()
    return bool(event.buttons() & Qt.MouseButton.LeftButton) and distance >= QApplication.startDragDistance()


def drag(widget: QWidget, data: CaseData, image: QPixmap | None, source: ThumbnailSource | None) -> None:
    """Drag ``data`` with the mouse, shown as ``image``; returns when it was dropped. ``source``: of the card."""
    drag_object = QDrag(widget)
    drag_object.setMimeData(data)
    images = None if source is None else source.drag_images
    if image is not None:
        drag_object.setPixmap(image)
        if images is not None:
            images.offer(data, image.toImage())
    drag_signals.changed.emit(True)
    dropped = drag_object.exec(Qt.DropAction.CopyAction)
    drag_signals.changed.emit(False)
    if images is not None and dropped != Qt.DropAction.IgnoreAction:
        images.finish(data)
