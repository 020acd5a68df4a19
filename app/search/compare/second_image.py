"""The buttons of Compare that show the query where the case is: in turn with it, or as their difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QObject, QTimer

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.viewer.image_display import SecondImage
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.panel import header_button
from semblance.core.errors import SemblanceError
from semblance.core.imaging import in_plane_shift
from semblance.core.imaging.image import window_greys
from semblance.core.imaging.in_plane_shift import InPlaneShift, ShownGreys
from semblance.core.language import format_number, tr

#: How long each image is shown while they alternate.
BLINK_MS = 600
#: The images are registered once scrolling and windowing pause for so long.
PAUSE_MS = 150
#: Points along the longer side of an image that is registered.
_POINTS = 512


class SecondImageButtons(QObject):
    """The buttons ``blink`` and ``difference``, of which one is on at most.

    While one is on, the query is moved so that it fits on the case: in mm where both have distances. The label of the
    difference says how well they fit, because what does not fit looks like a change.
    """

    def __init__(self, context: Context, panes: tuple[ImagePane, ImagePane], parent: QObject) -> None:
        super().__init__(parent)
        self._context, self._panes = context, panes
        self._query, self._case = (pane.view for pane in panes)
        self._job: Job | None = None
        self._shift: InPlaneShift | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(BLINK_MS)
        self._timer.timeout.connect(self._exchange)
        self._pause = one_shot(self, self._register, PAUSE_MS)
        self.blink = header_button("eye", tr("Blink: show the query and the case in turn, in one place (O)"))
        self.difference = header_button("contrast", tr("Difference of the displayed grey levels (X)"))
        for button in (self.blink, self.difference):
            button.setCheckable(True)
        self.blink.toggled.connect(self._set_blinking)
        self.difference.toggled.connect(self._set_difference)
        for pane in panes:
            pane.slice_changed.connect(lambda _: self.images_changed())
            pane.view.window_changed.connect(lambda _: self.images_changed())

    def images_changed(self) -> None:
        """Other images are shown: what was found for those before does not count."""
        self._shift = None
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()
        if self.blink.isChecked() or self.difference.isChecked():
            self._pause.start()
            self._update()

    def _set_blinking(self, on: bool) -> None:
        if on:
            self.difference.setChecked(False)
            self._timer.start()
            self._exchange()
            self._pause.start()
        else:
            self._timer.stop()
            self._case.show_second(None)

    def _exchange(self) -> None:
        """Show the other of both images where the case is."""
        second = SecondImage(self._query, tr("Query"), shift=self._usable_shift())
        self._case.show_second(second if self._case.second is None else None)

    def _set_difference(self, on: bool) -> None:
        if on:
            self.blink.setChecked(False)
            self._pause.start()
            self._case.show_second(SecondImage(self._query, self._label(), True, self._usable_shift()))
        else:
            self._case.show_second(None)

    def _update(self) -> None:
        """Show the second image, if there is one now, with what is known of the shift."""
        second = self._case.second
        if second is not None:
            label = self._label() if second.is_difference else second.label
            self._case.show_second(replace(second, label=label, shift=self._usable_shift()))

    def _usable_shift(self) -> InPlaneShift | None:
        return self._shift if self._shift is not None and self._shift.is_registered else None

    def _label(self) -> str:
        found = self._shift
        if found is None:
            return tr("Difference")
        match = format_number(found.match, ".2f")
        if not found.is_registered:
            return tr("Difference: the images do not fit ({match}), most of it is no change", match=match)
        if not found.is_mm:
            return tr("Difference, registered: fit {match}", match=match)
        moved = format_number(float(np.hypot(found.right, found.down)), ".1f")
        return tr("Difference, query moved by {mm} mm: fit {match}", mm=moved, match=match)

    def _register(self) -> None:
        """Find the shift of the images that are shown."""
        if not (self.blink.isChecked() or self.difference.isChecked()):
            return
        shown = [_shown_greys(view) for view in (self._case, self._query)]
        if any(one is None for one in shown):
            return
        try:
            job = self._context.jobs.run(
                tr("Registering the images"),
                in_plane_shift.in_plane_shift,
                *shown,
                pool=WorkerPool.DRAW,
                channel="difference",
                quiet=True,
            )
        except SemblanceError:
            # The difference stays without a shift.
            return
        self._job = job
        job.done.connect(lambda found: self._receive(job, found))

    def _receive(self, job: Job, found: InPlaneShift) -> None:
        if job is self._job:
            self._job, self._shift = None, found
            self._update()


def _shown_greys(view: ImageView) -> ShownGreys | None:
    """The greys of an image as displayed, with few pixels; ``None`` without a grey image."""
    image, window = view.image, view.window_level
    if image is None or image.is_colour or window is None:
        return None
    fitting = [number for number, pixels in enumerate(image.levels) if max(pixels.shape) >= _POINTS]
    pixels = image.levels[fitting[-1] if fitting else 0]
    step = max(1, max(pixels.shape) // _POINTS)
    greys = window_greys(pixels[::step, ::step], window.low, window.high)
    spacing = None
    if image.spacing_mm is not None:
        height, width = greys.shape
        spacing = (image.spacing_mm[0] * image.height / height, image.spacing_mm[1] * image.width / width)
    return ShownGreys(1.0 - greys if view.inverted else greys, spacing)
