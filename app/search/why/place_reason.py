"""The reason in places: a sentence, and a row for each of the strongest pairs of places with a crop of both images."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QImage, QKeyEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.search.why.waterfall import share_text
from semblance.app.shell.theme import colour, font, plain_tip, theme, theme_signals
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import fill, vbox
from semblance.app.widgets.place_marks import LetteredPoint, PlaceMarks, draw_letter
from semblance.app.widgets.thumbnail_loader import as_image
from semblance.core.imaging.region import Box
from semblance.core.language import format_number, tr, translate
from semblance.core.workflows.searches.compare_cases import ImageComparison
from semblance.core.workflows.searches.compare_places import ComparedPlaces, PlaceMatch

_ROW, _CROP, _BAR, _VALUE, _GAP = 34, 28, 10, 40, 6
#: A crop shows so many times the side of the place: a place alone says little to the eye.
_CONTEXT = 3.0


class PlaceReason(QWidget):
    """``pointed_at(letter)``: a row is under the pointer or has the focus; empty: none is."""

    pointed_at = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.sentence = WrappedLabel()
        self.rows: list[PlaceRow] = []
        self.summary = WrappedLabel(role="small")
        #: What the place under the pointer matches. Its two lines are always there, so that nothing moves.
        self.pointed = WrappedLabel(role="third")
        self.pointed.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._rows = vbox(spacing=0)
        fill(vbox(self, spacing=6), self.sentence, self._rows, self.pointed, self.summary)
        self.show_comparison(None)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._reserve()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._reserve()

    def _reserve(self) -> None:
        self.pointed.ensurePolished()
        self.pointed.setMinimumHeight(2 * self.pointed.fontMetrics().lineSpacing())

    def show_comparison(self, found: ImageComparison | None) -> None:
        """Show the pairs of ``found``; nothing without places."""
        places = None if found is None else found.places
        self.setVisible(places is not None)
        pairs = () if places is None else places.pairs
        while len(self.rows) > len(pairs):
            row = self.rows.pop()
            row.hide()
            row.deleteLater()
        while len(self.rows) < len(pairs):
            row = PlaceRow(self)
            row.pointed_at.connect(self.point_at)
            row.focus_moved.connect(self._move_focus)
            self._rows.addWidget(row)
            self.rows.append(row)
        if places is None or found is None:
            return
        images = [
            None if side.pixels is None else as_image(side.pixels) for side in (found.query, found.case)
        ]
        for row, pair in zip(self.rows, pairs, strict=True):
            crops = [
                QImage()
                if image is None or found.shown is None
                else _crop(image, found.shown[side], pair.boxes[side])
                for side, image in enumerate(images)
            ]
            row.show_pair(pair, (crops[0], crops[1]), pair_text(places, pair))
        self.sentence.setText(translate(places.sentence))
        self.summary.setText(translate(places.summary))
        self.show_pointed(None, None)

    def point_at(self, letter: str) -> None:
        """Emphasise a row and tell who draws the places."""
        for row in self.rows:
            row.set_chosen(row.letter == letter and bool(letter))
        self.pointed_at.emit(letter)

    def show_pointed(self, places: ComparedPlaces | None, pair: PlaceMatch | None) -> None:
        """Say what the place under the pointer on an image matches."""
        for row in self.rows:
            row.set_chosen(pair is not None and bool(pair.letter) and row.letter == pair.letter)
        if places is None or pair is None:
            self.pointed.setText(tr("Point at a place to see what it matches."))
        else:
            self.pointed.setText(tr("This place: {text}", text=pair_text(places, pair)))

    def _move_focus(self, step: int) -> None:
        focused = next((number for number, row in enumerate(self.rows) if row.hasFocus()), 0)
        if 0 <= focused + step < len(self.rows):
            self.rows[focused + step].setFocus(Qt.FocusReason.TabFocusReason)


def pair_text(places: ComparedPlaces, pair: PlaceMatch) -> str:
    """How alike a pair of places is, and its share in the whole."""
    alike = tr("similarity {value}", value=format_number(pair.similarity, ".2f"))
    if pair.share is None:
        return alike
    if places.is_similarity:
        return tr("{alike}, {share} of the mean", alike=alike, share=format_number(pair.share, ".3f"))
    share = share_text(pair.share, places.total, 1)
    return tr("{alike}, {share} of the distance", alike=alike, share=share)


def marks_of(
    places: ComparedPlaces | None, image: int, chosen: str = "", pointed: PlaceMatch | None = None
) -> PlaceMarks:
    """What is drawn on the query (``image`` 0) or the case (1): the frame, the letters, and the place pointed at."""
    if places is None:
        return PlaceMarks()
    points = tuple(
        LetteredPoint(pair.letter, *_centre(pair.boxes[image])) for pair in places.pairs if pair.letter
    )
    frames: tuple[Box, ...] = () if places.frames is None else (places.frames[image],)
    if pointed is not None:
        chosen = pointed.letter
        frames = (*frames, pointed.boxes[image])
    return PlaceMarks(frames, points, chosen=chosen)


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2.0, (box[1] + box[3]) / 2.0


def _crop(image: QImage, shown: Box, box: Box) -> QImage:
    """The part of ``image``, which shows ``shown``, around ``box``, both in pixels of the whole image."""
    across, down = image.width() / (shown[2] - shown[0]), image.height() / (shown[3] - shown[1])
    x, y = _centre(box)
    width, height = (_CONTEXT * (box[2] - box[0]) * across, _CONTEXT * (box[3] - box[1]) * down)
    part = QRect(
        round((x - shown[0]) * across - width / 2),
        round((y - shown[1]) * down - height / 2),
        max(1, round(width)),
        max(1, round(height)),
    )
    return image.copy(part.intersected(image.rect()))


class PlaceRow(QWidget):
    """A pair of places: letter, both crops, a bar of their similarity and its value. ``pointed_at(letter)``."""

    pointed_at = Signal(str)
    focus_moved = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pair: PlaceMatch | None = None
        self._crops = QImage(), QImage()
        self._is_chosen = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme_signals.changed.connect(self.updateGeometry)

    @property
    def letter(self) -> str:
        return "" if self._pair is None else self._pair.letter

    def show_pair(self, pair: PlaceMatch, crops: tuple[QImage, QImage], text: str) -> None:
        self._pair, self._crops = pair, crops
        self.setAccessibleName(tr("Place {letter}: {text}", letter=pair.letter, text=text))
        self.setToolTip(plain_tip(text[:1].upper() + text[1:]))
        self.update()

    def set_chosen(self, chosen: bool) -> None:
        if chosen != self._is_chosen:
            self._is_chosen = chosen
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(200), theme().px(_ROW))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(150), theme().px(_ROW))

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.pointed_at.emit(self.letter)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed_at.emit("")

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.pointed_at.emit(self.letter)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.pointed_at.emit("")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.focus_moved.emit(step)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._pair is None:
            return
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
        middle, side, gap = self.height() / 2, tokens.px(_CROP), tokens.px(_GAP)
        disc = tokens.px(16)
        x = gap / 2 + disc / 2
        if self._is_chosen or self.hasFocus():
            painter.fillRect(self.rect(), colour(tokens.hover))
        painter.save()
        draw_letter(painter, QRectF(x, middle, 0, 0).topLeft(), self._pair.letter, is_chosen=self._is_chosen)
        painter.restore()
        x += disc / 2 + gap
        for crop in self._crops:
            target = QRectF(x, middle - side / 2, side, side)
            painter.fillRect(target, colour(tokens.image_well))
            if not crop.isNull():
                size = crop.size().scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio)
                inner = QRectF(0, 0, size.width(), size.height())
                inner.moveCenter(target.center())
                painter.drawImage(inner, crop)
            x += side + gap / 2
        x += gap / 2
        value = tokens.px(_VALUE)
        track = QRectF(x, middle - tokens.px(_BAR) / 2, max(8.0, self.width() - x - value), tokens.px(_BAR))
        painter.fillRect(track, colour(tokens.track))
        share = min(max(self._pair.similarity, 0.0), 1.0)
        painter.fillRect(
            QRectF(track.x(), track.y(), track.width() * share, track.height()), colour(tokens.bar_fill)
        )
        painter.setFont(font())
        painter.setPen(colour(tokens.text))
        text = format_number(self._pair.similarity, ".2f").replace("-", "−")
        box = QRectF(self.width() - value, 0, value, self.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        if self.hasFocus():
            painter.setPen(QPen(colour(tokens.accent), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()


def parts_of_places(places: ComparedPlaces) -> Sequence[tuple[str, float, str]]:
    """Name, amount and tip of each part of the whole."""
    details = dict(places.details)
    return [
        (
            tr("Place {letter}", letter=name) if len(name) == 1 else translate(name),
            amount,
            translate(details.get(name, "")),
        )
        for name, amount in places.parts
    ]
