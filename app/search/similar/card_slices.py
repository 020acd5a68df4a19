"""Slices of volumes on cards: Shift and the wheel scroll through them."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QToolTip

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.app.shell.kept_views import KeptView
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.core.language import tr
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage

#: Longest side of the slices in pixels, enough for the largest cards.
_SIDE = 320


class CardSlices(QObject):
    """Shows other slices on the cards of ``grid``. Each stays when its case is opened."""

    def __init__(self, context: Context, grid: CaseGrid) -> None:
        super().__init__(grid)
        self._context, self._grid = context, grid
        grid.slices_scrolled.connect(self.scroll)

    def scroll(self, case_row: int, steps: int) -> None:
        """Show the slice ``steps`` further on the card of a case, not beyond the ends."""
        state = self._context.state
        index, path = state.columns.index_of_row(case_row), state.path
        slices = int(state.columns.headers.images[index]) if index >= 0 else 1
        if path is None or slices < 2:
            return
        key = (path, case_row)
        before = state.kept_views.get(key) or KeptView(slices // 2)
        view = replace(before, place=min(max(before.place + steps, 0), slices - 1))
        state.kept_views.keep(key, view)
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
            lane=Lane.SLICE,
            channel="card slice",
            quiet=True,
        )

        def show(image: CardImage) -> None:
            source = self._grid.source
            if state.path == path and image.pixels is not None and source is not None:
                source.replace(case_row, image.pixels)

        job.done.connect(show)
