"""Query and ranked case side by side, or the case beside its reason, with the places that agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QShowEvent
from PySide6.QtWidgets import QGridLayout, QMenu, QSizePolicy, QWidget

from semblance.app.search.why.place_reason import PlaceReason, marks_of
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import SHOW_AFTER_MS, WorkerPool
from semblance.app.shell.theme import TICK, colour, font, theme
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.menus import attach_menu, case_menu
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.app.widgets.panel import header_button
from semblance.app.widgets.place_marks import NO_PLACE_MARKS, LetteredPoint, PlaceMarks, draw_place_marks
from semblance.app.widgets.thumbnail_loader import as_image
from semblance.core.errors import SemblanceError
from semblance.core.imaging.region import Box
from semblance.core.language import tr, visible
from semblance.core.searches.search import BOTH, PLACE
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.searches import compare_cases
from semblance.core.workflows.searches.compare_cases import ComparedImage, ImageComparison
from semblance.core.workflows.searches.compare_places import ComparedPlaces, PlaceMatch
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: Channel of the images.
IMAGES_CHANNEL = "why images"

_DARK, _LIGHT = "#000000", "#FFFFFF"


class WhyImages(QWidget):
    """Shows the pair of :meth:`show_pair`. The last images stay with their name until the new ones are ready, if
    that is soon. ``compared``: new ones are shown, or none are. ``query_marked(marks)``: the places to draw on the
    image of the query where that is shown elsewhere, after ``set_plain(True)``."""

    compared = Signal()
    query_marked = Signal(object)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.query, self.case = AnnotatedImageView(tr("Query")), AnnotatedImageView(tr("Ranked case"))
        self._title = ElidedLabel(role="title")
        self._chip = FindingChip(-1, "?")
        self.note = WrappedLabel(role="small")
        #: The pairs of places that match, of the features of an encoder.
        self.reason = PlaceReason()
        self._places: ComparedPlaces | None = None
        #: Whether the images of another pair are awaited.
        self.is_comparing = False
        self._case: RankedCase | None = None
        self._late_timer = one_shot(self, self._show_late, SHOW_AFTER_MS)
        self._is_plain, self._is_query_shown = False, True
        grid = self._grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        self._case_header = QWidget()
        fill(hbox(self._case_header, spacing=6), (self._title, 1), self._chip)
        self._query_title = ElidedLabel(tr("Query"), role="second")
        self.marks = header_button("eye", tr("Show the regions that agree on both images"))
        self.marks.setCheckable(True)
        self.marks.setAccessibleName(tr("Show the regions that agree"))
        self.marks.setChecked(context.settings.flag("why_places", default=True))
        self.marks.toggled.connect(self._set_marks)
        self._set_marks(self.marks.isChecked())
        self.copy_details = CopyDetailsButton()
        footer = hbox(spacing=8)
        footer.addWidget(self.note, 1)
        footer.addWidget(self.copy_details, 0, Qt.AlignmentFlag.AlignTop)
        footer.addWidget(self.marks, 0, Qt.AlignmentFlag.AlignTop)
        column = self._column = vbox(self, spacing=4)
        column.addLayout(grid)
        column.addLayout(footer)
        self._place_parts()
        self.reason.pointed_at.connect(self._draw_places)
        for side, image in enumerate((self.query, self.case)):
            image.pointed_at.connect(lambda at, side=side: self.point(side, at))
        attach_menu(self.case, lambda _at: self._make_menu(-1 if self._case is None else self._case.row))
        attach_menu(self.query, lambda _at: self._make_menu(context.state.query_row))
        self._update_switch()

    def _make_menu(self, row: int) -> QMenu | None:
        return None if row < 0 else case_menu(self._context.case_menu, self, row)

    def set_plain(self, plain: bool) -> None:
        """Whether the image of the query is not shown here again while it is shown in its own panel."""
        self._is_plain = plain
        self._place_parts()
        self._draw_places("")

    def set_query_shown(self, shown: bool) -> None:
        """Whether the image of the query is visible in its own panel."""
        if shown != self._is_query_shown:
            self._is_query_shown = shown
            self.set_plain(self._is_plain)

    @property
    def _is_case_alone(self) -> bool:
        return self._is_plain and self._is_query_shown

    def _place_parts(self) -> None:
        """Both images above the reason, or the image of the case beside it."""
        first = 0 if self._is_case_alone else 1
        self._grid.setRowStretch(1, 1 if self._is_case_alone else 0)
        self._grid.addWidget(self._case_header, 0, first)
        self._grid.addWidget(
            self.case, 1, first, Qt.AlignmentFlag.AlignTop if self._is_case_alone else Qt.AlignmentFlag(0)
        )
        if self._is_case_alone:
            self._grid.addWidget(self.reason, 0, 1, 2, 1, Qt.AlignmentFlag.AlignTop)
        else:
            self._grid.addWidget(self._query_title, 0, 0)
            self._grid.addWidget(self.query, 1, 0)
            self._column.addWidget(self.reason)
        for widget in (self.query, self._query_title):
            widget.setVisible(not self._is_case_alone)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.mark_query()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.query_marked.emit(NO_PLACE_MARKS)

    def mark_query(self) -> None:
        """Say what is marked on the image of the query."""
        is_drawn = self._is_case_alone and self.isVisible() and self.marks.isChecked()
        self.query_marked.emit(self.query.all_marks if is_drawn else NO_PLACE_MARKS)

    def show_pair(self, ranked_search: RankedSearch, ranked_case: RankedCase) -> None:
        """Request the images of the query and of a ranked case. The name and the image of the case change at once, so
        that no image stands below another name."""
        self._case = ranked_case
        if self.case.shown.pixels is None:
            self._show_name()
        self.is_comparing = True
        self._late_timer.start()
        request_images(self._context, ranked_search, ranked_case, self._show, self._fail)

    def _show_name(self) -> None:
        ranked_case = self._case
        if ranked_case is None:
            return
        columns = self._context.state.columns
        finding = ranked_case.finding or ""
        codes = {name: code for code, name in enumerate(columns.findings)}
        index = columns.index_of_row(ranked_case.row)
        name = columns.name(index) if index >= 0 else ranked_case.case_id
        self._title.setText(f"{tr('Rank {rank}', rank=ranked_case.rank)}  {name}")
        self._title.set_tip(visible(ranked_case.case_id))
        self._chip.set_finding(codes.get(finding, -1), columns.letters.get(finding, "?"))
        self._chip.setToolTip(visible(finding) or tr("finding not given"))

    def _show_late(self) -> None:
        """The images take long: those of the case before must not stay."""
        self._show_name()
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage(problem=tr("Comparing places")))
            image.show_places(NO_PLACE_MARKS)
        self.mark_query()
        self.note.setText("")
        self._places = None
        self.reason.show_comparison(None)
        self._update_switch()

    def drop(self) -> None:
        """Drop the job that prepares images, and what is marked on those shown: the query may be another one."""
        self._context.jobs.cancel_channel(IMAGES_CHANNEL)
        self._late_timer.stop()
        self._places = None
        self._draw_places("")

    def clear(self) -> None:
        """Remove the images and drop the job that prepares new ones."""
        self.drop()
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage())
        self.note.setText("")
        self.copy_details.set_error(None)
        self._show_places(None)
        self._update_switch()

    @property
    def places(self) -> ComparedPlaces | None:
        """What is alike in places, of the images shown."""
        return self._places

    def _show_places(self, found: ImageComparison | None) -> None:
        self.is_comparing = False
        self._places = None if found is None else found.places
        self.reason.show_comparison(found)
        self._draw_places("")
        self.compared.emit()

    def _draw_places(self, letter: str, pointed: PlaceMatch | None = None) -> None:
        for side, image in enumerate((self.query, self.case)):
            image.show_places(marks_of(self._places, side, letter, pointed))
        self.mark_query()

    def point(self, side: int, at: tuple[float, float] | None) -> None:
        """Show what the place at a pixel of an image matches, or no place."""
        if self._places is None:
            return
        pair = None if at is None else self._places.pair_at(side, *at)
        self.reason.show_pointed(None if pair is None else self._places, pair)
        self._draw_places("", pair)

    def _set_marks(self, on: bool) -> None:
        self._context.settings.set_flag("why_places", on)
        for image in (self.query, self.case):
            image.set_marks(on)
        self.mark_query()

    def _update_switch(self) -> None:
        """Show the switch if there are marks."""
        shown = (self.query.shown, self.case.shown)
        self.marks.setVisible(self._places is not None or any(one.rings or one.outline for one in shown))

    def _show(self, found: ImageComparison) -> None:
        self._late_timer.stop()
        self._show_name()
        self.copy_details.set_error(None)
        for number, (image, side) in enumerate(((self.query, found.query), (self.case, found.case))):
            image.show_image(_annotated(side, None if found.shown is None else found.shown[number]))
        self.note.setText(found.note)
        self.note.setVisible(bool(found.note) or found.places is not None)
        shown = any(side.pixels is not None or side.problem for side in (found.query, found.case))
        self.query.setVisible(shown and not self._is_case_alone)
        self.case.setVisible(shown)
        self._show_places(found)
        self._update_switch()

    def _fail(self, error: SemblanceError) -> None:
        self._late_timer.stop()
        self._show_name()
        self.copy_details.set_error(error)
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage(problem=error.message))
        self.note.setText("")
        self._show_places(None)
        self._update_switch()


def _annotated(side: ComparedImage, shown: Box | None) -> AnnotatedImage:
    return AnnotatedImage(side.pixels, side.rings, side.outline, side.problem, shown)


def request_images(
    context: Context,
    ranked_search: RankedSearch,
    case: RankedCase,
    done: Callable[[ImageComparison], object],
    failed: Callable[[SemblanceError], object],
    *,
    channel: str = IMAGES_CHANNEL,
) -> None:
    """Give ``done`` the images of the query and of a ranked case, with the places that agree."""
    if context.state.location is None:
        return
    job = context.jobs.run(
        tr("Comparing places"),
        compare_cases.compare_images,
        context.state.location,
        ranked_search.search,
        case.case_id,
        place=case.place,
        by_place=ranked_search.result.compared_by in (PLACE, BOTH),
        pool=WorkerPool.DRAW,
        channel=channel,
        quiet=True,
    )
    job.done.connect(done)
    job.failed.connect(failed)


@dataclass(frozen=True, eq=False)
class AnnotatedImage:
    """An image, (h, w) grey or (h, w, 3) RGB uint8 or ``None``, and its marks.

    ``rings``: (x, y, radius), ``outline``: (x, y) points. Both are relative to width and height, the radius
    to the width. ``shown``: the part of the image that ``pixels`` are, in its own pixels.
    """

    pixels: npt.NDArray[np.uint8] | None = None
    rings: tuple[tuple[float, float, float], ...] = ()
    outline: tuple[tuple[float, float], ...] = ()
    problem: str = ""
    shown: Box | None = None


class AnnotatedImageView(QWidget):
    """Shows the whole image. The rings have the letters a, b, c. ``pointed_at(at)``: the pixel of the image under the
    pointer, ``None`` where none is."""

    pointed_at = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._shown = AnnotatedImage()
        self._image: QImage | None = None
        self._places = NO_PLACE_MARKS
        self.setMouseTracking(True)
        #: Whether rings and outlines are drawn.
        self.shows_marks = True
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_image(AnnotatedImage())

    @property
    def shown(self) -> AnnotatedImage:
        return self._shown

    def show_image(self, shown: AnnotatedImage) -> None:
        self._shown = shown
        self._image = None if shown.pixels is None else as_image(shown.pixels)
        regions = tr(", {n} regions that agree", n=len(shown.rings)) if shown.rings else ""
        self.setAccessibleName(f"{self._name}{regions}{': ' + shown.problem if shown.problem else ''}")
        self.setToolTip(shown.problem)
        self.update()

    def show_places(self, marks: PlaceMarks) -> None:
        """Draw frames and lettered points, in pixels of the image."""
        self._places = marks
        if marks:
            letters = ", ".join(point.letter for point in marks.points)
            self.setAccessibleName(
                tr("{name}, with the matched places {letters}", name=self._name, letters=letters)
            )
        self.update()

    @property
    def all_marks(self) -> PlaceMarks:
        """The places and the rings, as points with their letters, in pixels of the image."""
        box = self._shown.shown
        if box is None:
            return self._places
        width, height = box[2] - box[0], box[3] - box[1]
        rings = tuple(
            LetteredPoint(letter, box[0] + x * width, box[1] + y * height)
            for letter, (x, y, _) in zip("abc", self._shown.rings, strict=False)
        )
        return replace(self._places, points=(*self._places.points, *rings))

    def _target(self) -> QRectF:
        """Where the image is drawn."""
        assert self._image is not None
        size = self._image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        left, top = (self.width() - size.width()) / 2, (self.height() - size.height()) / 2
        return QRectF(left, top, size.width(), size.height())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        box = self._shown.shown
        if self._image is None or box is None:
            return
        target, at = self._target(), event.position()
        x = box[0] + (at.x() - target.x()) / target.width() * (box[2] - box[0])
        y = box[1] + (at.y() - target.y()) / target.height() * (box[3] - box[1])
        self.pointed_at.emit((x, y) if target.contains(at) else None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed_at.emit(None)

    def set_marks(self, on: bool) -> None:
        """Whether rings, outlines and places are drawn."""
        self.shows_marks = on
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(135), theme().px(135))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, 40)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return min(width, theme().px(200))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), colour(theme().image_well))
        if self._image is None:
            if self._shown.problem:
                painter.setPen(colour(theme().image_text))
                flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
                painter.drawText(self.rect().adjusted(8, 8, -8, -8), int(flags), self._shown.problem)
        else:
            target = self._target()
            painter.drawImage(target, self._image)
            if self.shows_marks:
                self._draw_marks(painter, target)
                self._draw_places(painter, target)
        painter.end()

    def _draw_places(self, painter: QPainter, target: QRectF) -> None:
        box = self._shown.shown
        if box is None:
            return
        across, down = target.width() / (box[2] - box[0]), target.height() / (box[3] - box[1])

        def to_widget(x: float, y: float) -> tuple[float, float]:
            return target.x() + (x - box[0]) * across, target.y() + (y - box[1]) * down

        painter.save()
        painter.setClipRect(target)
        draw_place_marks(painter, self._places, to_widget)
        painter.restore()

    def _draw_marks(self, painter: QPainter, target: QRectF) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._shown.outline:
            line = QPolygonF(
                [
                    QPointF(target.x() + x * target.width(), target.y() + y * target.height())
                    for x, y in self._shown.outline
                ]
            )
            for shade, width in ((_DARK, 3.0), (_LIGHT, 1.5)):
                painter.setPen(QPen(colour(shade), width))
                painter.drawPolygon(line)
        for place, (x, y, radius) in enumerate(self._shown.rings):
            centre = QPointF(target.x() + x * target.width(), target.y() + y * target.height())
            radius_px = radius * target.width()
            for shade, width in ((_DARK, 3.0), (theme().region, 1.5)):
                painter.setPen(QPen(colour(shade), width))
                painter.drawEllipse(centre, radius_px, radius_px)
            self._draw_letter(painter, target, centre, radius_px, "abc"[place % 3])

    def _draw_letter(
        self, painter: QPainter, target: QRectF, centre: QPointF, radius_px: float, letter: str
    ) -> None:
        side = theme().px(13)
        corner = centre + QPointF(0.71 * radius_px, -0.71 * radius_px)
        left = min(max(corner.x(), target.left() + side / 2), target.right() - side / 2)
        top = min(max(corner.y(), target.top() + side / 2), target.bottom() - side / 2)
        disc = QRectF(left - side / 2, top - side / 2, side, side)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(_DARK))
        painter.drawEllipse(disc)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(colour(_LIGHT))
        painter.setFont(font(TICK, 600))
        painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, letter)
