"""The widget that shows one image: zoom, pan, window and level, overlay text and the drawing tools.

It applies the window to the visible part only, at the size of the screen. That takes about 3 ms for 4,664 x 3,064
pixels of 16 bits. pyqtgraph's ImageItem would apply it to all pixels on every move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from semblance.app.shell import theme as looks
from semblance.app.viewer import overlay_text, tools
from semblance.app.viewer.pointer import Pointer
from semblance.app.viewer.region_tool import ARROWS, RegionTool
from semblance.app.viewer.rendering import Renderer
from semblance.app.viewer.view_keys import ZOOM_STEP, ViewKeys
from semblance.app.viewer.view_painting import paint_focus, paint_view
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import PRESETS, Preset, Window, auto_window, preset_window, same_values
from semblance.core.imaging.cut_planes import Edges
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.region import Region
from semblance.core.language import tr

_BY_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
)


@dataclass(frozen=True)
class SecondImage:
    """The image of another view, drawn over that of this one in the same place: alone, or as the difference of the
    greys on the screen. ``label`` says what is seen."""

    view: ImageView
    label: str
    is_difference: bool = False


class ImageView(QWidget):
    """Shows a :class:`semblance.core.imaging.display.DisplayImage`, fitted until the user zooms.

    Signals: ``region.changed(region)``, ``window_changed(window)``, ``tool_changed(name)``, ``view_changed()`` for
    zoom and position, ``segment_requested(x, y)``: outline what lies at that image pixel;
    ``refine_requested``: what lies in the region drawn.
    ``scrolled(steps)``: so many slices on, where ``scrolls`` says that there are several; ``run_requested``:
    begin or end running through them. ``located(x, y)``: where the cross is wanted.
    """

    window_changed = Signal(object)
    tool_changed = Signal(str)
    view_changed = Signal()
    segment_requested = Signal(int, int)
    refine_requested = Signal()
    scrolled = Signal(int)
    run_requested = Signal()
    located = Signal(float, float)
    inverted_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("image-view")
        self.setAccessibleName(tr("Image"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.case_region: Region | None = None
        self.notes: tuple[str, ...] = ()
        #: The presets of the user.
        self.own_presets: Callable[[], tuple[Preset, ...]] = tuple
        self.is_overlay_text_shown = True
        self.inverted = False
        self.editable = True
        self.scrolls = False
        #: Whether the left and right arrow keys are the page's, which shows another case.
        self.leaves_arrows = False
        self.slice_text = ""
        self.problem = ""
        self.second: SecondImage | None = None
        #: Letters of the patient's sides at left, top, right and bottom of the image as stored.
        self.edges: Edges | None = None
        #: A point of the image that lines cross at; clicks and drags of the lines move it.
        self.cross: tuple[float, float] | None = None
        #: The image pixel under the mouse.
        self.pixel_under_mouse: tuple[int, int] | None = None
        self._window: Window | None = None
        self._view = Viewport(1, 1)
        self._renderer: Renderer | None = None
        self._by_keyboard = False
        self._wheel_angle = 0
        self.pointer = Pointer(self)
        self._keys = ViewKeys(self)
        self.region.moved.connect(self.update)
        looks.theme_signals.changed.connect(self.update)

    # What is shown

    @property
    def image(self) -> DisplayImage | None:
        return self._renderer.image if self._renderer else None

    @property
    def window_level(self) -> Window | None:
        """The current window; ``None`` without an image and for colour."""
        return self._window

    @property
    def viewport(self) -> Viewport:
        return self._view

    @property
    def tool(self) -> str:
        return self.pointer.tool

    @property
    def region(self) -> RegionTool:
        """The region drawn on the image."""
        return self.pointer.region

    @property
    def orientation(self) -> Orientation:
        """Rotation and flip of the image."""
        return self._view.orientation

    def show_image(self, image: DisplayImage | None, region: Region | None = None) -> None:
        """Show another image or none: fitted, not rotated, with its own window and ``region``."""
        self._renderer = None if image is None else Renderer(image)
        self.pointer.begin()
        self.pointer.ruler.begin(None if image is None else image.spacing_mm)
        self.inverted = image is not None and image.inverse
        self.pixel_under_mouse = None
        self.case_region, self.notes = None, () if image is None else image.notes
        self.edges = self.cross = None
        if image is None:
            self.region.begin(0, 0)
            self._view = Viewport(1, 1).resized(self.width(), self.height())
        else:
            self.region.begin(image.width, image.height, region)
            aspect = 1.0
            if image.spacing_mm is not None and min(image.spacing_mm) > 0:
                aspect = image.spacing_mm[0] / image.spacing_mm[1]
            view = Viewport(image.width, image.height, aspect=aspect)
            self._view = view.resized(self.width(), self.height())
        self._set_window(None if image is None or image.is_colour else auto_window(image))
        self.pointer.show_cursor()
        self.view_changed.emit()
        self.update()

    def show_slice(self, image: DisplayImage) -> None:
        """Show another slice of the same size. Zoom, window, region and lines stay."""
        before = self.image
        self._renderer = Renderer(image)
        if before is not None and self._window is not None:
            self._set_window(same_values(self._window, before, image))
        self.update()

    def show_region(self, region: Region | None, *, in_use: bool = True) -> None:
        """Show a region without a signal."""
        self.region.show(region, in_use=in_use)
        self.update()

    def set_overlay_text_shown(self, shown: bool) -> None:
        """Show or hide the overlay text and the scale."""
        self.is_overlay_text_shown = shown
        self.update()

    def show_cross(self, at: tuple[float, float] | None) -> None:
        """Show the cross at a point of the image, or hide it."""
        if at != self.cross:
            self.cross = at
            self.update()

    def show_second(self, second: SecondImage | None) -> None:
        """Draw the image of another view over this one, or none."""
        self.second = second
        self.update()

    def set_notes(self, notes: Sequence[str]) -> None:
        """Lines for the upper left corner."""
        self.notes = tuple(notes)
        self.update()

    # What can be done

    def set_tool(self, name: str) -> None:
        """Raises:
        ValueError: not one of :data:`semblance.app.viewer.tools.ALL`.
        """
        if name not in tools.NAMES:
            raise ValueError(name)
        if name != self.pointer.tool:
            self.pointer.begin()
            self.pointer.tool = name
            self.pointer.show_cursor()
            self.tool_changed.emit(name)
            self.update()

    def fit(self) -> None:
        self._set_view(self._view.fit())

    def actual_size(self) -> None:
        """One screen pixel for an image pixel."""
        self.zoom_by(1 / (self._view.zoom * self.devicePixelRatioF()))

    def zoom_by(self, factor: float) -> None:
        """Zoom around the centre."""
        self._set_view(self._view.zoomed(factor, self.width() / 2, self.height() / 2))

    def pan_by(self, right: float, down: float) -> None:
        """Move the image by widget pixels."""
        self._set_view(self._view.panned(right, down))

    def auto(self) -> None:
        """Reset window and level."""
        if self.image is not None and not self.image.is_colour:
            self._set_window(auto_window(self.image))

    def set_window(self, window: Window) -> None:
        if self._window is not None:
            self._set_window(window)

    def rotate(self) -> None:
        """Rotate by 90 degrees clockwise."""
        self.set_orientation(self.orientation.turned(1))

    def flip(self) -> None:
        """Flip horizontally."""
        self.set_orientation(self.orientation.flipped())

    def set_orientation(self, orientation: Orientation) -> None:
        """Show the image in this rotation and flip."""
        self._set_view(self._view.oriented(orientation))

    def set_view(self, view: Viewport) -> None:
        """Show the same part as ``view``, which is of an image of the same size."""
        self._set_view(view.resized(self.width(), self.height()))

    def invert(self) -> None:
        """Invert the grey levels."""
        if self.image is not None:
            self.inverted = not self.inverted
            self.inverted_changed.emit(self.inverted)
            self.update()

    @property
    def presets(self) -> tuple[Preset, ...]:
        """The presets of computed tomography, if the image has Hounsfield units, and the user's own."""
        ct_presets = PRESETS if self.image is not None and self.image.unit == "HU" else ()
        return (*ct_presets, *self.own_presets())

    def use_preset(self, preset: Preset) -> None:
        if self.image is not None:
            self.set_window(preset_window(self.image, preset))

    def _set_view(self, view: Viewport) -> None:
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
        self.pointer.press(event)
        self.pointer.show_cursor(event.position())
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.pointer.move(event.position(), fine=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        self._update_pixel_under_mouse(event.position())
        if self.pointer.busy or self.tool in (tools.BRUSH, tools.RULER):
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.pointer.release(event.position())
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self.pointer.double_click():
            self.fit()
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        angle = event.angleDelta().y()
        if self._renderer is None or angle == 0:
            event.ignore()
            return
        event.accept()
        if self.scrolls and not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            # Fine wheels send less than a notch at a time.
            self._wheel_angle += angle
            steps = int(self._wheel_angle / 120)
            self._wheel_angle -= 120 * steps
            self.scroll_by(-steps)
            return
        at = event.position()
        self._set_view(self._view.zoomed(ZOOM_STEP ** (angle / 120), at.x(), at.y()))

    def enterEvent(self, event: QEnterEvent) -> None:
        self.pointer.show_cursor(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self.pointer.leave()
        self.pixel_under_mouse = None
        self.update()

    def _update_pixel_under_mouse(self, at: QPointF) -> None:
        """Set the image pixel under the mouse, whose value is shown."""
        x, y = (int(value // 1) for value in self._view.to_image(at.x(), at.y()))
        inside = 0 <= x < self._view.width and 0 <= y < self._view.height
        pixel_under_mouse = (x, y) if inside and self._renderer is not None else None
        if pixel_under_mouse != self.pixel_under_mouse:
            self.pixel_under_mouse = pixel_under_mouse
            self.update()

    def scroll_by(self, steps: int) -> None:
        """Emit ``scrolled`` if the image is a volume."""
        if self.scrolls and steps:
            self.scrolled.emit(steps)

    # Keyboard

    def event(self, event: QEvent) -> bool:
        # Ctrl+Down is the window's next case; while a region can be moved it resizes that. E is the ellipse
        # here and an example in the window.
        key_event = event if event.type() == QEvent.Type.ShortcutOverride else None
        is_view_key = (
            isinstance(key_event, QKeyEvent) and self._renderer is not None and self._keys.handles(key_event)
        )
        if is_view_key or (
            isinstance(key_event, QKeyEvent) and self.editable and self.region.handles(key_event)
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._by_keyboard = self.hasFocus()
        if self._renderer is None or not self._keys.press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() in ARROWS and not event.isAutoRepeat():
            self.region.release_keys()
        super().keyReleaseEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        self._by_keyboard = event.reason() in _BY_KEYBOARD and not by_mouse
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.region.release_keys()
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

    def image_box(self) -> QRectF:
        """Where the whole image lies in the widget, outside it included."""
        left, top, right, bottom = self._view.box(0, 0, self._view.width, self._view.height)
        return QRectF(left, top, right - left, bottom - top)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_view(painter, self, self._renderer)
        if self.hasFocus() and self._by_keyboard:
            paint_focus(painter, self.rect())
        painter.end()

    @property
    def zoom_text(self) -> str:
        return overlay_text.zoom_text(self._view.zoom * self.devicePixelRatioF())

    @property
    def size_text(self) -> str:
        return overlay_text.size_text(self.image, self.region.region)
