"""The widget that shows one picture: zoom, pan, window and level, words on it, and the region tool.

Painted by hand: what is seen is windowed at the size of the screen, in about 3 ms for 4,664 x 3,064 pixels of
16 bits, where an ImageItem windows all of them on every move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme as looks
from app.theme import colour, theme
from app.viewer.overlay import draw_words
from app.viewer.region_tool import ARROWS, RegionTool, cursor_for, outline
from app.viewer.rendering import SQUARES_FROM, Renderer
from app.viewer.viewport import Viewport
from app.viewer.window_level import PRESETS, Preset, Window, auto_window, dragged, preset_window, window_text
from core.imaging.display import DisplayPicture
from core.imaging.region import Region

SELECT, RECTANGLE = "select", "rectangle"
TOOLS = (SELECT, RECTANGLE)

_ZOOM_STEP = 1.25
_KEY_PAN = 32
_BY_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


class PictureView(QWidget):
    """Shows a :class:`core.imaging.display.DisplayPicture`, fitted until the user zooms.

    ``region.changed`` tells the drawn region; ``window_changed`` the greys, ``tool_changed`` the tool.
    """

    window_changed = Signal(object)
    tool_changed = Signal(str)
    view_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("picture-view")
        self.setAccessibleName("Picture")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.region = RegionTool(self)
        self.case_region: Region | None = None
        self.notes: tuple[str, ...] = ()
        self.words_shown = True
        self.inverted = False
        self.editable = True
        self._tool = SELECT
        self._window: Window | None = None
        self._view = Viewport(1, 1)
        self._renderer: Renderer | None = None
        self._windowing: tuple[QPointF, Window] | None = None
        self._panning: QPointF | None = None
        self._by_keyboard = False
        self._keys: dict[int, Callable[[], None]] = {
            Qt.Key.Key_0: self.auto,
            Qt.Key.Key_F: self.fit,
            Qt.Key.Key_I: self.invert,
            Qt.Key.Key_V: lambda: self.set_tool(SELECT),
            Qt.Key.Key_R: lambda: self.set_tool(RECTANGLE),
            Qt.Key.Key_Plus: lambda: self.zoom_by(_ZOOM_STEP),
            Qt.Key.Key_Equal: lambda: self.zoom_by(_ZOOM_STEP),
            Qt.Key.Key_Minus: lambda: self.zoom_by(1 / _ZOOM_STEP),
        }
        self.region.moved.connect(self.update)
        looks.news.changed.connect(self.update)

    # What is shown

    @property
    def picture(self) -> DisplayPicture | None:
        return self._renderer.picture if self._renderer else None

    @property
    def window_level(self) -> Window | None:
        """The greys in force; ``None`` without a picture and for colour."""
        return self._window

    @property
    def viewport(self) -> Viewport:
        return self._view

    @property
    def tool(self) -> str:
        return self._tool

    def show_picture(self, picture: DisplayPicture | None, region: Region | None = None) -> None:
        """Another picture (or none): fitted, its own greys, ``region`` drawn on it."""
        self._renderer = None if picture is None else Renderer(picture)
        self._windowing = self._panning = None
        self.inverted = False
        self.case_region, self.notes = None, ()
        if picture is None:
            self.region.begin(0, 0)
            self._view = Viewport(1, 1).resized(self.width(), self.height())
        else:
            self.region.begin(picture.width, picture.height, region)
            aspect = 1.0
            if picture.spacing_mm is not None and min(picture.spacing_mm) > 0:
                aspect = picture.spacing_mm[0] / picture.spacing_mm[1]
            view = Viewport(picture.width, picture.height, aspect=aspect)
            self._view = view.resized(self.width(), self.height())
        self._set_window(None if picture is None or picture.is_colour else auto_window(picture))
        self._show_cursor()
        self.view_changed.emit()
        self.update()

    def show_region(self, region: Region | None, *, in_use: bool = True) -> None:
        """Show a region without telling it back."""
        self.region.show(region, in_use=in_use)
        self.update()

    def show_words(self, shown: bool) -> None:
        """Show or hide the words and the scale on the picture."""
        self.words_shown = shown
        self.update()

    def set_notes(self, notes: Sequence[str]) -> None:
        """Lines for the upper left corner."""
        self.notes = tuple(notes)
        self.update()

    # What can be done

    def set_tool(self, name: str) -> None:
        """Raises:
        ValueError: not one of :data:`TOOLS`.
        """
        if name not in TOOLS:
            raise ValueError(name)
        if name != self._tool:
            self._tool = name
            self._show_cursor()
            self.tool_changed.emit(name)

    def fit(self) -> None:
        self._look(self._view.fit())

    def zoom_by(self, factor: float) -> None:
        """Zoom about the middle."""
        self._look(self._view.zoomed(factor, self.width() / 2, self.height() / 2))

    def pan_by(self, right: float, down: float) -> None:
        """Move the picture by widget pixels."""
        self._look(self._view.panned(right, down))

    def auto(self) -> None:
        """The greys the picture was opened with."""
        if self.picture is not None and not self.picture.is_colour:
            self._set_window(auto_window(self.picture))

    def set_window(self, window: Window) -> None:
        if self._window is not None:
            self._set_window(window)

    def invert(self) -> None:
        """Black for white."""
        if self.picture is not None:
            self.inverted = not self.inverted
            self.update()

    @property
    def presets(self) -> tuple[Preset, ...]:
        """The windows of computed tomography, where the picture has Hounsfield units."""
        return PRESETS if self.picture is not None and self.picture.unit == "HU" else ()

    def use_preset(self, preset: Preset) -> None:
        if self.picture is not None:
            self.set_window(preset_window(self.picture, preset))

    def _look(self, view: Viewport) -> None:
        if self._renderer is not None and view != self._view:
            self._view = view
            self.view_changed.emit()
            self.update()

    def _set_window(self, window: Window | None) -> None:
        if window != self._window:
            self._window = window
            self.window_changed.emit(window)
            self.update()

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._renderer is None:
            super().mousePressEvent(event)
            return
        self._by_keyboard = False
        at, button = event.position(), event.button()
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if button == Qt.MouseButton.MiddleButton or (button == Qt.MouseButton.LeftButton and shift):
            self._panning = at
        elif button == Qt.MouseButton.LeftButton and not self._took_region(at) and self._window is not None:
            self._windowing = (at, self._window)
        self._show_cursor(at)
        self.update()

    def _took_region(self, at: QPointF) -> bool:
        draw = self._tool == RECTANGLE
        return self.editable and self.region.press(at, self._view, draw=draw)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._panning is not None:
            step = at - self._panning
            self._panning = at
            self.pan_by(step.x(), step.y())
        elif self.region.dragging:
            self.region.drag(at, self._view)
        elif self._windowing is not None and self.picture is not None:
            begin, window = self._windowing
            way = at - begin
            self._set_window(dragged(window, self.picture, way.x(), way.y()))
        else:
            self._show_cursor(at)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._panning = self._windowing = None
        self.region.release()
        self._show_cursor(event.position())
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y()
        if self._renderer is None or turned == 0:
            event.ignore()
            return
        at = event.position()
        self._look(self._view.zoomed(_ZOOM_STEP ** (turned / 120), at.x(), at.y()))
        event.accept()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._show_cursor(event.position())

    def _show_cursor(self, at: QPointF | None = None) -> None:
        shape = Qt.CursorShape.ArrowCursor
        drawing = self._tool == RECTANGLE
        if self._panning is not None:
            shape = Qt.CursorShape.ClosedHandCursor
        elif self._renderer is not None and self.editable:
            grip = None if at is None else self.region.grip_at(at, self._view, inside=drawing)
            if self.region.dragging or self._windowing is not None:
                return
            if grip is not None:
                shape = cursor_for(grip)
            elif drawing:
                shape = Qt.CursorShape.CrossCursor
        self.setCursor(shape)

    # Keyboard

    def event(self, event: QEvent) -> bool:
        # Ctrl+Down is the window's next case; while a region can be moved it resizes that.
        asked = event if event.type() == QEvent.Type.ShortcutOverride else None
        if isinstance(asked, QKeyEvent) and self.editable and self.region.takes(asked):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._by_keyboard = self.hasFocus()
        if self._renderer is None or not self._did(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() in ARROWS and not event.isAutoRepeat():
            self.region.keys_up()
        super().keyReleaseEvent(event)

    def _did(self, event: QKeyEvent) -> bool:
        key, modifiers = event.key(), event.modifiers()
        if self.editable and self.region.key(event, draw=self._tool == RECTANGLE):
            return True
        if modifiers & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier):
            return False
        if key in ARROWS:
            far = _KEY_PAN * (10 if modifiers & Qt.KeyboardModifier.ShiftModifier else 1)
            self.pan_by(-ARROWS[key][0] * far, -ARROWS[key][1] * far)
            return True
        preset = next((p for p in self.presets if event.text() == str(p.key)), None)
        if preset is not None:
            self.use_preset(preset)
        elif key in self._keys:
            self._keys[key]()
        return preset is not None or key in self._keys

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_keyboard = event.reason() in _BY_KEYBOARD
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.region.keys_up()
        super().focusOutEvent(event)
        self.update()

    # Painting

    def sizeHint(self) -> QSize:
        return QSize(320, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 96)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._view = self._view.resized(self.width(), self.height())
        self.view_changed.emit()
        super().resizeEvent(event)

    def picture_box(self) -> QRectF:
        """Where the whole picture lies in the widget, outside it included."""
        left, top = self._view.to_widget(0, 0)
        right, bottom = self._view.to_widget(self._view.width, self._view.height)
        return QRectF(left, top, right - left, bottom - top)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().picture_well))
        if self._renderer is not None:
            self._paint_picture(painter, self._renderer)
            painter.setClipRect(self.rect())
            if self.case_region is not None and self.case_region != self.region.region:
                self._paint_case_region(painter, self.case_region)
            self.region.paint(painter, self._view)
            if self.words_shown:
                self._paint_words(painter, self._renderer.picture)
        if self.hasFocus() and self._by_keyboard:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            pen = QPen(colour(theme().region), 2)
            pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _paint_picture(self, painter: QPainter, renderer: Renderer) -> None:
        ratio = self.devicePixelRatioF()
        image, target = renderer.visible(self._view, ratio, self._window, inverted=self.inverted)
        if image.isNull():
            return
        smooth = self._view.zoom * ratio < SQUARES_FROM
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        painter.setClipRect(self.picture_box())
        painter.drawImage(target, image)

    def _paint_case_region(self, painter: QPainter, region: Region) -> None:
        left, top = self._view.to_widget(region.x, region.y)
        right, bottom = self._view.to_widget(region.x + region.width, region.y + region.height)
        outline(painter, QRectF(left, top, right - left, bottom - top), "#FFFFFF", dashed=True)

    def _paint_words(self, painter: QPainter, picture: DisplayPicture) -> None:
        words = {
            Qt.Corner.TopLeftCorner: self.notes,
            Qt.Corner.TopRightCorner: (self.zoom_text,),
            Qt.Corner.BottomLeftCorner: (self.size_text,),
            Qt.Corner.BottomRightCorner: (window_text(picture, self._window) if self._window else "",),
        }
        row_mm = picture.spacing_mm[0] if picture.spacing_mm is not None else None
        draw_words(painter, self.rect(), self._view, words, row_mm)

    @property
    def zoom_text(self) -> str:
        """100 % is one screen pixel for a picture pixel."""
        return f"Zoom {self._view.zoom * self.devicePixelRatioF() * 100:.0f} %"

    @property
    def size_text(self) -> str:
        """Width and height of the region, or of the picture, in millimetres; empty without spacing."""
        picture = self.picture
        if picture is None or picture.spacing_mm is None:
            return ""
        region = self.region.region
        width, height = (picture.width, picture.height) if region is None else (region.width, region.height)
        return f"{width * picture.spacing_mm[1]:.1f} × {height * picture.spacing_mm[0]:.1f} mm"

    def menu_point(self) -> QPoint:
        """Where a menu asked for by keyboard opens, on the screen."""
        return self.mapToGlobal(self.rect().center())
