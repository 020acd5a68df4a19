"""How a search is seen: taken down, and brought back to the pixel once its image is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QTimer

from semblance.app.search.query.panel import QueryPanel
from semblance.app.search.saved.saved_searches import SearchAutosave
from semblance.app.search.similar.panel import RankingPanel
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.viewer.viewport import Orientation
from semblance.app.viewer.window_level import Window


class SearchView(QObject):
    """Of one window: the query's image (zoom, place, greys, held how, slice) and the ranking (case, list or
    cards, scrolled how far)."""

    def __init__(self, context: Context, query: QueryPanel, ranking: RankingPanel, parent: QObject) -> None:
        super().__init__(parent)
        self._state, self._query, self._ranking = context.state, query, ranking
        self._wanted: Mapping[str, Any] = {}
        self.autosave = SearchAutosave(context, self.capture, self)
        view, grid = query.view, ranking.grid
        self._state.view_requested.connect(self.restore)
        self._state.on_change(Change.QUERY, self, self._forget)
        query.image_shown.connect(self._restore_image)
        view.view_changed.connect(self.autosave.touch)
        view.window_changed.connect(lambda _: self.autosave.touch())
        view.inverted_changed.connect(lambda _: self.autosave.touch())
        query.pane.slice_changed.connect(lambda _: self.autosave.touch())
        grid.current_changed.connect(lambda _: self.autosave.touch())
        grid.verticalScrollBar().valueChanged.connect(lambda _: self.autosave.touch())

    def capture(self) -> dict[str, Any]:
        """As plain values."""
        if self._wanted:
            # The image is still on its way: what was wanted holds.
            return dict(self._wanted)
        query, ranking = self._query, self._ranking
        grid = ranking.grid
        out: dict[str, Any] = {"scroll": grid.verticalScrollBar().value(), "cards": ranking.view.value()}
        index = self._state.columns.index_of_row(grid.current())
        if index >= 0:
            out["current"] = self._state.columns.ids[index]
        view = query.view
        if view.image is not None:
            seen, grey = view.viewport, view.window_level
            out |= {
                "zoom": None if seen.fitted else [seen.zoom, seen.x, seen.y],
                "held": [seen.orientation.turns, seen.orientation.mirrored],
                "greys": None if grey is None else [grey.low, grey.high],
                "inverted": view.inverted,
                "slice": query.pane.place,
            }
        return out

    def _forget(self) -> None:
        """What was wanted of another query's image."""
        self._wanted = {}

    def restore(self, view: Mapping[str, Any]) -> None:
        """See the search so; the image once it is shown."""
        self._wanted = view
        if self._query.view.image is not None and self._query.shows_query:
            self._restore_image()
        QTimer.singleShot(0, self, lambda: self._restore_ranking(view))

    def _restore_ranking(self, view: Mapping[str, Any]) -> None:
        ranking, state = self._ranking, self._state
        if view.get("cards") in ("grid", "list") and view["cards"] != ranking.view.value():
            ranking.view.changed.emit(view["cards"])
        index = state.columns.index_of_id(str(view.get("current", "")))
        if index >= 0:
            ranking.grid.set_current(int(state.columns.case_row[index]))
        if isinstance(view.get("scroll"), int):
            ranking.grid.verticalScrollBar().setValue(view["scroll"])

    def _restore_image(self) -> None:
        wanted, self._wanted = self._wanted, {}
        view, pane = self._query.view, self._query.pane
        try:
            if isinstance(wanted.get("slice"), int):
                pane.slices.go(wanted["slice"])
            if wanted.get("held"):
                view.hold(Orientation(int(wanted["held"][0]) % 4, bool(wanted["held"][1])))
            if wanted.get("zoom"):
                zoom, x, y = (float(value) for value in wanted["zoom"])
                view.look(replace(view.viewport, zoom=zoom, x=x, y=y, fitted=False))
            if wanted.get("greys"):
                view.set_window(Window(float(wanted["greys"][0]), float(wanted["greys"][1])))
            if "inverted" in wanted and bool(wanted["inverted"]) != view.inverted:
                view.invert()
        except (TypeError, ValueError, KeyError, IndexError):
            # Of another version: the image is seen as it is opened.
            return
