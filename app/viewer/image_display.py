"""An image in a widget: what of it is shown, and how. The image view adds mouse, keys and tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell import theme as looks
from semblance.app.viewer import overlay
from semblance.app.viewer.measuring import MeasureTool
from semblance.app.viewer.region_tool import RegionTool
from semblance.app.viewer.rendering import Renderer
from semblance.app.viewer.view_settings import ViewSettings
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import PRESETS, Preset, Window, auto_window, preset_window, same_values
from semblance.app.widgets.place_marks import NO_PLACE_MARKS, PlaceMarks
from semblance.core.imaging.cut_planes import Edges
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.in_plane_shift import InPlaneShift
from semblance.core.imaging.region import Region
from semblance.core.imaging.slice_plane import Point
from semblance.core.language import tr


@dataclass(frozen=True)
class SecondImage:
    """The image of another view, drawn over that of this one in the same place: alone, or as the difference of the
    displayed grey levels. ``label`` is the accessible name. ``shift``: with which the other image fits on this one;
    ``None``: both fill their views."""

    view: ImageDisplay
    label: str
    is_difference: bool = False
    shift: InPlaneShift | None = None


@dataclass(frozen=True)
class LinkedCursor:
    """The point ``x``, ``y`` of an image, in its pixels, that belongs to the one under the mouse in a linked image.

    ``is_here``: it is the same position; else ``label`` says what is different.
    """

    x: float
    y: float
    label: str = ""
    is_here: bool = True


class ImageDisplay(QWidget):
    """Shows a :class:`semblance.core.imaging.display.DisplayImage`, fitted until the user zooms.

    Signals: ``region.changed(region)``, ``window_changed(window)``, ``tool_changed(name)``, ``view_changed()`` for
    zoom and position, ``inverted_changed(inverted)``; ``segment_requested(x, y)``: outline what lies at that image
    pixel; ``refine_requested``: outline what lies in the region drawn; ``scrolled(steps)``: so many slices on, if
    ``scrolls``; ``run_requested``: start or stop running through the slices; ``located(x, y)``: move the cross there;
    ``pointed_at(at)``: the pixel under the mouse, ``None`` where none is; ``slab_scrolled(steps)``: so many planes more
    in the slab, if ``has_slabs``; ``key_image_requested(goes_on)``: mark the slice as a key image, or go to the next.
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
    pointed_at = Signal(object)
    slab_scrolled = Signal(int)
    key_image_requested = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("image-view")
        self.setAccessibleName(tr("Image"))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.case_region: Region | None = None
        self.notes: tuple[str, ...] = ()
        #: What the user set for all images.
        self.settings = ViewSettings()
        self.is_overlay_text_shown = True
        #: Boxes around the burnt-in marks, and whether they are drawn; it stays for the next image.
        self.marks: tuple[Region, ...] = ()
        self.are_marks_shown = False
        #: The places that the search or its reason is about, and whether they are drawn; it stays for the next image.
        self.place_marks = NO_PLACE_MARKS
        self.are_places_shown = True
        self.inverted = False
        self.editable = True
        self.scrolls = False
        #: Whether the left and right arrow keys are the page's, which shows another case.
        self.leaves_arrows = False
        self.slice_text = ""
        #: Whether planes can be shown as one, and what is shown then.
        self.has_slabs = False
        self.slab_text = ""
        self.problem = ""
        self.second: SecondImage | None = None
        #: Letters of the patient's sides at left, top, right and bottom of the image as stored.
        self.edges: Edges | None = None
        #: A point of the image that lines cross at; clicks and drags of the lines move it.
        self.cross: tuple[float, float] | None = None
        #: The lines in which linked images cut this one.
        self.cut_lines: tuple[tuple[Point, Point], ...] = ()
        #: Where the mouse points in a linked image.
        self.linked_cursor: LinkedCursor | None = None
        #: The image pixel under the mouse.
        self.pixel_under_mouse: tuple[int, int] | None = None
        #: Where the mouse is, and how many times the image around it is magnified, 0 for not.
        self.mouse_at: QPointF | None = None
        self.magnified = 0.0
        self._lens: Renderer | None = None
        #: The region drawn on the image.
        self.region = RegionTool(self)
        #: What is measured on it.
        self.measure = MeasureTool(self)
        self._window: Window | None = None
        self._view = Viewport(1, 1)
        self._renderer: Renderer | None = None
        for changed in (self.region.moved, self.measure.moved, self.measure.changed):
            changed.connect(self.update)
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
    def window_values(self) -> tuple[float, float] | None:
        """The values that the ends of the current window stand for, in the image's unit."""
        image, window = self.image, self._window
        return (
            None if image is None or window is None else (image.value(window.low), image.value(window.high))
        )

    @property
    def viewport(self) -> Viewport:
        return self._view

    @property
    def orientation(self) -> Orientation:
        """Rotation and flip of the image."""
        return self._view.orientation

    def show_image(self, image: DisplayImage | None, region: Region | None = None) -> None:
        """Show another image or none: fitted, not rotated, with its own window and ``region``."""
        self._renderer = None if image is None else Renderer(image)
        self.inverted = image is not None and image.inverse
        self.pixel_under_mouse = None
        self.case_region, self.notes = None, () if image is None else image.notes
        self.marks = ()
        self.place_marks = NO_PLACE_MARKS
        self.edges = self.cross = self.linked_cursor = None
        self.cut_lines = ()
        self.slab_text = ""
        if image is None:
            self.region.begin(0, 0)
            self.measure.begin(0, 0, ())
            self._view = Viewport(1, 1).resized(self.width(), self.height())
        else:
            self.region.begin(image.width, image.height, region)
            self.measure.begin(image.width, image.height, image.calibrations)
            view = Viewport(image.width, image.height, aspect=image.aspect)
            self._view = view.resized(self.width(), self.height())
        self._set_window(None if image is None or image.is_colour else auto_window(image))
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

    def show_linked_cursor(self, cursor: LinkedCursor | None) -> None:
        """Show where the mouse points in a linked image, or nothing."""
        if cursor != self.linked_cursor:
            self.linked_cursor = cursor
            self.update()

    def show_cut_lines(self, lines: tuple[tuple[Point, Point], ...]) -> None:
        """Show the lines in which linked images cut this one."""
        if lines != self.cut_lines:
            self.cut_lines = lines
            self.update()

    def show_second(self, second: SecondImage | None) -> None:
        """Draw the image of another view over this one, or none."""
        self.second = second
        self.update()

    def set_notes(self, notes: Sequence[str]) -> None:
        """Lines for the upper left corner."""
        self.notes = tuple(notes)
        self.update()

    def show_marks(self, marks: Sequence[Region]) -> None:
        """Say how many burnt-in marks the image has, in boxes ``marks``."""
        self.marks = tuple(marks)
        if marks:
            self.set_notes((*self.notes, tr("Burnt-in annotations: {n}", n=len(marks))))

    def set_marks_shown(self, shown: bool) -> None:
        """Show or hide the boxes around burnt-in marks."""
        self.are_marks_shown = shown
        self.update()

    def show_place_marks(self, marks: PlaceMarks) -> None:
        """Draw ``marks`` over the image."""
        if marks != self.place_marks:
            self.place_marks = marks
            self.update()

    def set_places_shown(self, shown: bool) -> None:
        """Show or hide the matched places."""
        self.are_places_shown = shown
        self.update()

    def set_measurements_shown(self, shown: bool) -> None:
        """Show or hide what is measured, on this and on further images."""
        self.measure.cancel()
        self.measure.is_shown = shown
        self.update()

    @property
    def lens(self) -> Renderer | None:
        """Renders the magnified part, so that the view's own renderer keeps what it drew; ``None`` without one."""
        if not self.magnified or self._renderer is None:
            self._lens = None
        elif self._lens is None or self._lens.image is not self._renderer.image:
            self._lens = Renderer(self._renderer.image)
        return self._lens

    def magnify(self, factor: float) -> None:
        """Magnify the image around the mouse, 0 for not."""
        if factor != self.magnified:
            self.magnified = factor
            self.update()

    # What can be done

    def fit(self) -> None:
        self._set_view(self._view.fit())

    def actual_size(self) -> None:
        """One screen pixel for an image pixel."""
        self.zoom_by(1 / (self._view.zoom * self.devicePixelRatioF()))

    def true_size(self) -> bool:
        """Show a millimetre of the image as one of the screen; returns whether both sizes are known."""
        image, screen = self.image, self.screen()
        wide_mm = screen.physicalSize().width()
        if image is None or image.spacing_mm is None or min(*image.spacing_mm, wide_mm) <= 0:
            return False
        zoom = image.spacing_mm[1] * screen.size().width() / wide_mm
        self._set_view(replace(self._view, zoom=zoom, fitted=False))
        return True

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
        return (*ct_presets, *self.settings.presets)

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

    def scroll_by(self, steps: int) -> None:
        """Emit ``scrolled`` if the image is a volume."""
        if self.scrolls and steps:
            self.scrolled.emit(steps)

    # Size and text

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

    @property
    def zoom_text(self) -> str:
        return overlay.zoom_text(self._view.zoom * self.devicePixelRatioF())

    @property
    def size_text(self) -> str:
        return overlay.size_text(self.image, self.region.region)
