"""The values of what is measured on a view, read from the file in the background while it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from semblance.app.viewer.image_display import ImageDisplay
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.measurements import Figure, Measured
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import measure_figures


class FigureValues(QObject):
    """Requests what ``view`` lacks of the image at ``source()``, one job at a time: of a figure that is being drawn
    the steps between are left out."""

    def __init__(
        self,
        jobs: Jobs,
        view: ImageDisplay,
        source: Callable[[], tuple[LibraryLocation | None, int | ImageAddress]],
    ) -> None:
        super().__init__(view)
        self._jobs, self._view, self._source = jobs, view, source
        self._job: Job | None = None
        for changed in (view.measure.moved, view.measure.changed):
            changed.connect(self.request)

    def request(self) -> None:
        """Request the values of the figures shown that are not known yet."""
        if self._job is not None or self._view.image is None:
            return
        missing = self._view.measure.without_values()
        if not missing:
            return
        try:
            job = self._jobs.run(
                tr("Measuring"),
                measure_figures.measure_figures,
                *self._source(),
                missing,
                pool=WorkerPool.SLICE,
                quiet=True,
            )
        except SemblanceError:
            # The image says why it cannot be read.
            return
        self._job = job

        def show(found: Sequence[Measured]) -> None:
            if self._view.image is not None and self._view.measure.image_id == image_id:
                self._view.measure.set_values(dict(zip(missing, found, strict=True)))

        image_id = self._view.measure.image_id
        job.done.connect(show)
        job.failed.connect(lambda _error: self._view.measure.set_values(_unknown(missing)))
        job.ended.connect(self._end)

    def _end(self) -> None:
        self._job = None
        self.request()


def _unknown(figures: Sequence[Figure]) -> dict[Figure, Measured]:
    return {one: Measured() for one in figures}
