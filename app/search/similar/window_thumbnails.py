"""Ranked cases in the greys of the query: thumbnails made anew, in the background."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.jobs import Lane
from semblance.app.widgets.thumbnail_loader import Done, Thumbnails, ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.workflows.imaging import looking
from semblance.core.workflows.imaging.looking import CardImage

#: Greys that still change are waited for.
SETTLED_MS = 250
_SIDE = 160


class QueryGreys(QObject):
    """``source_changed(source)``: the ``usual`` thumbnails, or those made with the query's greys."""

    source_changed = Signal(object)

    def __init__(self, context: Context, usual: ThumbnailSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._usual = context, context.state, usual
        self._on = False
        self._made = Thumbnails(self._fetch, self)
        self._settled = one_shot(self, self._renew, SETTLED_MS)
        self._state.greys_changed.connect(self._later)
        self._state.library_changed.connect(self._made.clear)

    def turn(self, on: bool) -> None:
        """Use the query's greys, or the thumbnails as they are."""
        self._on = on
        self._settled.stop()
        self._renew()

    def _later(self) -> None:
        if self._on:
            self._settled.start()

    def _renew(self) -> None:
        self._made.clear()
        seen = self._on and self._state.greys is not None
        self.source_changed.emit(self._made if seen else self._usual)

    def _fetch(self, rows: list[int], done: Done) -> None:
        path, greys = self._state.path, self._state.greys
        if path is None or greys is None:
            done([])
            return
        try:
            job = self._context.jobs.run(
                tr("Thumbnails in the query's greys"),
                looking.card_images,
                path,
                rows,
                _SIDE,
                greys,
                lane=Lane.LOOK,
                quiet=True,
            )
        except SemblanceError as error:
            self._context.messages.error(error)
            done([])
            return

        def show(images: list[CardImage]) -> None:
            done(images)

        job.done.connect(show)
        job.failed.connect(lambda _error: done([]))
        job.cancelled.connect(lambda: done([]))
