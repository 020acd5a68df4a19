"""What the window shows, compared with the query, the ranking and the library that it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QComboBox, QLabel, QWidget

from semblance.app.search.case_panel import CaseNotes
from semblance.app.search.compare.compare_page import ComparePage
from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.search.similar.summary_strip import SummaryStrip
from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.window.main_window import MainWindow
from semblance.app.window.top_bar import ChoiceButton
from semblance.core.library.case_columns import CaseColumns
from semblance.core.workflows.searches.rank_cases import rank_cases
from semblance.core.workflows.searches.search_result import SearchResult
from tests.helpers.named_images import NAME, name_in, path_of, visible_widgets

#: Rows of a table that are read.
_ROWS = 60


def texts_of(widget: QWidget) -> Iterator[str]:
    """What ``widget`` itself shows or tells a screen reader. A widget that paints text has ``drawn_texts``."""
    yield widget.accessibleName()
    yield widget.accessibleDescription()
    yield widget.toolTip()
    if widget.isWindow():
        yield widget.windowTitle()
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    if isinstance(widget, QComboBox):
        yield widget.currentText()
    if isinstance(widget, QAbstractItemView) and (model := widget.model()) is not None:
        # Qt has no public number of columns for a list.
        columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(QModelIndex())
        for row in range(min(_ROWS, model.rowCount(QModelIndex()))):
            for column in range(columns):
                text = model.index(row, column).data(Qt.ItemDataRole.DisplayRole)
                if isinstance(text, str):
                    yield text
    drawn = getattr(widget, "drawn_texts", None)
    if drawn is not None:
        yield from drawn()


_RANKED = re.compile(r"\b[Rr]ank (\d+)[ ,]+(?:\w+/)?((?:ant|bee)\d\d)")
_OF = re.compile(r"\brank (\d+) of (\d+)\b")
_QUERY = re.compile(r"\bQuery:?,? (?:\w+/)?((?:ant|bee|out)\d\d)")
_DISTANCE = re.compile(r"\bdistance (\d+\.(\d+))")


class ScreenOfSearch:
    """The checks of one window at rest. They raise ``AssertionError``."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        #: How many rankings were compared with a fresh one.
        self.compared = 0

    def check(self, also: Callable[[str, str], None] = lambda _text, _where: None) -> None:
        """All that can be seen belongs to the search of the window; ``also(text, where)`` checks more of each text."""
        for widget in visible_widgets():
            for text in texts_of(widget):
                where = f"{text!r} in {path_of(widget)}"
                also(text, where)
                self._check_ranks(widget, text, where)
                if (shown := _QUERY.search(text)) is not None:
                    assert shown[1] == self.query_name(), f"of another query: {where}"
            if isinstance(widget, ImageView) and widget.image is not None:
                self._check_query_image(widget)
            if isinstance(widget, CaseGrid) and widget.model().ranked:
                self._check_grid(widget)
            if isinstance(widget, SummaryStrip):
                self._check_summary(widget)
            if isinstance(widget, CaseNotes):
                self._check_notes(widget)
            if isinstance(widget, ChoiceButton):
                self._check_choice(widget)
        self._check_ranking()

    def query_name(self) -> str:
        """The name of the query; empty for one without."""
        query = self._window.state.query
        found = None if query is None else NAME.search(str(query.case or query.image.name))
        return "" if found is None else found[0]

    def _ranking_on(self, widget: QWidget) -> SearchResult | None:
        """The ranking of the search. Compare keeps its order while one marks: there it is the one before the marks."""
        pair = self._window.panels.compare._pair if _ancestor(widget, ComparePage) is not None else None
        if pair is None or pair.latest is None:
            return self._window.state.ranking
        assert pair.latest is self._window.state.ranked_search, f"marks of another ranking: {path_of(widget)}"
        assert pair.query == self._window.state.query
        return pair.ranked_search.result

    def _check_ranks(self, widget: QWidget, text: str, where: str) -> None:
        ranking = self._ranking_on(widget)
        ranked = () if ranking is None else ranking.ranked
        for rank, name in _RANKED.findall(text):
            assert int(rank) <= len(ranked), f"no such rank: {where}"
            grouped = [ranked[int(rank) - 1].case_id]
            grouped += [
                self._window.state.columns.ids[self._window.state.columns.index_of_row(row)]
                for row in ranked[int(rank) - 1].near_duplicate_rows
            ]
            assert any(name in case for case in grouped), f"of another ranking: {where}"
            distance = _DISTANCE.search(text)
            if distance is not None and name in ranked[int(rank) - 1].case_id:
                exact = ranked[int(rank) - 1].distance
                assert abs(float(distance[1]) - exact) <= 0.51 * 10.0 ** -len(distance[2]), where
        for _, n in _OF.findall(text):
            assert int(n) == len(ranked), f"of another ranking: {where}"

    def _check_query_image(self, view: ImageView) -> None:
        if self._window.state.query is not None and not self.query_name():
            # Its pixels do not say what it is.
            return
        in_panel = _ancestor(view, QueryPanel) is not None
        if in_panel or view.accessibleName() == "Query":
            shown = name_in(view.image.levels[0])  # type: ignore[union-attr]
            assert shown == self.query_name(), f"image of another query: {path_of(view)} shows {shown}"

    def _check_grid(self, grid: CaseGrid) -> None:
        model, columns = grid.model(), self._window.state.columns
        shown = [(model.case_row(place), model.rank(place)) for place in range(len(model))]
        ranking = self._ranking_on(grid)
        expected = [(case.row, case.rank) for case in (() if ranking is None else ranking.ranked)]
        assert [one for one in shown if one in expected] == expected, f"another ranking: {path_of(grid)}"
        marks = self._window.state.marks
        expected_marks = {
            int(columns.case_row[columns.index_of_id(case)]): mark
            for mark, cases in ((1, marks.liked), (-1, marks.disliked))
            for case in cases
        }
        assert {row: mark for row, mark in model.judgements.items() if mark} == expected_marks
        if any(model.shift(place) for place in range(len(model))):
            search = self._window.state.search
            assert ranking.marks or getattr(search, "refined", False), f"moved by nothing: {path_of(grid)}"

    def _check_summary(self, strip: SummaryStrip) -> None:
        assert self._window.state.ranking is not None, "an estimate without a ranking"
        fresh = SummaryStrip()
        fresh.resize(strip.size())
        columns: CaseColumns = self._window.state.columns
        fresh.show_ranking(self._window.state.ranking, columns, stale=self._window.panels.ranking._is_stale())
        # The label before the counts is shortened in narrow strips.
        shown = [[one.text() for one in each.findChildren(QLabel)] for each in (strip, fresh)]
        texts = [[text for text in each if not text.endswith(":")] for each in shown]
        fresh.deleteLater()
        assert texts[0] == texts[1], f"the estimate is another one: {texts[0]}, not {texts[1]}"

    def _check_notes(self, notes: CaseNotes) -> None:
        case, state, button = notes._case, self._window.state, notes._in_report
        chosen = case is not None and state.is_in_report(case)
        assert (button.isChecked(), button.isEnabled()) == (chosen, case is not None), path_of(button)
        assert notes.toPlainText().strip() == ("" if case is None else state.note(case)), path_of(notes)
        if _ancestor(notes, ComparePage) is not None:
            assert case == self._window.panels.compare.current_case(), f"of another case: {path_of(notes)}"
            assert button.text() == ("In the report" if chosen else "Add to report")

    def _check_choice(self, choice: ChoiceButton) -> None:
        metric = self._window.state.metric
        label, _, value = choice.accessibleName().partition(": ")
        if label in ("Metric", "Ranked by") and metric is not None:
            assert value.startswith(metric.name), choice.accessibleName()
            _, on, features = value.partition(" on ")
            assert not on or features == metric.features, f"{value}, but its features are {metric.features}"

    def _check_ranking(self) -> None:
        """The ranking is what the search of the window finds anew: its query, metric, marks, words and options."""
        state = self._window.state
        if state.ranking is None or state.search is None:
            return
        if self._window.panels.ranking._is_stale():
            # The window says so, and keeps the order until somebody searches again.
            return
        assert state.search.query == state.query
        self.compared += 1
        fresh = rank_cases(state.location, state.search, k=self._window.context.settings.similar_cases).result
        shown = [(case.case_id, case.rank) for case in state.ranking.ranked]
        assert shown == [(case.case_id, case.rank) for case in fresh.ranked], (
            "the ranking is another search's"
        )
        assert state.ranking.counts == fresh.counts


def _ancestor(widget: QWidget, kind: type) -> QWidget | None:
    here: QWidget | None = widget
    while here is not None and not isinstance(here, kind):
        here = here.parentWidget()
    return here
