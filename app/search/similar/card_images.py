"""What cards show besides the usual thumbnail: other slices of a volume, and the window and level of the query."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QToolTip

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.last_views import LastView
from semblance.app.shell.state import Change
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.thumbnail_loader import Done, ThumbnailLoader, ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage

#: Longest side of the slices in pixels, enough for the largest cards.
_SIDE = 320

#: The window must stay unchanged this long before thumbnails are made with it.
SETTLED_MS = 250


class CardSlices(QObject):
    """Shows other slices on the cards of ``grid``. Each stays when its case is opened."""

    def __init__(self, context: Context, grid: CaseGrid) -> None:
        super().__init__(grid)
        self._context, self._grid = context, grid
        grid.slices_scrolled.connect(self.scroll)

    def scroll(self, case_row: int, steps: int) -> None:
        """Show the slice ``steps`` further on the card of a case, not beyond the ends."""
        state = self._context.state
        index, path = state.columns.index_of_row(case_row), state.location
        slices = int(state.columns.headers.images[index]) if index >= 0 else 1
        if path is None or slices < 2:
            return
        key = (path, case_row)
        before = state.last_views.get(key) or LastView(slices // 2)
        view = replace(before, place=min(max(before.place + steps, 0), slices - 1))
        state.last_views.store(key, view)
        text = tr("Slice {place} of {n}", place=view.place + 1, n=slices)
        QToolTip.showText(QCursor.pos(), text, self._grid)
        job = self._context.jobs.run(
            tr("Reading slices"),
            card_images.card_slice,
            path,
            case_row,
            view.place,
            _SIDE,
            view.window,
            pool=WorkerPool.SLICE,
            channel="card slice",
            quiet=True,
        )

        def show(image: CardImage) -> None:
            source = self._grid.source
            if state.location == path and image.pixels is not None and source is not None:
                source.replace(case_row, image.pixels)

        job.done.connect(show)


class QueryWindowLevel(QObject):
    """``source_changed(source)``: the ``usual`` thumbnails, or those made with the query's window and level."""

    source_changed = Signal(object)

    def __init__(self, context: Context, default: ThumbnailSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._default = context, context.state, default
        self._enabled = False
        self._loader = ThumbnailLoader(self._fetch, self)
        self._loader.drag_images = default.drag_images
        self._delay = one_shot(self, self._refresh, SETTLED_MS)
        self._state.on_change(Change.WINDOW_LEVEL, self, self._schedule_refresh)
        self._state.on_change(Change.LIBRARY, self, self._loader.clear)

    def set_enabled(self, enabled: bool) -> None:
        """Use the query's window and level, or the default thumbnails."""
        self._enabled = enabled
        self._delay.stop()
        self._refresh()

    def _schedule_refresh(self) -> None:
        if self._enabled:
            self._delay.start()

    def _refresh(self) -> None:
        self._loader.clear()
        use_query = self._enabled and self._state.window_level is not None
        self.source_changed.emit(self._loader if use_query else self._default)

    def _fetch(self, rows: list[int], done: Done) -> None:
        path, window_level = self._state.location, self._state.window_level
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
                pool=WorkerPool.READ,
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
