"""The two planes across a volume's slices, and the cross that links all three."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from semblance.app.shell.jobs import SHOW_AFTER_MS, Job, Jobs, WorkerPool
from semblance.app.viewer.figure_values import FigureValues
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.window_level import same_values
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import vbox
from semblance.core.errors import SemblanceError
from semblance.core.imaging.cut_planes import CutPlane, Voxel, cut_planes
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.slice_grid import SliceGrid
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import view_planes
from semblance.core.workflows.imaging.view_images import StackFacts
from semblance.core.workflows.imaging.view_planes import ViewedPlane

_OTHER_AXES = (1, 2)
_NAMES = {
    "Axial": tr("Axial"),
    "Coronal": tr("Coronal"),
    "Sagittal": tr("Sagittal"),
    "Slice": tr("Slice"),
    "Row": tr("Row"),
    "Column": tr("Column"),
}


class PlaneViews(QStackedWidget):
    """Two views of the volume in ``pane``. ``moved(voxel)``: the cross was moved."""

    moved = Signal(object)

    def __init__(self, jobs: Jobs, pane: ImagePane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs, self._pane = jobs, pane
        self.views = {axis: ImageView() for axis in _OTHER_AXES}
        for view in self.views.values():
            view.settings = pane.view.settings
        self.notice = EmptyState()
        both = QWidget()
        column = vbox(both, spacing=1)
        for axis, view in self.views.items():
            view.editable = False
            view.setAccessibleName(tr("Plane across the slices"))
            column.addWidget(view, 1)
            view.located.connect(lambda x, y, axis=axis: self._locate(axis, x, y))
            view.scrolled.connect(lambda steps, axis=axis: self._step(axis, steps))
            view.window_changed.connect(lambda _, axis=axis: self._copy_window(axis))
            view.inverted_changed.connect(lambda on, axis=axis: self._copy_inverted(axis, on))
            view.measure.changed.connect(lambda view=view: self._store_figures(view))
        self.addWidget(self.notice)
        self.addWidget(both)
        self._values = {
            axis: FigureValues(jobs, view, lambda: self.source) for axis, view in self.views.items()
        }
        pane.view.measure.changed.connect(self._show_figures)
        self.on = False
        self.voxel: Voxel = (0, 0, 0)
        self._used = False
        self._facts: StackFacts | None = None
        self._shape = (0, 0, 0)
        #: Of a volume whose slices lie unevenly or sideways; the planes across the slices are on it.
        self._grid: SliceGrid | None = None
        self._planes: tuple[CutPlane, CutPlane, CutPlane] = cut_planes(None)
        self._shown: dict[int, int] = {}
        self._job: Job | None = None
        self._is_copying = False
        pane.view.located.connect(lambda x, y: self._locate(0, x, y))
        pane.view.window_changed.connect(lambda _: self._copy_window(0))
        pane.view.inverted_changed.connect(lambda on: self._copy_inverted(0, on))
        pane.slices.moved.connect(lambda place: self._move_cross((place, *self.voxel[1:])))
        self.hide()

    @property
    def source(self) -> tuple[LibraryLocation | None, int | ImageAddress]:
        return self._pane.source

    def begin(self, facts: StackFacts | None) -> None:
        """Set the volume after another image was opened in the pane."""
        self._cancel_job()
        image = self._pane.view.image
        self._facts = facts if facts is not None and facts.slices > 1 and image is not None else None
        self._shown.clear()
        if self._facts is not None and image is not None:
            self._shape = (self._facts.slices, image.height, image.width)
            self._planes, self._grid = cut_planes(self._facts.directions), None
            self.voxel = (self._pane.slices.place, image.height // 2, image.width // 2)
        self.set_shown(self.on)

    def set_shown(self, on: bool) -> None:
        """Show or hide the planes."""
        self.on = on
        is_shown = on and self._facts is not None
        self.setVisible(is_shown)
        self._pane.view.show_cross(self._point(0) if is_shown else None)
        if is_shown:
            self._show_reading()
            self._request_planes()
        else:
            self._cancel_job()
            self._shown.clear()

    def end(self) -> None:
        """Release the memory of the volume."""
        self._cancel_job()
        self._facts = None
        self._shown.clear()
        for view in self.views.values():
            view.show_image(None)
        if self._used:
            self._used = False
            self._jobs.run("", view_planes.forget_volume, pool=WorkerPool.SLICE, quiet=True)

    # The cross

    @property
    def _straight(self) -> Voxel:
        """The cross on the grid."""
        return self.voxel if self._grid is None else self._grid.straight(self.voxel, self._shape)

    @property
    def _straight_shape(self) -> tuple[int, int, int]:
        depth = self._shape[0] if self._grid is None else len(self._grid.slices)
        return (depth, *self._shape[1:])

    def _move_on_grid(self, place: Voxel) -> None:
        self._move_cross(place if self._grid is None else self._grid.original(place, self._shape))

    def _point(self, axis: int) -> tuple[float, float]:
        plane = self._planes[axis]
        return (
            plane.point(self._straight, self._straight_shape)
            if axis
            else plane.point(self.voxel, self._shape)
        )

    def _locate(self, axis: int, x: float, y: float) -> None:
        if not self.on or self._facts is None:
            return
        if axis == 0:
            self._move_cross(self._planes[0].voxel(x, y, self.voxel[0], self._shape))
        else:
            self._move_on_grid(self._planes[axis].voxel(x, y, self._straight[axis], self._straight_shape))

    def _step(self, axis: int, steps: int) -> None:
        moved = list(self._straight)
        way = -1 if self._planes[axis].counts_from_last else 1
        moved[axis] = min(max(moved[axis] + way * steps, 0), self._shape[axis] - 1)
        self._move_on_grid((moved[0], moved[1], moved[2]))

    def _move_cross(self, voxel: Voxel) -> None:
        before, self.voxel = self.voxel, voxel
        if not self.on or self._facts is None or voxel == before:
            return
        self._pane.slices.go_to_slice(voxel[0])
        self._show_cross()
        self._request_planes()
        self.moved.emit(voxel)

    def _show_cross(self) -> None:
        self._pane.view.show_cross(self._point(0))
        for axis, view in self.views.items():
            if view.image is not None:
                view.show_cross(self._point(axis))

    # The planes

    def _request_planes(self) -> None:
        """Request the planes at the cross, one job at a time. The next job uses the last position."""
        at = self._straight
        missing = [(axis, at[axis]) for axis in _OTHER_AXES if self._shown.get(axis) != at[axis]]
        image = self._pane.view.image
        if self._job is not None or not missing or self._facts is None or image is None:
            return
        library, image_address = self.source
        try:
            job = self._jobs.run(
                tr("Reading the volume"),
                view_planes.view_planes,
                library,
                image_address,
                missing,
                image.without_pixels(),
                pool=WorkerPool.SLICE,
                quiet=True,
            )
        except SemblanceError as error:
            self._fail(error)
            return
        self._job, self._used = job, True
        job.changed.connect(lambda: self._show_progress(job))
        job.partial.connect(self._show_plane)
        job.done.connect(lambda _: self._request_next())
        job.failed.connect(self._fail)

    def _show_plane(self, viewed: ViewedPlane) -> None:
        view, main = self.views[viewed.axis], self._pane.view
        is_first = viewed.axis not in self._shown
        self._shown[viewed.axis], self._grid = viewed.place, viewed.grid
        plane = self._planes[viewed.axis]
        self._is_copying = True
        if is_first:
            view.show_image(viewed.image)
            view.inverted = main.inverted
            view.edges, view.scrolls = plane.edges, True
            notes = [tr("spacing not known")] if viewed.image.spacing_mm is None else []
            if viewed.grid is not None:
                notes.append(tr("tilt corrected") if viewed.grid.is_tilted else tr("uneven slices"))
            view.set_notes(notes)
        else:
            view.show_slice(viewed.image)
        if main.window_level is not None and main.image is not None:
            view.set_window(same_values(main.window_level, main.image, viewed.image))
        self._is_copying = False
        n = self._shape[viewed.axis]
        view.slice_text = tr(
            "{plane} {place} of {n}",
            plane=_NAMES[plane.name],
            place=n - viewed.place if plane.counts_from_last else viewed.place + 1,
            n=n,
        )
        view.show_cross(self._point(viewed.axis))
        view.measure.go_to(None, (viewed.axis, viewed.place))
        self._show_figures()
        if len(self._shown) == len(_OTHER_AXES):
            self.setCurrentIndex(1)

    # What is measured

    def _store_figures(self, view: ImageView) -> None:
        """The planes measure for the pane, which stores it."""
        self._pane.measure(view.measure.figures)

    def _show_figures(self) -> None:
        for axis, view in self.views.items():
            if axis in self._shown:
                view.measure.show(self._pane.view.measure.figures)
                self._values[axis].request()
                view.update()

    def _request_next(self) -> None:
        self._job = None
        self._request_planes()

    def _fail(self, error: SemblanceError) -> None:
        self._job = None
        self._shown.clear()
        self.notice.set_icon("warning")
        self.notice.show_error(error, tr("No planes"))
        self.setCurrentIndex(0)

    def _show_reading(self) -> None:
        if not self._shown:
            self.notice.set_icon("hourglass")
            self.notice.show_message("", tr("Reading the volume…"))
            self.setCurrentIndex(0)

    def _show_progress(self, job: Job) -> None:
        if job is self._job and job.fraction is not None and job.age_ms > SHOW_AFTER_MS and not self._shown:
            self.notice.show_message(
                "", tr("Reading the volume… {share} %", share=f"{100 * job.fraction:.0f}")
            )

    def _cancel_job(self) -> None:
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()

    # Window and inversion

    def _all_views(self) -> dict[int, ImageView]:
        return {0: self._pane.view, **self.views}

    def _copy_window(self, axis: int) -> None:
        one = self._all_views()[axis]
        if self._is_copying or not self.on or one.window_level is None or one.image is None:
            return
        self._is_copying = True
        for other in self._all_views().values():
            if other is not one and other.image is not None:
                other.set_window(same_values(one.window_level, one.image, other.image))
        self._is_copying = False

    def _copy_inverted(self, axis: int, on: bool) -> None:
        for view in self._all_views().values():
            if self.on and view.image is not None and view.inverted != on:
                view.invert()
