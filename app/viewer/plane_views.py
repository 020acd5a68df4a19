"""The two planes across a volume's slices, the cross that links all three, and the slabs in which they are shown."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QStackedWidget, QWidget

from semblance.app.shell.jobs import SHOW_AFTER_MS, Job, Jobs, WorkerPool
from semblance.app.viewer.figure_values import FigureValues
from semblance.app.viewer.image_display import LinkedCursor
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.window_level import same_values
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import WrappingRow, vbox
from semblance.core.errors import SemblanceError
from semblance.core.imaging.cut_planes import CutPlane, Voxel, cut_planes
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.slab import MODE_NAMES, Slab, SlabMode
from semblance.core.imaging.slice_grid import SliceGrid
from semblance.core.language import format_number, tr, translate
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
#: Of a slab that is switched on, and at most.
_THICKNESS_MM, _MOST_MM = 10.0, 999.0


class SlabControls(QWidget):
    """How the view that was used last shows neighbouring planes as one. ``changed(slab)``: a :class:`Slab`, or ``None``
    for single planes."""

    changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._name = ElidedLabel(role="second")
        self.mode = QComboBox()
        self.mode.setAccessibleName(tr("Slab"))
        self.mode.setToolTip(
            tr("Show neighbouring planes as one: brightest (MIP), darkest (MinIP) or average")
        )
        self.mode.addItem(tr("Single plane"), None)
        for mode, name in MODE_NAMES.items():
            self.mode.addItem(translate(name), mode)
        self.thickness = QDoubleSpinBox()
        self.thickness.setRange(0.1, _MOST_MM)
        self.thickness.setDecimals(1)
        self.thickness.setValue(_THICKNESS_MM)
        self.thickness.setKeyboardTracking(False)
        self.thickness.setAccessibleName(tr("Thickness of the slab"))
        self.thickness.setToolTip(tr("Thickness of the slab (Shift and the wheel on the image)"))
        row = WrappingRow(self._name, self.mode, self.thickness)
        row.setContentsMargins(0, 0, 0, 4)
        self.setLayout(row)
        self.mode.currentIndexChanged.connect(lambda _: self.changed.emit(self.slab))
        self.thickness.valueChanged.connect(lambda _: self.changed.emit(self.slab))

    @property
    def slab(self) -> Slab | None:
        mode = self.mode.currentData()
        return None if mode is None else Slab(SlabMode(mode), self.thickness.value())

    def show_slab(self, name: str, slab: Slab | None, step_mm: float | None) -> None:
        """Show the ``slab`` of the view ``name``, whose planes are ``step_mm`` from each other."""
        with QSignalBlocker(self.mode), QSignalBlocker(self.thickness):
            self._name.setText(tr("Slab, {plane}", plane=name))
            self.mode.setCurrentIndex(self.mode.findData(None if slab is None else slab.mode))
            if step_mm is not None:
                self.thickness.setSingleStep(round(step_mm, 1) or 0.1)
            self.thickness.setSuffix(f" {tr('planes')}" if step_mm is None else " mm")
            if slab is not None:
                self.thickness.setValue(slab.thickness_mm)
            self.thickness.setEnabled(slab is not None)


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
        self.slab_controls = SlabControls()
        both = QWidget()
        column = vbox(both, spacing=1)
        column.addWidget(self.slab_controls)
        for axis, view in self.views.items():
            view.editable = False
            view.setAccessibleName(tr("Plane across the slices"))
            column.addWidget(view, 1)
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
        #: The plane that each view shows, and its slab.
        self._shown: dict[int, tuple[int, Slab | None]] = {}
        self._slabs: dict[int, Slab] = {}
        #: The axis of the view that was used last.
        self._used_axis = 0
        self._job: Job | None = None
        self._is_copying = False
        for axis, view in self._all_views().items():
            view.located.connect(partial(self._locate, axis))
            view.pointed_at.connect(partial(self._show_linked_cursors, axis))
            view.slab_scrolled.connect(partial(self._change_thickness, axis))
            view.installEventFilter(self)
        self.slab_controls.changed.connect(lambda slab: self.set_slab(self._used_axis, slab))
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
            self._slabs = self._pane.slabs
            self._used_axis = 0
        self.set_shown(self.on)

    def set_shown(self, on: bool) -> None:
        """Show or hide the planes."""
        self.on = on
        is_shown = on and self._facts is not None
        self.setVisible(is_shown)
        self._pane.view.show_cross(self._point(0) if is_shown else None)
        self._pane.view.has_slabs = is_shown
        if is_shown:
            self._show_reading()
            self._show_slab_controls()
            self._request_planes()
        else:
            self._cancel_job()
            self._shown.clear()
            self._pane.show_slab(None)
            for view in self._all_views().values():
                view.show_linked_cursor(None)

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
        if self._is_straight(axis):
            return self._planes[axis].point(self._straight, self._straight_shape)
        return self._planes[axis].point(self.voxel, self._shape)

    def _is_straight(self, axis: int) -> bool:
        """Whether a view shows the volume on the grid, not a slice as it is stored."""
        return axis != 0 or 0 in self._slabs

    def _locate(self, axis: int, x: float, y: float) -> None:
        if not self.on or self._facts is None:
            return
        if self._is_straight(axis):
            self._move_on_grid(self._voxel_at(axis, x, y))
        else:
            self._move_cross(self._planes[0].voxel(x, y, self.voxel[0], self._shape))

    def _voxel_at(self, axis: int, x: float, y: float) -> Voxel:
        """The place on the grid at a point of a view."""
        if self._is_straight(axis):
            return self._planes[axis].voxel(x, y, self._straight[axis], self._straight_shape)
        voxel = self._planes[axis].voxel(x, y, self.voxel[axis], self._shape)
        return voxel if self._grid is None else self._grid.straight(voxel, self._shape)

    def _show_linked_cursors(self, axis: int, at: tuple[int, int] | None) -> None:
        """Show in the other views the position that the mouse points at in one."""
        if not self.on or self._facts is None:
            return
        voxel = None if at is None else self._voxel_at(axis, at[0] + 0.5, at[1] + 0.5)
        for other, view in self._all_views().items():
            view.show_linked_cursor(
                None
                if voxel is None or other == axis or view.image is None
                else self._cursor_on(other, voxel)
            )

    def _cursor_on(self, axis: int, voxel: Voxel) -> LinkedCursor:
        """``voxel`` of the grid as the view across ``axis`` shows it, with how far it lies from the plane there."""
        away = abs(voxel[axis] - self._straight[axis])
        if not self._is_straight(axis) and self._grid is not None:
            voxel = self._grid.original(voxel, self._shape)
        shape = self._straight_shape if self._is_straight(axis) else self._shape
        x, y = self._planes[axis].point(voxel, shape)
        step = self._step_mm(axis)
        planes = 1 if axis not in self._slabs else self._slabs[axis].planes(step)
        if away <= planes // 2:
            return LinkedCursor(x, y)
        distance = (
            tr("{n} planes away", n=away)
            if step is None
            else tr("{mm} mm away", mm=format_number(away * step, ".3g"))
        )
        return LinkedCursor(x, y, distance, is_here=False)

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

    # Slabs

    def _step_mm(self, axis: int) -> float | None:
        """mm from plane to plane across ``axis``."""
        spacing = None if self._facts is None else self._facts.spacing_mm
        if spacing is None:
            return None
        return self._grid.distance_mm if axis == 0 and self._grid is not None else spacing[axis]

    def set_slab(self, axis: int, slab: Slab | None) -> None:
        """Show the planes across ``axis`` as one ``slab``, or a single one."""
        if not self.on or self._facts is None or slab == self._slabs.get(axis):
            return
        if slab is not None:
            self._slabs[axis] = slab
        else:
            del self._slabs[axis]
            if axis == 0:
                self._pane.show_slab(None)
                self._shown.pop(0, None)
        self._pane.keep_slabs(self._slabs)
        self._used_axis = axis
        self._show_slab_controls()
        self._show_cross()
        self._request_planes()

    def _change_thickness(self, axis: int, steps: int) -> None:
        """So many planes more in the slab, or less; with one it is a single plane."""
        step, slab = self._step_mm(axis) or 1.0, self._slabs.get(axis)
        planes = min((1 if slab is None else slab.planes(step)) + steps, self._straight_shape[axis])
        mode = SlabMode.MAXIMUM if slab is None else slab.mode
        self.set_slab(axis, None if planes < 2 else Slab(mode, planes * step))

    def _show_slab_controls(self) -> None:
        axis = self._used_axis
        name = _NAMES[self._planes[axis].name]
        self.slab_controls.show_slab(name, self._slabs.get(axis), self._step_mm(axis))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The controls are those of the view that was used last."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.MouseButtonPress):
            self._used_axis = next(
                (axis for axis, view in self._all_views().items() if view is watched), self._used_axis
            )
            if self._facts is not None:
                self._show_slab_controls()
        return super().eventFilter(watched, event)

    # The planes

    def _request_planes(self) -> None:
        """Request the planes at the cross, one job at a time. The next job uses the last position."""
        at = self._straight
        axes = (*_OTHER_AXES, 0) if 0 in self._slabs else _OTHER_AXES
        missing = [
            (axis, at[axis]) for axis in axes if self._shown.get(axis) != (at[axis], self._slabs.get(axis))
        ]
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
                dict(self._slabs),
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
        if viewed.axis == 0:
            if 0 in self._slabs:
                self._shown[0], self._grid = (viewed.place, viewed.slab), viewed.grid
                self._pane.show_slab(
                    viewed.image, _slab_text(viewed, self._step_mm(0)), viewed.place, viewed.slab
                )
                self._show_cross()
            return
        view, main = self.views[viewed.axis], self._pane.view
        is_first = viewed.axis not in self._shown
        self._shown[viewed.axis], self._grid = (viewed.place, viewed.slab), viewed.grid
        plane = self._planes[viewed.axis]
        self._is_copying = True
        if is_first:
            view.show_image(viewed.image)
            view.inverted = main.inverted
            view.edges, view.scrolls, view.has_slabs = plane.edges, True, True
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
        view.slab_text = _slab_text(viewed, self._step_mm(viewed.axis))
        view.show_cross(self._point(viewed.axis))
        view.measure.go_to(None, (viewed.axis, viewed.place), viewed.slab)
        self._show_figures()
        if all(axis in self._shown for axis in _OTHER_AXES):
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


def _slab_text(viewed: ViewedPlane, step_mm: float | None) -> str:
    """Such as ``MIP 10 mm``, with the thickness that is shown; empty for a single plane."""
    if viewed.slab is None:
        return ""
    mode, thickness = (
        translate(MODE_NAMES[viewed.slab.mode]),
        format_number(round(viewed.thickness, 1), ".4g"),
    )
    if step_mm is None:
        return tr("{mode} {n} planes", mode=mode, n=thickness)
    return tr("{mode} {mm} mm", mode=mode, mm=thickness)
