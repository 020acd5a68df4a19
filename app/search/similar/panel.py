"""The Ranking panel: the nearest cases, what was hidden, and what their findings are."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget

from semblance.app.search.similar.card_feedback import CardFeedback
from semblance.app.search.similar.counted_switch import CountedSwitch
from semblance.app.search.similar.other_diagnoses import OtherDiagnoses
from semblance.app.search.similar.ranking_notice import NoMatchNotice
from semblance.app.search.similar.ranking_options import RankingOptions
from semblance.app.search.similar.summary_strip import SummaryStrip
from semblance.app.search.similar.window_thumbnails import QueryWindowLevel
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.panel_header import PanelHeader, header_button
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.app.widgets.view_switch import ViewSwitch
from semblance.app.widgets.work_notice import extracting
from semblance.core.language import format_number, tr, tr_n, tr_name
from semblance.core.library.case_columns import CaseColumns
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.scored_metrics import is_stale
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, MetricFacts
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult

#: Below this height the look-alikes with the other finding take one line.
ROOMY = 520
#: Width of the header without its two switches.
FIXED_HEADER = 310
#: Whether cards glide to a new order, in the settings.
GLIDE = "glide"


class RankingPanel(Panel):
    """Ranked cases as cards; a double click (``compare_requested``) sets one beside the query."""

    menu_requested = Signal(int, QPoint)
    compare_requested = Signal(int)
    extract_requested = Signal()
    train_requested = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Similar cases"))
        self._context, self._state = context, context.state

        self.same_patient = CountedSwitch(tr("Hide same patient"))
        self.near_duplicates = CountedSwitch(tr("Group near-duplicates"))
        for box, tip in (
            (self.same_patient, tr("Hide other cases of the query's patient")),
            (self.near_duplicates, tr("Show near-duplicates under one card")),
        ):
            box.setChecked(True)
            box.setToolTip(tip)
            # Where they do not fit they are hidden: they must not keep the panel from becoming narrower.
            box.setMinimumWidth(1)
        self.same_patient.toggled.connect(lambda on: self._option(hide_same_patient=on))
        self.near_duplicates.toggled.connect(lambda on: self._option(group_duplicates=on))

        self.header = PanelHeader(tr("Similar cases"))
        self.window_level = header_button("contrast", tr("Use the query's window / level"))
        self.window_level.setCheckable(True)
        self.view = ViewSwitch()
        self.view.changed.connect(self._set_view)
        self.options = RankingOptions(context, self)
        for widget in (
            self.same_patient,
            self.near_duplicates,
            self.options.button,
            self.window_level,
            self.view,
        ):
            self.header.add_action(widget)
        self._strip = SummaryStrip()
        self.notice = NoMatchNotice(self.options.open)
        self.others = OtherDiagnoses(context, thumbnails)
        self.others.chosen.connect(self._show_other)
        self.others.activated.connect(self.compare_requested)
        self.others.menu_requested.connect(self.menu_requested)
        self.grid = CaseGrid()
        self.grid.set_source(thumbnails)
        self._query_window_level = QueryWindowLevel(context, thumbnails, self)
        self._query_window_level.source_changed.connect(self.grid.set_source)
        self.window_level.toggled.connect(self._query_window_level.turn)
        self.grid.setAccessibleName(tr("Similar cases, nearest first"))
        self.card_feedback = CardFeedback(context, self.grid, self)
        self.grid.activated.connect(self.compare_requested)
        self.grid.menu_requested.connect(self.menu_requested)
        self.grid.near_duplicates_requested.connect(self.toggle_near_duplicates)
        #: Cases whose near-duplicates are seen beside them, by row.
        self._unfolded: set[int] = set()
        self._empty = EmptyState()
        self._told_others: SearchResult | None = None
        self._awaited: Query | None = None
        #: Metric and library, and whether it was measured on less than is there.
        self._stale_of: tuple[MetricFacts, LibrarySnapshot, bool] | None = None
        #: What the cards now shown answer.
        self._shown: Query | None = None
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.grid)
        column = vbox(self)
        column.addWidget(self.header)
        column.addWidget(self._strip)
        column.addWidget(self.notice)
        column.addWidget(self.card_feedback.bar)
        column.addWidget(self._pages, 1)
        column.addWidget(self.others)

        self._state.changed.connect(self._follow_state)
        self._set_view("list" if context.settings.text("ranking_view") == "list" else "grid")
        self._renew()

    def current_case(self) -> str | None:
        """The id of the case that is current here."""
        index = self._state.columns.index_of_row(self.grid.current())
        return self._state.columns.ids[index] if index >= 0 else None

    def search_current(self) -> None:
        self._ask(self.grid.current())

    @property
    def told(self) -> str:
        """What the header says beside the title."""
        ranking = self._state.ranking
        if ranking is None:
            return ""
        usual = tr("{n:,} in {ms:.0f} ms", n=ranking.compared, ms=1000 * sum(ranking.seconds.values()))
        return self._not_all(ranking) or adjustments_text(self._state.ranked_search) or usual

    def _not_all(self, ranking: SearchResult) -> str:
        """ "200 of 250", where cases were not compared for lack of features; else nothing."""
        asked = ranking.query.case is not None
        total = len(self._state.columns) - asked
        if ranking.compared >= total:
            return ""
        return tr("{n:,} of {total:,}", n=ranking.compared, total=total)

    def _set_view(self, name: str) -> None:
        self._context.settings.set_text("ranking_view", name)
        self.view.set_value(name)
        self.grid.set_rows(name == "list")

    def _option(self, *, hide_same_patient: bool | None = None, group_duplicates: bool | None = None) -> None:
        before = (self._state.hide_same_patient, self._state.group_duplicates)
        self._state.set_option(hide_same_patient=hide_same_patient, group_duplicates=group_duplicates)
        if before != (self._state.hide_same_patient, self._state.group_duplicates):
            search_operations.rank(self._context)

    def _follow_options(self) -> None:
        self.same_patient.setChecked(self._state.hide_same_patient)
        self.near_duplicates.setChecked(self._state.group_duplicates)

    def _renew(self) -> None:
        ranking, columns = self._state.ranking, self._state.columns
        part = "" if ranking is None else self._not_all(ranking)
        lacking = tr("The others have no features. Choose Metric > Extract features….")
        short = "" if ranking is None else format_number(ranking.compared, ",")
        self.header.set_second(self.told, short, tip=lacking if part else "")
        self._tell_hidden()
        if ranking is None or not len(columns):
            self._strip.setVisible(False)
            self.notice.show_ranking(None)
            self.others.show_ranking(None, columns)
            self.grid.set_model(CaseModel(columns))
            self._say_what_next()
            return
        same, self._shown = ranking.query == self._shown, ranking.query
        self._unfolded &= {case.row for case in ranking.ranked} if same else set()
        glide = same and self._context.settings.flag(GLIDE, default=True)
        self.grid.set_model(self._deck(ranking, columns), keep_place=same, glide=glide)
        self._strip.show_ranking(ranking, columns, stale=self._is_stale())
        self._strip.setVisible(True)
        self.notice.show_ranking(ranking, self._state.no_match_rate)
        if ranking is not self._told_others:
            self._told_others = ranking
            self.others.show_ranking(ranking, columns)
        self._pages.setCurrentWidget(self.grid)

    def _follow_state(self, change: Change) -> None:
        if change & Change.OPTIONS:
            self._follow_options()
        if change & (Change.QUERY | Change.RANKING_REQUESTED):
            self._awaited = self._state.query
        elif change & Change.RANKING:
            # An answer came or failed: no other is on its way.
            self._awaited = None
        if change & (Change.RANKING | Change.QUERY | Change.CASES | Change.METRIC):
            self._renew()
        elif change & (Change.RANKING_REQUESTED | Change.EXTRACTION | Change.TRAINING):
            self._still_empty()

    def _is_stale(self) -> bool:
        """Whether the metric was measured on less than is there; no click changes that."""
        metric, library = self._state.metric, self._state.library
        if metric is None or library is None:
            return False
        known = self._stale_of
        if known is None or known[0] is not metric or known[1] is not library:
            known = self._stale_of = (metric, library, is_stale(metric, library))
        return known[2]

    def toggle_near_duplicates(self, case_row: int | None = None) -> None:
        """Set what is folded under a case, else under the current one, beside it; or fold it again."""
        ranking = self._state.ranking
        row = self.grid.current() if case_row is None else case_row
        if ranking is None:
            return
        stands = next((one for one in ranking.ranked if row == one.row or row in one.alike_rows), None)
        if stands is not None and stands.alike:
            self._unfolded ^= {stands.row}
            self.grid.set_model(self._deck(ranking, self._state.columns), keep_place=True)

    def _show_other(self, case_row: int) -> None:
        """Bring a case of the row below to the eye where the ranking has it."""
        if self.grid.model().place_of(case_row) >= 0:
            self.grid.set_current(case_row)

    def _deck(self, ranking: SearchResult, columns: CaseColumns) -> CaseModel:
        asked = self._state.ranked_search
        moved = asked.shifts if asked is not None and asked.shifts else (0,) * len(ranking.ranked)
        lines: list[tuple[int, float, int, int, int]] = []
        for case, shift in zip(ranking.ranked, moved, strict=True):
            lines.append((case.row, case.distance, case.alike, case.rank, shift))
            if case.row in self._unfolded:
                beside = zip(case.alike_rows, case.alike_distances, strict=True)
                lines += [(row, distance, 0, case.rank, shift) for row, distance in beside]
        indices = np.array([columns.index_of_row(line[0]) for line in lines], dtype=np.intp)
        there = indices >= 0
        numbers = np.array(lines, dtype=np.float64).reshape(-1, 5)[there]
        distances, (alike, ranks, shifts) = numbers[:, 1], numbers[:, 2:].T.astype(np.int64)
        return CaseModel(
            columns,
            indices[there],
            distances,
            alike,
            ranks,
            shifts if any(moved) else None,
            full=_full(distances),
            judgements=self.card_feedback.marks(),
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.others.set_low(self.height() < theme().px(ROOMY))
        self._show_switches()

    def _show_switches(self) -> None:
        """Show the two switches where the header has room for them; the menu Search has both too."""
        boxes = (self.same_patient, self.near_duplicates)
        needed = theme().px(FIXED_HEADER) + sum(box.minimumSizeHint().width() for box in boxes)
        for box in boxes:
            box.setVisible(self.width() >= needed)

    def _tell_hidden(self) -> None:
        """How many cases the two switches leave out of the present ranking."""
        ranking = self._state.ranking
        for box, hidden in (
            (self.same_patient, ranking.same_patient if ranking else 0),
            (self.near_duplicates, ranking.near_duplicates if ranking else 0),
        ):
            box.set_count(hidden if box.isChecked() else 0)

    def _still_empty(self) -> None:
        if self._pages.currentWidget() is self._empty:
            self._say_what_next()

    def _say_what_next(self) -> None:
        """An empty ranking says what is missing: features, a metric, or a query."""
        self._pages.setCurrentWidget(self._empty)
        library, training = self._state.library, self._state.training
        if library is None or not len(library.columns):
            self._empty.say(
                tr("No cases yet"), tr("Choose File > Add a folder to this library… to add images.")
            )
        elif not library.writable and self._state.metric is None:
            self._empty.say(
                tr("No metric to search with"),
                tr("The library is read-only. Copy it to a folder with write permission and train there."),
            )
        elif self._state.extracting and self._state.metric is None:
            self._empty.say(*extracting(self._state))
        elif not library.feature_sets:
            self._empty.say(
                tr("No features yet"),
                tr(
                    "Features are the numbers cases are compared by. "
                    "They are extracted once, in the background."
                ),
                tr("Extract features…"),
                self.extract_requested.emit,
            )
        elif self._state.metric is None and training is not None and training.running:
            self._empty.say(
                tr("Training {name}", name=training.name),
                tr("When it is done, double-click a case in the library to search with it."),
            )
        elif self._state.metric is None:
            self._empty.say(
                tr("No metric yet"),
                tr("A metric defines similarity. Train one. It is tested on patients not used for training."),
                tr("Train a metric"),
                self.train_requested.emit,
            )
        elif self._awaited is not None:
            self._empty.say(
                tr("Searching"), tr("The first search takes longer, because the library is read once.")
            )
        elif self._state.query is not None:
            self._empty.say(tr("No results yet"), tr("Choose Search > Search again (F5) to update it."))
        else:
            self._empty.say(
                tr("Search with a case"), tr("Double-click a case in the library, or drop an image on Query.")
            )

    def _ask(self, case_row: int) -> None:
        index = self._state.columns.index_of_row(case_row)
        if index >= 0:
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))


def adjustments_text(asked: RankedSearch | None) -> str:
    """What a ranking is by beside its metric and query, in words: examples, concepts, groups of features
    left out; empty where nothing is."""
    if asked is None or asked.refused is not None:
        return ""
    search = asked.search
    examples = len(search.like) + len(search.unlike)
    concepts = sum(1 for _, amount in search.concepts if amount)
    words = [tr_n("{n} example", "{n} examples", examples)] if examples else []
    words += [tr_n("{n} concept", "{n} concepts", concepts)] if concepts else []
    moved = [tr("by {what}", what=", ".join(words))] if words else []
    moved += (
        [tr("without {groups}", groups=", ".join(map(tr_name, search.without)))] if search.without else []
    )
    return ", ".join(moved)


def _full(distances: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """The distance that fills a card's bar: a little beyond the farthest of the first twenty."""
    return float(distances[:20].max()) * 1.25 if len(distances) else None
