"""A small image across the slices of a volume, with the line of the slice that is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from semblance.app.shell.theme import colour, theme, theme_signals
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.rendering import Renderer
from semblance.app.viewer.viewport import Viewport
from semblance.app.viewer.window_level import auto_window
from semblance.core.errors import SemblanceError
from semblance.core.imaging.cut_planes import CutPlane, cut_planes
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.slice_plane import cut_line
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import find_localizer
from semblance.core.workflows.imaging.find_localizer import Localizer

WIDTH, HEIGHT, MARGIN = 92, 100, 4
#: Values of each slice in the plane across them.
_COLUMNS = 256


class LocalizerView(QWidget):
    """The localizer of the volume in ``pane``; hidden without one. A press or a drag shows the slice there.

    It is a scout or another series of the study, where one has the same frame of reference. Else it is the plane
    across the middle rows of the slices, which grows while they are loaded.
    """

    slice_requested = Signal(int)

    def __init__(self, jobs: Jobs, pane: ImagePane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("localizer")
        self.setAccessibleName(tr("Localizer"))
        self.setToolTip(tr("Where the slice lies. Drag the line to another slice"))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._jobs, self._pane = jobs, pane
        self._job: Job | None = None
        self._found: Localizer | None = None
        self._renderer: Renderer | None = None
        self._plane: CutPlane = cut_planes(None)[1]
        #: (depth, width) values of the middle row of each slice; not a number where it is not loaded.
        self._rows: npt.NDArray[np.float32] = np.zeros((0, 0), np.float32)
        pane.slices.loaded_slice.connect(self._add_row)
        pane.slice_changed.connect(lambda _: self.update())
        pane.slices.moved.connect(lambda _: self.update())
        pane.view.window_changed.connect(lambda _: self.update())
        pane.view.inverted_changed.connect(lambda _: self.update())
        theme_signals.changed.connect(self._fit)
        self._fit()
        self.hide()

    def _fit(self) -> None:
        self.setFixedSize(theme().px(WIDTH), theme().px(HEIGHT))

    def sizeHint(self) -> QSize:
        return QSize(theme().px(WIDTH), theme().px(HEIGHT))

    def begin(self, library: LibraryLocation | None = None, study: Sequence[int] = ()) -> None:
        """Another volume was opened in the pane, or none. ``study``: the catalogue rows of other cases of its study."""
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()
        self._found = self._renderer = None
        facts, image = self._pane.slices.facts, self._pane.view.image
        is_volume = facts is not None and facts.slices > 1 and image is not None and not image.is_colour
        self.setVisible(is_volume)
        if not is_volume or facts is None or image is None:
            self._rows = np.zeros((0, 0), np.float32)
            return
        self._plane = cut_planes(facts.directions)[1]
        self._rows = np.full((facts.slices, min(_COLUMNS, image.levels[0].shape[1])), np.nan, np.float32)
        self._add_row(facts.place, image)
        plane = image.slice_facts.plane
        if library is None or plane is None or not plane.frame_of_reference or not study:
            return
        try:
            job = self._jobs.run(
                tr("Finding the localizer"),
                find_localizer.find_localizer,
                library,
                plane,
                list(study),
                pool=WorkerPool.READ,
                channel="localizer",
                quiet=True,
            )
        except SemblanceError:
            # The plane across the slices is a localizer too.
            return
        self._job = job
        job.done.connect(lambda found: self._receive(job, found))

    def _receive(self, job: Job, found: Localizer | None) -> None:
        if job is self._job:
            self._job, self._found = None, found
            self._renderer = None if found is None else Renderer(found.image)
            self.update()

    def _add_row(self, place: int, image: DisplayImage) -> None:
        level, columns = image.levels[0], self._rows.shape[1]
        if place < len(self._rows) and level.ndim == 2:
            row = level[level.shape[0] // 2, np.arange(columns) * level.shape[1] // columns]
            self._rows[place] = row * np.float32(image.slope) + np.float32(image.intercept)
            self.update()

    @property
    def is_of_study(self) -> bool:
        """Whether it is another image of the study."""
        return self._found is not None

    # The line

    @property
    def _view(self) -> Viewport:
        """The localizer in this widget."""
        if self._found is not None:
            image = self._found.image
            aspect, width, height = image.aspect, image.width, image.height
        else:
            aspect = 1.0
            height, width = (self._shape[axis] for axis in (self._plane.down, self._plane.right))
            facts = self._pane.slices.facts
            if facts is not None and (spacing := self._plane.spacing(facts.spacing_mm)) is not None:
                aspect = spacing[0] / spacing[1]
        view = Viewport(max(1, width), max(1, height), aspect=aspect)
        return view.resized(self.width() - 2 * MARGIN, self.height() - 2 * MARGIN)

    @property
    def _shape(self) -> tuple[int, int, int]:
        image = self._pane.view.image
        return len(self._rows), 1, 1 if image is None else image.width

    def line(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The ends of the line of the slice shown, in pixels of the localizer; ``None`` where it is not on it."""
        place, facts, image = self._pane.slices.place, self._pane.slices.facts, self._pane.view.image
        if facts is None or image is None:
            return None
        if self._found is None:
            shape = self._shape
            return self._plane.point((place, 0, 0), shape), self._plane.point((place, 0, shape[2] - 1), shape)
        cut = None if facts.location is None else facts.location.plane(place)
        if cut is None:
            return None
        size = self._found.image.height, self._found.image.width
        return cut_line(cut, (image.height, image.width), self._found.plane, size)

    def _place_at(self, at: QPointF) -> int | None:
        """The slice whose line lies at a point of the widget."""
        x, y = self._view.to_image(at.x() - MARGIN, at.y() - MARGIN)
        facts = self._pane.slices.facts
        if facts is None:
            return None
        if self._found is None:
            return self._plane.voxel(x, y, 0, self._shape)[0]
        if facts.location is None:
            return None
        place = round(facts.location.place_of(self._found.plane.points_of([(x, y)])[0]))
        return min(max(place, 0), facts.slices - 1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        is_pressed = bool(event.buttons() & Qt.MouseButton.LeftButton)
        if is_pressed and (place := self._place_at(event.position())) is not None:
            self.slice_requested.emit(place)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().panel))
        area = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        painter.fillRect(area, colour(theme().image_well))
        view = self._view
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
        painter.translate(area.topLeft())
        if self._found is not None and self._renderer is not None:
            image = self._found.image
            window = None if image.is_colour else auto_window(image)
            drawn, target = self._renderer.visible(
                view, self.devicePixelRatioF(), window, inverted=image.inverse
            )
            painter.drawImage(target, drawn)
        else:
            self._paint_rows(painter, view)
        if (line := self.line()) is not None:
            begin, end = (QPointF(*view.to_widget(*point)) for point in line)
            for pen in (QPen(colour("#000000", 0.6), 3), QPen(colour(theme().region), 1.5)):
                painter.setPen(pen)
                painter.drawLine(begin, end)
        painter.end()

    def _paint_rows(self, painter: QPainter, view: Viewport) -> None:
        main = self._pane.view
        if main.window_values is None or not self._rows.size:
            return
        low, high = main.window_values
        with np.errstate(invalid="ignore"):
            shares = np.clip((self._rows - low) / max(high - low, 1e-6), 0, 1)
        shares = 1 - shares if main.inverted else shares
        greys = np.ascontiguousarray(
            self._plane.cut(np.nan_to_num(shares * 255).astype(np.uint8)[:, None, :], 0)
        )
        height, width = greys.shape
        drawn = QImage(greys.data, width, height, width, QImage.Format.Format_Grayscale8)
        left, top, right, bottom = view.box(0, 0, view.width, view.height)
        painter.drawImage(
            QPointF(left, top),
            drawn.scaled(
                max(1, round(right - left)),
                max(1, round(bottom - top)),
                Qt.AspectRatioMode.IgnoreAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            ),
        )
