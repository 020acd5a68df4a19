"""The page on which the text that was found in images is reviewed: boxes are removed, added and moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QListWidget, QWidget

from semblance.app.shell.theme import colour, theme
from semblance.app.viewer.view_painting import paint_focus
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.imaging.text_detector import TextBox
from semblance.core.language import tr, tr_n
from semblance.core.workflows.imaging.clean_burnt_in_text import TextReview

_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
#: Image pixels that an arrow key moves, and sides of a box that the keyboard adds, as a share of the image's.
_STEP, _NEW = 4, (0.2, 0.06)
#: A click moves the mouse no farther, in widget pixels.
_CLICK = 3


class BoxEditor(QWidget):
    """An image with boxes. ``changed``: the boxes are other ones · ``chosen``: another one is selected.

    A click selects a box, a drag draws a new one. Delete removes the selected box, arrow keys move it, and with Shift
    they change its size. Page Up and Page Down select another one.
    """

    changed = Signal()
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Image with the text that was found"))
        self.setMinimumSize(theme().px(320), theme().px(240))
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.boxes: list[TextBox] = []
        #: The place of the selected box in :attr:`boxes`, -1 for none.
        self.selected = -1
        self._image = QImage()
        self._from: QPointF | None = None
        self._to = QPointF()

    def show_image(self, image: QImage, boxes: Sequence[TextBox]) -> None:
        """Show another image and its boxes."""
        self._image, self.boxes, self._from = image, list(boxes), None
        self._select(-1)

    def add_box(self) -> None:
        """Add a box in the middle and select it."""
        across, down = self._image.width(), self._image.height()
        width, height = max(1, round(_NEW[0] * across)), max(1, round(_NEW[1] * down))
        self._add(TextBox((across - width) // 2, (down - height) // 2, width, height))

    def remove_box(self) -> None:
        """Remove the selected box."""
        if self.selected >= 0:
            del self.boxes[self.selected]
            self._select(-1)
            self.changed.emit()

    def _add(self, box: TextBox) -> None:
        self.boxes.append(box)
        self._select(len(self.boxes) - 1)
        self.changed.emit()

    def _select(self, place: int) -> None:
        self.selected = place
        self.chosen.emit()
        self.update()

    def _scale(self) -> float:
        return min(self.width() / max(1, self._image.width()), self.height() / max(1, self._image.height()))

    def _corner(self) -> QPointF:
        scale = self._scale()
        return QPointF(
            (self.width() - scale * self._image.width()) / 2,
            (self.height() - scale * self._image.height()) / 2,
        )

    def box_rect(self, box: TextBox) -> QRectF:
        """Where a box is in the widget."""
        scale, corner = self._scale(), self._corner()
        return QRectF(
            corner.x() + scale * box.x,
            corner.y() + scale * box.y,
            scale * box.width,
            scale * box.height,
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self._image.isNull():
            self._from = self._to = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._from is not None:
            self._to = event.position()
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        begin, end, self._from = self._from, event.position(), None
        if begin is None:
            return
        if (end - begin).manhattanLength() <= _CLICK:
            hit = [place for place, box in enumerate(self.boxes) if self.box_rect(box).contains(end)]
            self._select(min(hit, key=lambda place: self.boxes[place].width, default=-1))
            return
        drawn = self._box_between(begin, end)
        if drawn is not None:
            self._add(drawn)
        self.update()

    def _box_between(self, begin: QPointF, end: QPointF) -> TextBox | None:
        """The whole pixels of the image between two points of the widget."""
        scale, corner = self._scale(), self._corner()
        sides = (self._image.width(), self._image.height())
        xs, ys = (sorted(pair) for pair in ((begin.x(), end.x()), (begin.y(), end.y())))
        left, right = (min(sides[0], max(0, round((x - corner.x()) / scale))) for x in xs)
        top, bottom = (min(sides[1], max(0, round((y - corner.y()) / scale))) for y in ys)
        if right <= left or bottom <= top:
            return None
        return TextBox(left, top, right - left, bottom - top)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_box()
        elif key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp) and self.boxes:
            step = 1 if key == Qt.Key.Key_PageDown else -1
            self._select((self.selected + step) % len(self.boxes) if self.selected >= 0 else 0)
        elif key in _ARROWS and self.selected >= 0:
            self._move(*_ARROWS[key], resizes=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(event)

    def _move(self, right: int, down: int, *, resizes: bool) -> None:
        box = self.boxes[self.selected]
        across, down_side = self._image.width(), self._image.height()
        if resizes:
            width = min(across - box.x, max(1, box.width + _STEP * right))
            height = min(down_side - box.y, max(1, box.height + _STEP * down))
            moved = replace(box, width=width, height=height)
        else:
            x = min(across - box.width, max(0, box.x + _STEP * right))
            y = min(down_side - box.height, max(0, box.y + _STEP * down))
            moved = replace(box, x=x, y=y)
        self.boxes[self.selected] = moved
        self.changed.emit()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.fillRect(self.rect(), colour(tokens.image_well))
        if not self._image.isNull():
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            whole = TextBox(0, 0, self._image.width(), self._image.height())
            painter.drawImage(self.box_rect(whole), self._image)
        for place, box in enumerate(self.boxes):
            area = self.box_rect(box)
            if place == self.selected:
                painter.fillRect(area, colour(tokens.region, 0.35))
            painter.setPen(QPen(colour("#FFDC00"), 3 if place == self.selected else 1.5))
            painter.drawRect(area)
        if self._from is not None:
            painter.setPen(QPen(colour("#FFDC00"), 1, Qt.PenStyle.DashLine))
            painter.drawRect(QRectF(self._from, self._to).normalized())
        if self.hasFocus():
            paint_focus(painter, self.rect())
        painter.end()


class TextReviewPage(QWidget):
    """The images of a review, one at a time. :attr:`review` has the boxes as they are now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.review = TextReview(())
        self.summary = WrappedLabel()
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Images"))
        self.list.setFixedWidth(theme().px(200))
        self.editor = BoxEditor()
        self.add_button = dialog_button(tr("Add box"), self.editor.add_box)
        self.remove_button = dialog_button(tr("Remove box"), self.editor.remove_box)
        note = WrappedLabel(
            tr(
                "What is in a box becomes black. Drag to draw a box, click one to select it, press Delete to remove "
                "it. The arrow keys move it, and with Shift they change its size."
            ),
            role="second",
        )
        buttons = fill(hbox(spacing=8), self.add_button, self.remove_button, STRETCH)
        right = fill(vbox(spacing=8), (self.editor, 1), buttons)
        across = fill(hbox(spacing=12), self.list, (right, 1))
        fill(
            vbox(self, spacing=8),
            WrappedLabel(tr("Review the text that was found. Nothing is written yet."), "title"),
            self.summary,
            (across, 1),
            note,
        )
        self.list.currentRowChanged.connect(self._show)
        self.editor.changed.connect(self._keep)
        self.editor.chosen.connect(self._update)

    def show_review(self, review: TextReview) -> None:
        """Show the first image of ``review``."""
        self.review = review
        self.list.clear()
        self.list.addItems([self._text(place) for place in range(len(review.images))])
        self.list.setCurrentRow(0)
        self._update()

    def _text(self, place: int) -> str:
        one = self.review.images[place]
        boxes = tr_n("{n} box", "{n} boxes", len(one.boxes))
        if one.last > one.first:
            return tr(
                "Image {number}: {boxes}, {n} frames",
                number=place + 1,
                boxes=boxes,
                n=one.last - one.first + 1,
            )
        return tr("Image {number}: {boxes}", number=place + 1, boxes=boxes)

    def _show(self, place: int) -> None:
        if 0 <= place < len(self.review.images):
            one = self.review.images[place]
            self.editor.show_image(QImage(str(one.image)), one.boxes)

    def _keep(self) -> None:
        place, images = self.list.currentRow(), list(self.review.images)
        images[place] = replace(images[place], boxes=tuple(self.editor.boxes))
        self.review = replace(self.review, images=tuple(images))
        self.list.item(place).setText(self._text(place))
        self._update()

    def _update(self) -> None:
        images = self.review.images
        counted = tr_n(
            "{n} image has text or may have some.", "{n} images have text or may have some.", len(images)
        )
        rest = len(self.review.others)
        others = tr_n("{n} other file was searched.", "{n} other files were searched.", rest) if rest else ""
        self.summary.setText(f"{counted} {others}".strip())
        enable_widgets(
            {
                self.add_button: bool(images),
                self.remove_button: self.editor.selected >= 0,
                self.list: bool(images),
            }
        )
