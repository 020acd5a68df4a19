"""Thumbnails of some slices of a volume, for orientation and navigation."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from semblance.app.shell.theme import SMALL, colour, font, theme, theme_signals
from semblance.app.viewer.rendering import Renderer
from semblance.app.viewer.viewport import Viewport
from semblance.app.viewer.window_level import Window, auto_window, same_values
from semblance.core.errors import SemblanceError
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import view_planes
from semblance.core.workflows.imaging.view_images import StackFacts, ViewedSlice

WIDTH, CELL, GAP, MARGIN = 92, 72, 4, 4
#: Thumbnails are loaded after this pause in resizing.
RESIZE_PAUSE_MS = 150


class SliceStrip(QWidget):
    """As many cells as fit. ``slice_requested(place)``: a cell was clicked. ``scrolled(steps)``: the wheel was
    turned."""

    slice_requested = Signal(int)
    scrolled = Signal(int)

    def __init__(self, jobs: Jobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("slice-strip")
        self.setAccessibleName(tr("Slices of the volume"))
        self.setToolTip(tr("Click to go to a slice"))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self._jobs = jobs
        self._job: Job | None = None
        self._facts: StackFacts | None = None
        self._library: LibraryLocation | None = None
        self._address: int | ImageAddress = 0
        self._reference: DisplayImage | None = None
        self._renderers: dict[int, Renderer] = {}
        self._place = 0
        self._key_images: list[int] = []
        self._window_level: tuple[DisplayImage, Window | None, bool] | None = None
        self._wheel_angle = 0
        self._resize_timer = one_shot(self, self._request_images, RESIZE_PAUSE_MS)
        theme_signals.changed.connect(self._fit)
        self._fit()
        self.hide()

    def _fit(self) -> None:
        self.setFixedWidth(theme().px(WIDTH))
        self.update()

    def begin(
        self,
        facts: StackFacts | None,
        library: LibraryLocation | None,
        address: int | ImageAddress,
        first: DisplayImage | None,
    ) -> None:
        """Another volume, of which ``first`` is shown, or none."""
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()
        self._facts, self._window_level = facts, None
        self._renderers.clear()
        self._library, self._address = library, address
        self._reference = None if first is None else first.without_pixels()
        self.setVisible(facts is not None and facts.slices > 1)
        self._place = 0 if facts is None else facts.place
        # Its height is known once it is laid out.
        self._resize_timer.start()

    def show_place(self, place: int) -> None:
        """Mark the shown slice."""
        self._place = place
        self.update()

    def show_key_images(self, places: list[int]) -> None:
        """Tick the key images. A cell has the tick of those that lie nearest to it."""
        self._key_images = places
        names = ", ".join(str(place + 1) for place in sorted(places))
        self.setAccessibleDescription(tr("Key images: {slices}", slices=names) if places else "")
        self.update()

    def show_window_level(self, image: DisplayImage, window: Window | None, *, inverted: bool) -> None:
        """Use the window of ``image``, which is a slice of the same volume."""
        self._window_level = (image, window, inverted)
        self.update()

    @property
    def shown(self) -> list[int]:
        """The slices with a cell, from above, evenly spaced from the first to the last."""
        if self._facts is None:
            return []
        slices = self._facts.slices
        cells = max(1, (self.height() - 2 * MARGIN + GAP) // (theme().px(CELL) + GAP))
        if cells >= slices:
            return list(range(slices))
        if cells == 1:
            return [slices // 2]
        return [round(cell * (slices - 1) / (cells - 1)) for cell in range(cells)]

    @property
    def marked(self) -> int | None:
        """The slice whose cell is marked: the nearest to the one shown."""
        return min(self.shown, key=lambda place: abs(place - self._place), default=None)

    def cell(self, number: int) -> QRect:
        """Where cell ``number`` lies."""
        side = theme().px(CELL)
        return QRect(MARGIN, MARGIN + number * (side + GAP), self.width() - 2 * MARGIN, side)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(WIDTH), 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(WIDTH), theme().px(CELL) + 2 * MARGIN)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._resize_timer.start()

    def _request_images(self) -> None:
        """Request the missing thumbnails."""
        self._resize_timer.stop()
        missing = [place for place in self.shown if place not in self._renderers]
        if self._facts is None or self._facts.slices < 2 or not missing:
            return
        try:
            job = self._jobs.run(
                tr("Thumbnails of the slices"),
                view_planes.slice_thumbnails,
                self._library,
                self._address,
                missing,
                self._reference,
                pool=WorkerPool.READ,
                channel="slice strip",
                quiet=True,
            )
        except SemblanceError:
            # Cells keep their numbers, and the view beside them shows the error.
            return
        self._job = job
        job.partial.connect(self._store)
        job.ended.connect(lambda: self._ended(job))

    def _store(self, viewed: ViewedSlice) -> None:
        if viewed.image is not None:
            self._renderers[viewed.place] = Renderer(viewed.image)
            self.update()

    def _ended(self, job: Job) -> None:
        if self._job is job:
            self._job = None

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        for number, place in enumerate(self.shown):
            if event.button() == Qt.MouseButton.LeftButton and self.cell(number).contains(at):
                self.slice_requested.emit(place)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._wheel_angle += event.angleDelta().y()
        steps = int(self._wheel_angle / 120)
        self._wheel_angle -= 120 * steps
        if steps:
            self.scrolled.emit(-steps)
        event.accept()

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().panel))
        marked = self.marked
        ticked = {
            min(self.shown, key=lambda place: abs(place - key)) for key in self._key_images if self.shown
        }
        for number, place in enumerate(self.shown):
            cell = self.cell(number)
            painter.fillRect(cell, colour(theme().image_well))
            renderer = self._renderers.get(place)
            if renderer is not None:
                self._paint_slice(painter, cell, renderer)
            _paint_number(painter, cell, str(place + 1))
            if place in ticked:
                _paint_tick(painter, cell, self.devicePixelRatioF())
            if place == marked:
                painter.setPen(QPen(colour(theme().accent), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(cell.adjusted(0, 0, -1, -1))
        painter.end()

    def _paint_slice(self, painter: QPainter, cell: QRect, renderer: Renderer) -> None:
        image = renderer.image
        view = Viewport(image.width, image.height, aspect=image.aspect).resized(cell.width(), cell.height())
        window: Window | None = None if image.is_colour else auto_window(image)
        inverted = image.inverse
        if self._window_level is not None:
            shown, window_level, inverted = self._window_level
            if window_level is not None and window is not None:
                window = same_values(window_level, shown, image)
        rendered, target = renderer.visible(view, self.devicePixelRatioF(), window, inverted=inverted)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
        painter.save()
        painter.setClipRect(cell)
        painter.drawImage(target.translated(QPointF(cell.topLeft())), rendered)
        painter.restore()


def _paint_number(painter: QPainter, cell: QRect, number: str) -> None:
    metrics = QFontMetricsF(font(SMALL, 600))
    wide = int(np.ceil(metrics.horizontalAdvance(number))) + 8
    box = QRectF(cell.left(), cell.top(), wide, int(metrics.height()) + 2)
    painter.fillRect(box, colour("#000000", 0.66))
    painter.setFont(font(SMALL, 600))
    painter.setPen(colour("#FFFFFF"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, number)


def _paint_tick(painter: QPainter, cell: QRect, ratio: float) -> None:
    """The tick of a key image in the upper right corner."""
    side = theme().px(16)
    box = QRect(cell.right() + 1 - side - 2, cell.top() + 2, side, side)
    painter.fillRect(box, colour("#000000", 0.66))
    painter.drawPixmap(box.topLeft(), icon_pixmap("check", side, "#FFFFFF", ratio))
