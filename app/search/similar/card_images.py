"""What cards show besides the usual thumbnail: other slices of a volume, and the window and level of the query."""

from __future__ import annotations

from collections.abc import Mapping
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
from semblance.core.searches.similar_cases import MatchedPlace
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
        #: By catalogue row, where a search by place found its query, and the slices that were scrolled to since.
        self._places: Mapping[int, MatchedPlace] = {}
        self._scrolled_to: dict[int, int] = {}
        grid.slices_scrolled.connect(self.scroll)

    def show_places(self, places: Mapping[int, MatchedPlace]) -> None:
        """The cards show the slices of other matched places."""
        if places != self._places:
            self._places = places
            self._scrolled_to.clear()

    @property
    def visible_places(self) -> dict[int, MatchedPlace]:
        """The matched places that lie on the slices that the cards show."""
        return {
            row: place
            for row, place in self._places.items()
            if self._scrolled_to.get(row, place.number) == place.number
        }

    def scroll(self, case_row: int, steps: int) -> None:
        """Show the slice ``steps`` further on the card of a case, not beyond the ends."""
        state = self._context.state
        index, path = state.columns.index_of_row(case_row), state.location
        slices = int(state.columns.headers.images[index]) if index >= 0 else 1
        if path is None or slices < 2:
            return
        key = (path, case_row)
        before = state.last_views.get(key) or LastView(slices // 2)
        matched = self._places.get(case_row)
        if case_row not in self._scrolled_to and matched is not None and matched.number is not None:
            before = replace(before, place=matched.number)
        view = replace(before, place=min(max(before.place + steps, 0), slices - 1))
        state.last_views.store(key, view)
        self._scrolled_to[case_row] = view.place
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
                self._grid.set_places(self.visible_places)

        job.done.connect(show)


class RankingThumbnails(QObject):
    """``source_changed(source)``: the default thumbnails, or those made with the query's window and level or, of
    volumes, of the slices on which a search found the query."""

    source_changed = Signal(object)

    def __init__(self, context: Context, default: ThumbnailSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._default = context, context.state, default
        self._enabled = False
        self._slices: Mapping[int, int] = {}
        self._loader = ThumbnailLoader(self._fetch, self)
        self._loader.drag_images = default.drag_images
        self._delay = one_shot(self, self._refresh, SETTLED_MS)
        self._state.on_change(Change.WINDOW_LEVEL, self, self._schedule_refresh)
        self._state.on_change(Change.LIBRARY, self, self._loader.clear)

    def show_slices(self, slices: Mapping[int, int]) -> None:
        """Show these slices, from 0, of volumes by catalogue row."""
        if slices != self._slices:
            self._slices = slices
            self._refresh()

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
        is_own = bool(self._slices) or (self._enabled and self._state.window_level is not None)
        self.source_changed.emit(self._loader if is_own else self._default)

    def _fetch(self, rows: list[int], done: Done) -> None:
        path, window_level = self._state.location, self._state.window_level if self._enabled else None
        if path is None:
            done([])
            return
        try:
            job = self._context.jobs.run(
                tr("Thumbnails"),
                card_images.card_images,
                path,
                rows,
                _SIDE,
                window_level,
                {row: self._slices[row] for row in rows if row in self._slices},
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
