"""Nothing on screen moves but the order of the cases, whatever a person does to it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.screenshot import wait_until_idle
from semblance.app.search.feedback import mark_cards
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.theme import set_theme
from semblance.app.widgets.cards.card_layout import card_feedback_buttons, image_square
from semblance.app.window.main_window import MainWindow
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.prompt_jobs import PromptJobs
from tests.helpers.ranked_searches import with_places
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN
from tests.helpers.windows import open_window

#: Size of the window, text scale and workspace.
VIEWS = (
    ((1440, 900), 1.0, "read"),
    ((1280, 800), 1.0, "research"),
    ((1200, 1600), 1.0, "read"),
    ((1440, 900), 1.5, "read"),
    ((2560, 1440), 0.8, "research"),
)
#: Acts in a row in each view.
STEPS = 14


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> list[Path]:
    """Two libraries; half of the cases trained the second metric of the first one."""
    metrics = (PLAIN, TrainRequest("lda", "trained"))
    first = striped_library(tmp_path_factory.mktemp("first"), n=16, metrics=metrics)
    return [first, striped_library(tmp_path_factory.mktemp("second"), n=12, name="Other.semblance")]


@pytest.fixture
def window(libraries, tmp_path, monkeypatch) -> Iterator[MainWindow]:
    monkeypatch.setattr("semblance.app.window.main_window.Jobs", PromptJobs)
    monkeypatch.setattr("semblance.app.screenshot.IDLE_CHECKS", 12)
    copies = [Path(shutil.copytree(one, tmp_path / one.name)) for one in libraries]
    with ExitStack() as opened:
        made = opened.enter_context(open_window(copies[0], workspace="read"))
        made.copies = copies
        yield made
        set_theme(QApplication.instance(), "dark", 1.0)


def geometry(window: MainWindow) -> dict[str, object]:
    """Where everything is that a person points at, in pixels of the window."""
    ranking, query = window.panels.ranking, window.panels.query
    grid = ranking.grid

    def at(widget: QWidget) -> QRect:
        return QRect(widget.mapTo(window, QPoint()), widget.size())

    found: dict[str, object] = {
        name: at(widget)
        for name, widget in {
            "menu": window.top,
            "header": ranking.header,
            "strip": ranking.summary,
            "marks": ranking.order,
            "cards": grid,
            "other findings": ranking.others,
            "query header": query.header,
            "query": query.view,
        }.items()
    }
    layout = grid._layout
    for place in range(min(10, len(grid.model()))):
        card = layout.card(place)
        found[f"card {place}"] = (card, image_square(card, layout), card_feedback_buttons(card, layout))
    return found


class Acts:
    """What a person does, by name."""

    def __init__(self, window: MainWindow) -> None:
        self._window, self._context, self._state = window, window.context, window.state
        self._random = random.Random(37)

    def all(self) -> dict[str, Callable[[], object]]:
        return {
            "mark more": lambda: self._mark(1),
            "mark less": lambda: self._mark(-1),
            "undo": lambda: mark_cards.undo(self._context),
            "start again": lambda: mark_cards.clear_marks(self._context),
            "before": lambda: mark_cards.set_strength(self._context, 0.0),
            "after": lambda: mark_cards.set_strength(self._context, 1.0),
            "search": self._search,
            "search with a region": self._search_region,
            "other metric": self._change_metric,
            "a comparison": self._window.panels.ranking.card_feedback.compare_current,
            "a ranking that grows": self._grow,
            "no close match": lambda: self._warn(no_close_match=True),
            "places": self._find_places,
            "a warning": lambda: self._warn(warnings=("Draw the region to compare.",)),
            "other library": self._open_other,
        }

    def _row(self) -> int:
        grid = self._window.panels.ranking.grid
        row = grid.model().case_row(self._random.randrange(len(grid.model())))
        grid.set_current(row)
        grid.verticalScrollBar().setValue(0)
        return row

    def _mark(self, mark: int) -> None:
        self._window.panels.ranking.card_feedback.mark_rows(mark, [self._row()])

    def _search(self, region: Region | None = None) -> None:
        case = self._random.choice(self._state.columns.ids)
        search_operations.submit_query(self._context, Query(case=case, region=region))

    def _search_region(self) -> None:
        self._search(Region(2, 2, 12, 10))

    def _change_metric(self) -> None:
        names = [metric.name for metric in self._state.library.metrics]
        self._state.set_metric(self._random.choice(names))
        search_operations.rank(self._context)

    def _warn(self, **changes: object) -> None:
        ranked = self._state.ranked_search
        self._state.set_ranked_search(replace(ranked, result=replace(ranked.result, **changes)))

    def _find_places(self) -> None:
        ranked = self._state.ranked_search
        place = MatchedPlace(1, 2, 6, 5, None, 0.8, 16, 16)
        self._state.set_ranked_search(replace(ranked, result=with_places(ranked.result, place)))

    def _grow(self) -> None:
        ranked = self._state.ranked_search
        result = replace(ranked.result, compared=max(1, ranked.result.compared - 3))
        self._state.set_ranked_search(replace(ranked, result=result))

    def _open_other(self) -> None:
        path = next(one for one in self._window.copies if one != self._state.location)
        library_operations.open_library(self._context, path)
        wait_until_idle(self._window)
        self._search()


def show(window: MainWindow, view: tuple[tuple[int, int], float, str]) -> None:
    size, scale, workspace = view
    set_theme(QApplication.instance(), "dark", scale)
    window.workspaces.choose(workspace)
    window.resize(*size)
    wait_until_idle(window)


@pytest.mark.long
def test_nothing_moves_but_the_order(window):
    acts = Acts(window)
    acts._search()
    wait_until_idle(window)
    chooser = random.Random(37)
    for view in VIEWS:
        show(window, view)
        before = geometry(window)
        for _ in range(STEPS):
            name, act = chooser.choice(list(acts.all().items()))
            act()
            wait_until_idle(window)
            if window.state.ranking is None:
                acts._search()
                wait_until_idle(window)
            after = geometry(window)
            moved = {
                key: (before[key], after[key]) for key in before if after.get(key, before[key]) != before[key]
            }
            assert not moved, f"{name} in {view}"
