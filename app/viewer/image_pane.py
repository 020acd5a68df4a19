"""An image with its histogram, and for a volume the slice bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from semblance.app.shell.jobs import Jobs
from semblance.app.shell.last_views import LastView, LastViews
from semblance.app.shell.measured_figures import MeasuredFigures
from semblance.app.shell.settings import Settings
from semblance.app.viewer.figure_values import FigureValues
from semblance.app.viewer.histogram import HistogramStrip
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.overlay import slice_text
from semblance.app.viewer.slices import SliceBar, Slices
from semblance.app.viewer.view_settings import ViewSettings
from semblance.app.viewer.window_level import Window, window_on_values
from semblance.app.widgets.place_marks import NO_PLACE_MARKS, PlaceMarks
from semblance.core.imaging.cut_planes import cut_planes
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.image import SliceFacts
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.region import Region
from semblance.core.imaging.slab import Slab
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging.view_images import ViewedImage

#: Attributes of a case shown on the image if the file has no notes.
_NOTED_ATTRIBUTES = ("modality", "body_part", "view", "laterality")


class ImagePane(QWidget):
    """Shows a :class:`ViewedImage`. ``slice_changed(place)``: another slice is shown. ``image_shown()``: another image,
    or none."""

    slice_changed = Signal(int)
    image_shown = Signal()

    def __init__(
        self,
        jobs: Jobs,
        parent: QWidget | None = None,
        *,
        settings: Settings | None = None,
        share: float = 1.0,
        last_views: LastViews | None = None,
        figures: MeasuredFigures | None = None,
    ) -> None:
        """``settings``: window presets and mouse. ``share``: the part of the memory for slices that this pane may use.
        ``last_views``: slice and window stay for other panes with the same views; ``None``: every image is shown as if
        for the first time. ``figures``: what is measured stays for other panes with the same figures, and is stored."""
        super().__init__(parent)
        self._last_views, self._is_showing = last_views, False
        #: Whether the last view of the image was restored.
        self.is_restored = False
        self.view = ImageView()
        self.view.settings = ViewSettings(settings)
        self.histogram = HistogramStrip()
        self.slices = Slices(jobs, self, share=share)
        self.bar = SliceBar(self.slices)
        self._case_region: Region | None = None
        self._place_marks = NO_PLACE_MARKS
        #: What is shown: a case's row in its library, or an address.
        self.source: tuple[LibraryLocation | None, int | ImageAddress] = (None, 0)
        self._has_histogram = True
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(8)
        grid.addWidget(self.view, 0, 0)
        grid.addWidget(self.bar, 0, 1)
        grid.addWidget(self.histogram, 1, 0, 1, 2)
        grid.setRowStretch(0, 1)
        grid.setColumnStretch(0, 1)
        self.view.window_changed.connect(self.histogram.show_window)
        self.histogram.window_changed.connect(self.view.set_window)
        self.histogram.auto_requested.connect(self.view.auto)
        self.view.scrolled.connect(self.slices.step)
        self.view.run_requested.connect(self.bar.play.toggle)
        self.view.region.moved.connect(lambda _: self._update_on_other_slice())
        self.slices.ready.connect(self._show_slice)
        self.slices.moved.connect(self._show_place)
        self.slices.failed.connect(self._show_problem)
        self._figures = figures
        self.values = FigureValues(jobs, self.view, lambda: self.source)
        self.view.measure.changed.connect(self._store_figures)
        if figures is not None:
            figures.changed.connect(self._show_figures)
        self._follows_window = self._shows_slab = False
        self.view.window_changed.connect(lambda _: self._keep_view(is_own_window=True))
        for changed in (self.view.inverted_changed, self.slices.moved):
            changed.connect(lambda _: self._keep_view())

    @property
    def case_region(self) -> Region | None:
        """The part of the image that the case itself is about."""
        return self._case_region

    @property
    def place(self) -> int | None:
        """The slice shown; ``None`` for an image that is no volume."""
        return self.slices.place if len(self.slices) > 1 else None

    def show_viewed(
        self,
        viewed: ViewedImage,
        library: LibraryLocation | None,
        what: int | ImageAddress,
        region: Region | None,
    ) -> None:
        """An image just opened (``what``: a case's row or a file's address), with ``region`` drawn on it."""
        image, self.source = viewed.image, (library, what)
        self._follows_window = self._shows_slab = False
        self._is_showing = True
        self.histogram.show_image(image)
        self.view.show_image(image, region)
        self.histogram.show_window(self.view.window_level)
        self._fit_histogram()
        self._case_region, self._place_marks = viewed.region, NO_PLACE_MARKS
        stack = viewed.stack
        self.view.edges = None if stack is None else cut_planes(stack.directions)[0].edges
        if viewed.case is not None and not image.notes:
            attributes = [
                viewed.case.attributes[key] for key in _NOTED_ATTRIBUTES if viewed.case.attributes.get(key)
            ]
            self.view.set_notes(attributes[:2])
        self.view.show_marks(viewed.marks)
        self.view.scrolls = stack is not None and stack.slices > 1
        self.slices.begin(stack, library, what, image)
        if self._figures is not None:
            self.view.measure.show(self._figures.read(self.source, viewed.figures))
            self.view.measure.forget_changes()
        self._fit_bar()
        self._show_place(self.slices.place, image.slice_facts)
        self._restore_view(image)
        self._is_showing = False
        self.image_shown.emit()

    def show_place_marks(self, marks: PlaceMarks) -> None:
        """Draw ``marks`` over the image, of a volume over their slice alone. They go with the image."""
        self._place_marks = marks
        self.view.show_place_marks(marks.on_slice(self.place))

    def name_image(self, name: str) -> None:
        """Name the image that is shown, for screen readers."""
        image = self.view.image
        if image is not None:
            self.view.setAccessibleName(
                tr(
                    "Image of {name}, {width} by {height} pixels",
                    name=name,
                    width=image.width,
                    height=image.height,
                )
            )

    def _restore_view(self, image: DisplayImage) -> None:
        stored = None if self._last_views is None else self._last_views.get(self.source)
        self.is_restored = stored is not None
        if stored is None:
            return
        if stored.window is not None and not image.is_colour:
            self.view.set_window(window_on_values(image, *stored.window))
        if stored.inverted != self.view.inverted:
            self.view.invert()
        self.slices.go_to_slice(stored.place)

    def showEvent(self, event: QShowEvent) -> None:
        """Another pane may have been used for the image meanwhile."""
        super().showEvent(event)
        if self.view.image is not None:
            self._restore_view(self.view.image)

    def follow_window(self, window: Window) -> None:
        """Show ``window``, that of a linked image: it is not kept as this image's own."""
        self._follows_window = True
        before, self._is_showing = self._is_showing, True
        self.view.set_window(window)
        self._is_showing = before

    def _keep_view(self, *, is_own_window: bool = False) -> None:
        if self._last_views is None or self._is_showing or self.view.image is None:
            return
        self._follows_window = self._follows_window and not is_own_window
        ends = self.view.window_values
        if self._follows_window:
            stored = self._last_views.get(self.source)
            ends = None if stored is None else stored.window
        slabs = tuple(self.slabs.items())
        self._last_views.store(self.source, LastView(self.slices.place, ends, self.view.inverted, slabs))

    # Planes shown as one

    @property
    def slabs(self) -> dict[int, Slab]:
        """By axis the slabs in which the volume was shown last."""
        stored = None if self._last_views is None else self._last_views.get(self.source)
        return {} if stored is None else dict(stored.slabs)

    def keep_slabs(self, slabs: Mapping[int, Slab]) -> None:
        """Show the volume in these slabs the next time."""
        if self._last_views is not None:
            stored = self._last_views.get(self.source) or LastView(self.slices.place)
            self._last_views.store(self.source, replace(stored, slabs=tuple(slabs.items())))

    def show_slab(
        self, image: DisplayImage | None, text: str = "", middle: int = 0, slab: Slab | None = None
    ) -> None:
        """Show the ``slab`` of slices around ``middle`` in place of the slice, with what it is; ``None``: the slice
        again."""
        was_shown, self._shows_slab = self._shows_slab, image is not None
        self.view.slab_text = text
        if image is None and was_shown:
            image = self.slices.image
        if image is not None and self.view.image is not None:
            self.view.show_slice(image)
            where = (None, (0, middle), slab) if self._shows_slab else (self.place,)
            self.view.measure.go_to(*where)
            self.values.request()

    def show_nothing(self) -> None:
        self._is_showing = True
        self.slices.begin(None, None, 0, None)
        self._fit_bar()
        self._case_region, self._place_marks = None, NO_PLACE_MARKS
        self.view.scrolls = False
        self.view.slice_text = ""
        self._shows_slab = False
        self.view.show_image(None)
        self.histogram.show_image(None)
        self._is_showing = False
        self.image_shown.emit()

    def set_histogram_shown(self, shown: bool) -> None:
        """Whether grey images have their histogram below them."""
        self._has_histogram = shown
        self._fit_histogram()

    def _fit_histogram(self) -> None:
        image = self.view.image
        self.histogram.setVisible(self._has_histogram and not (image is not None and image.is_colour))

    def _fit_bar(self) -> None:
        self.bar.begin()
        self._grid.setHorizontalSpacing(0 if self.bar.isHidden() else 4)

    def on_shown_slice(self, region: Region | None) -> Region | None:
        """``region`` with the number of the slice shown."""
        if region is None or self.place is None or region.z is not None:
            return region
        return replace(region, z=self.place, depth=1)

    def go_to_slice_of(self, region: Region | None, *, always: bool = False) -> None:
        """Show the middle slice of ``region``, if it has slices and the image has no earlier view, or ``always``."""
        if region is not None and (always or not self.is_restored):
            self.go_to_slice(region.middle_slice)

    def go_to_slice(self, number: int | None) -> None:
        """Show a slice, counted from 0; ``None``: stay."""
        if number is not None:
            self.slices.go_to_slice(number)

    def measure(self, figures: Sequence[Figure]) -> None:
        """Other figures are measured, as on a plane across the slices."""
        if tuple(figures) != self.view.measure.figures:
            self.view.measure.show(figures)
            self.view.measure.changed.emit()

    def _store_figures(self) -> None:
        if self._figures is not None and self.view.image is not None:
            self._figures.set(self.source, self.view.measure.figures)

    def _show_figures(self, source: object) -> None:
        """Something else is measured on an image, here or in another pane."""
        if self._figures is not None and source == self.source and self.view.image is not None:
            self.view.measure.show(self._figures.of(self.source))
            self.values.request()
            self.view.update()

    def _show_slice(self, place: int, image: DisplayImage) -> None:
        if not self._shows_slab:
            self.view.show_slice(image)
        self.view.measure.set_calibrations(image.calibrations)
        self._show_place(place, image.slice_facts)
        self.slice_changed.emit(place)

    def _show_place(self, place: int, facts: SliceFacts | None = None) -> None:
        """``facts``: of the slice, once it is read."""
        shown = None if self._case_region is None else self._case_region.on_slice(place)
        self.view.case_region = self._case_region if self.place is None else shown
        self.view.show_place_marks(self._place_marks.on_slice(self.place))
        if not self._shows_slab:
            self.view.measure.go_to(self.place)
            self.values.request()
        text = slice_text(place, len(self.slices), facts or SliceFacts())
        self.view.slice_text = "" if self.place is None else text
        self.view.problem = ""
        self._update_on_other_slice()

    def _update_on_other_slice(self) -> None:
        drawn = self.view.region.region
        self.view.region.on_other_slice = drawn is not None and drawn.on_slice(self.slices.place) is None
        self.view.update()

    def _show_problem(self, place: int, problem: str) -> None:
        self._show_place(place)
        self.view.problem = problem
        self.view.update()
