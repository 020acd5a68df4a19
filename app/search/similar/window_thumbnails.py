"""Similar cases with the window and level of the query's image: thumbnails made anew, in the background."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.jobs import Lane
from semblance.app.shell.state import Change
from semblance.app.widgets.thumbnail_loader import Done, ThumbnailLoader, ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage

#: The window must stay unchanged this long before thumbnails are made with it.
SETTLED_MS = 250
_SIDE = 160


class QueryWindowLevel(QObject):
    """``source_changed(source)``: the ``usual`` thumbnails, or those made with the query's window and level."""

    source_changed = Signal(object)

    def __init__(self, context: Context, usual: ThumbnailSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._usual = context, context.state, usual
        self._on = False
        self._made = ThumbnailLoader(self._fetch, self)
        self._settled = one_shot(self, self._renew, SETTLED_MS)
        self._state.on_change(Change.WINDOW_LEVEL, self, self._later)
        self._state.on_change(Change.LIBRARY, self, self._made.clear)

    def turn(self, on: bool) -> None:
        """Use the query's window and level, or the thumbnails as they are."""
        self._on = on
        self._settled.stop()
        self._renew()

    def _later(self) -> None:
        if self._on:
            self._settled.start()

    def _renew(self) -> None:
        self._made.clear()
        seen = self._on and self._state.window_level is not None
        self.source_changed.emit(self._made if seen else self._usual)

    def _fetch(self, rows: list[int], done: Done) -> None:
        path, window_level = self._state.path, self._state.window_level
        if path is None or window_level is None:
            done([])
            return
        try:
            job = self._context.jobs.run(
                tr("Thumbnails with the query's window/level"),
                card_images.card_images,
                path,
                rows,
                _SIDE,
                window_level,
                lane=Lane.READ,
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
