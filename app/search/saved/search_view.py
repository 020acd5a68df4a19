"""The view of a search: saved with it, and restored when its image is loaded."""

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
    """The view in one window: of the query's image (zoom, position, window, orientation, slice) and of the similar
    cases (current case, list or cards, scroll position)."""

    def __init__(self, context: Context, query: QueryPanel, ranking: RankingPanel, parent: QObject) -> None:
        super().__init__(parent)
        self._state, self._query, self._ranking = context.state, query, ranking
        self._pending_view: Mapping[str, Any] = {}
        self.autosave = SearchAutosave(context, self.capture, self)
        view, grid = query.view, ranking.grid
        self._state.view_requested.connect(self.restore)
        self._state.on_change(Change.QUERY, self, self._clear)
        query.image_shown.connect(self._restore_image)
        view.view_changed.connect(self.autosave.schedule_save)
        view.window_changed.connect(lambda _: self.autosave.schedule_save())
        view.inverted_changed.connect(lambda _: self.autosave.schedule_save())
        query.pane.slice_changed.connect(lambda _: self.autosave.schedule_save())
        grid.current_changed.connect(lambda _: self.autosave.schedule_save())
        grid.verticalScrollBar().valueChanged.connect(lambda _: self.autosave.schedule_save())

    def capture(self) -> dict[str, Any]:
        """The current view as plain values for JSON."""
        if self._pending_view:
            # The image is still loading: the view to restore is still valid.
            return dict(self._pending_view)
        query, ranking = self._query, self._ranking
        grid = ranking.grid
        out: dict[str, Any] = {"scroll": grid.verticalScrollBar().value(), "cards": ranking.view.value()}
        index = self._state.columns.index_of_row(grid.current())
        if index >= 0:
            out["current"] = self._state.columns.ids[index]
        view = query.view
        if view.image is not None:
            viewport, window = view.viewport, view.window_level
            out |= {
                "zoom": None if viewport.fitted else [viewport.zoom, viewport.x, viewport.y],
                "held": [viewport.orientation.turns, viewport.orientation.mirrored],
                "greys": None if window is None else [window.low, window.high],
                "inverted": view.inverted,
                "slice": query.pane.place,
            }
        return out

    def _clear(self) -> None:
        """Forget the view to restore, because the query changed."""
        self._pending_view = {}

    def restore(self, view: Mapping[str, Any]) -> None:
        """Restore a view; that of the image when it is shown."""
        self._pending_view = view
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
        pending, self._pending_view = self._pending_view, {}
        view, pane = self._query.view, self._query.pane
        try:
            if isinstance(pending.get("slice"), int):
                pane.slices.go_to_slice(pending["slice"])
            if pending.get("held"):
                view.set_orientation(Orientation(int(pending["held"][0]) % 4, bool(pending["held"][1])))
            if pending.get("zoom"):
                zoom, x, y = (float(value) for value in pending["zoom"])
                view.set_view(replace(view.viewport, zoom=zoom, x=x, y=y, fitted=False))
            if pending.get("greys") and view.image is not None:
                low, high = float(pending["greys"][0]), float(pending["greys"][1])
                view.set_window(Window(low, high, view.image.curve_between(low, high)))
            if "inverted" in pending and bool(pending["inverted"]) != view.inverted:
                view.invert()
        except (TypeError, ValueError, KeyError, IndexError):
            # Saved by another version: the image keeps its default view.
            return
