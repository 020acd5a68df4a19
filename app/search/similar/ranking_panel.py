"""The panel of similar cases: cards, hidden cases, and the findings of the nearest ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QStackedWidget, QToolButton, QWidget

from semblance.app.search.feedback.mark_cards import CardFeedback
from semblance.app.search.similar.card_images import CardSlices, RankingThumbnails
from semblance.app.search.similar.other_diagnoses import OtherDiagnoses
from semblance.app.search.similar.ranking_bars import OrderLine
from semblance.app.search.similar.ranking_options import CountedSwitch, RankingOptions
from semblance.app.search.similar.summary_strip import THRESHOLD, SummaryStrip
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme
from semblance.app.widgets.buttons import ViewSwitch
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import SHORT_JUDGEMENT_TEXTS, CaseModel, hit_texts
from semblance.app.widgets.empty_state import EmptyState, extraction_message
from semblance.app.widgets.layouts import EDGE, fill, hbox, vbox
from semblance.app.widgets.panel import Panel, PanelHeader, header_button
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import format_number, tr, tr_n, tr_name
from semblance.core.library.case_columns import CaseColumns
from semblance.core.library.location import ServerAddress
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.evaluation.scored_metrics import is_stale
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, MetricFacts
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult

#: Below this height each case with a different diagnosis takes a single line.
TWO_LINES_HEIGHT = 620
#: Width of the header without its two switches.
FIXED_HEADER = 340
#: The cards of the query before stay for so long, without effect, so that a quick search does not flash.
HOLD_MS = 150
#: Key in the settings: whether cards move visibly to a new order.
ANIMATE_REORDERING = "animate_reordering"


class RankingPanel(Panel):
    """Ranked cases as cards. A double click compares a case with the query (``compare_requested``)."""

    menu_requested = Signal(int, QPoint)
    compare_requested = Signal(int)
    prepare_requested = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Similar cases"))
        self._context, self._state = context, context.state

        self.same_patient = CountedSwitch(tr("Hide same patient"), tr("Hide patient"))
        self.near_duplicates = CountedSwitch(tr("Group the same lesion and copies"), tr("Group copies"))
        for box, tip in (
            (self.same_patient, tr("Hide other cases of the query's patient")),
            (self.near_duplicates, tr("Show images of the same lesion, and copies, under one card")),
        ):
            box.setChecked(True)
            box.setToolTip(tip)
            # They must not keep the panel from becoming narrower.
            box.setMinimumWidth(1)
        self.same_patient.toggled.connect(partial(self._set_option, "hide_same_patient"))
        self.near_duplicates.toggled.connect(partial(self._set_option, "group_duplicates"))

        self.header = PanelHeader(tr("Similar cases"))
        self.window_level = header_button("contrast", tr("Use the query's window / level"))
        self.window_level.setCheckable(True)
        self.report = QToolButton()
        self.report.setDefaultAction(context.actions["report"])
        self.report.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.view = ViewSwitch()
        self.view.changed.connect(self._set_view)
        self.options = RankingOptions(context, self)
        self._fill_header()
        self.summary = SummaryStrip()
        self.summary.act_requested.connect(self._act)
        self.others = OtherDiagnoses(context, thumbnails)
        self.others.chosen.connect(self._select_case)
        self.others.activated.connect(self.compare_requested)
        self.others.menu_requested.connect(self.menu_requested)
        self.grid = CaseGrid()
        self.grid.set_source(thumbnails)
        self._thumbnails = RankingThumbnails(context, thumbnails, self)
        self._thumbnails.source_changed.connect(self.grid.set_source)
        self.window_level.toggled.connect(self._thumbnails.set_enabled)
        self.grid.setAccessibleName(tr("Similar cases, nearest first"))
        self.card_feedback = CardFeedback(context, self.grid, self)
        self.card_slices = CardSlices(context, self.grid)
        self.grid.activated.connect(self.compare_requested)
        self.grid.menu_requested.connect(self.menu_requested)
        self.grid.near_duplicates_requested.connect(self.toggle_near_duplicates)
        #: Catalogue rows of the cases whose near-duplicates are shown.
        self._expanded: set[int] = set()
        self._empty = EmptyState()
        self._others_shown_for: SearchResult | None = None
        self._pending_query: Query | None = None
        #: Metric and library, and whether the library has cases that the metric was not tested on.
        self._stale_cache: tuple[MetricFacts, LibrarySnapshot, bool] | None = None
        #: The query of the cards shown.
        self._shown: Query | None = None
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.grid)
        column = fill(vbox(self), self.header, self._second_line, self.summary)
        self.order = OrderLine(context, self.grid.comparison)
        fill(column, self.order, (self._pages, 1), self.others)

        self._hold_timer = one_shot(self, self._refresh, HOLD_MS)
        self._state.changed.connect(self._on_state_changed)
        self._show_view()
        self._refresh()

    def _fill_header(self) -> None:
        self._is_plain = False
        self._switches = QWidget()
        fill(hbox(self._switches, spacing=8), self.same_patient, self.near_duplicates)
        # The switches are in the header or, if it has no space for them, in a line below it.
        header_part, self._second_line = QWidget(), QWidget(self)
        self._in_header = hbox(header_part)
        self._below_header = hbox(self._second_line, margins=(EDGE, 6, EDGE, 0))
        self._below_header.addStretch(1)
        for widget in (header_part, self.options.button, self.window_level, self.report, self.view):
            self.header.add_action(widget)
        self._place_switches()

    def set_plain(self, plain: bool) -> None:
        """Whether the switches of the header are in its menu, so that few controls stand around the images."""
        self._is_plain = plain
        self.header.show_help_button(not plain)
        for widget in (self._switches, self.window_level, self.view):
            widget.setVisible(not plain)
        self.options.menu_filler = self._fill_options if plain else None
        self._place_switches()

    def _fill_options(self, menu: QMenu) -> None:
        """Add what is in the header otherwise."""
        for command in ("same_patient", "alike"):
            menu.addAction(self._context.actions[command])
        window_level = menu.addAction(self.window_level.toolTip(), self.window_level.toggle)
        window_level.setCheckable(True)
        window_level.setChecked(self.window_level.isChecked())
        menu.addSeparator()
        self.view.fill_menu(menu)
        menu.addSeparator()

    def current_case(self) -> str | None:
        """The id of the current case."""
        index = self._state.columns.index_of_row(self.grid.current())
        return self._state.columns.ids[index] if index >= 0 else None

    def search_current(self) -> None:
        """Search with the current case."""
        self._search_with(self.grid.current())

    @property
    def status_text(self) -> str:
        """The text of the header beside the title."""
        ranking = self._state.ranking
        if ranking is None:
            return ""
        default_text = tr_n("{n} case", "{n} cases", ranking.compared)
        text = self._compared_text(ranking) or adjustments_text(self._state.ranked_search) or default_text
        return f"{text}, {tr('by place')}" if any(case.place for case in ranking.ranked) else text

    def _compared_text(self, ranking: SearchResult) -> str:
        """ "200 of 250" if some cases have no features, or how many are sealed; otherwise empty."""
        has_case = ranking.query.case is not None
        total = len(self._state.columns) - has_case
        if ranking.sealed and ranking.compared + ranking.sealed >= total:
            return tr("{n:,}, {sealed:,} sealed", n=ranking.compared, sealed=ranking.sealed)
        if ranking.compared >= total:
            return ""
        return tr("{n:,} of {total:,}", n=ranking.compared, total=total)

    def _set_view(self, name: str) -> None:
        self._context.settings.set_text("ranking_view", name)
        self._show_view()

    def _show_view(self) -> None:
        """Show cards or a list, as chosen. Rows of a table have no images, so they are always a list."""
        only_rows = self._state.columns.is_table
        as_list = only_rows or self._context.settings.text("ranking_view") == "list"
        self.view.set_value("list" if as_list else "grid")
        self.view.setEnabled(not only_rows)
        self.view.setToolTip(tr("Rows of a table have no images for cards.") if only_rows else "")
        self.grid.set_rows(as_list)

    def _set_option(self, name: str, on: bool) -> None:
        search_operations.set_options(self._context, **{name: on})

    def _show_options(self) -> None:
        self.same_patient.setChecked(self._state.hide_same_patient)
        self.near_duplicates.setChecked(self._state.group_duplicates)

    def _refresh(self) -> None:
        self._hold_timer.stop()
        ranking, columns = self._state.ranking, self._state.columns
        compared_text = "" if ranking is None else self._compared_text(ranking)
        tip = ""
        if ranking is not None:
            tip = tr("Ranked in {ms:.0f} ms", ms=1000 * sum(ranking.seconds.values()))
        if compared_text:
            tip = tr("The others have no features. Choose Research > Metric > Extract features….")
        if compared_text and ranking is not None and ranking.sealed:
            tip = tr_n(
                "{n} case is in the sealed test vault and is never shown as a similar case.",
                "{n} cases are in the sealed test vault and are never shown as similar cases.",
                ranking.sealed,
            )
        short = "" if ranking is None else format_number(ranking.compared, ",")
        self.header.set_subtitle(self.status_text, short, tip=tip)
        self._show_hidden_counts()
        if ranking is None or not len(columns):
            self._show_parts(shown=False)
            self.others.show_ranking(None, columns, {})
            self._others_shown_for = None
            self.grid.set_model(CaseModel(columns))
            self._show_next_step()
            return
        is_same_query, self._shown = ranking.query == self._shown, ranking.query
        self._expanded &= {case.row for case in ranking.ranked} if is_same_query else set()
        places = {int(case.row): case.place for case in ranking.ranked if case.place is not None}
        self.card_slices.show_places(places)
        slices = {row: place.number for row, place in places.items() if place.number is not None}
        self._thumbnails.show_slices(slices)
        animate = is_same_query and self._context.settings.flag(ANIMATE_REORDERING, default=True)
        self.grid.set_model(self._case_model(ranking, columns), keep_scroll=is_same_query, animate=animate)
        if not is_same_query:
            # Who asks anew wants to see the nearest cases, and why the first of them, whatever was current before.
            self.grid.set_current(NONE)
        self.summary.show_ranking(
            ranking, columns, stale=self._is_stale(), no_match_rate=self._state.no_match_rate
        )
        if ranking is not self._others_shown_for:
            self._others_shown_for = ranking
            on_thumbnails = {row: place for row, place in places.items() if place.slice is None}
            self.others.show_ranking(ranking, columns, on_thumbnails)
        self._show_parts(shown=True)
        self._pages.setCurrentWidget(self.grid)

    def _show_parts(self, *, shown: bool) -> None:
        """Show what is around the cards. With them its size never changes."""
        for part in (self.summary, self.order, self.others):
            part.setVisible(shown)

    def _act(self, act: str) -> None:
        """The button in the summary was pressed."""
        ranking = self._state.ranking
        if act == THRESHOLD:
            self.options.show_menu()
        elif ranking is not None:
            job = search_operations.rank_without_patient(self._context, on=not ranking.without_patient)
            if job is not None:
                self.summary.act.setEnabled(False)
                job.ended.connect(lambda: self.summary.act.setEnabled(True))

    def _on_state_changed(self, change: Change) -> None:
        if change & Change.OPTIONS:
            self._show_options()
        if change & (Change.QUERY | Change.RANKING_REQUESTED):
            self._pending_query = self._state.query
        elif change & Change.RANKING:
            # The ranking arrived or failed, so none is pending.
            self._pending_query = None
        if change & Change.CASES:
            self._show_view()
        if self._state.awaits_ranking and not change & Change.LIBRARY and self.grid.model().ranked:
            if not self._hold_timer.isActive():
                self._hold_timer.start()
        elif change & (Change.RANKING | Change.QUERY | Change.CASES | Change.METRIC):
            self._refresh()
        elif change & (Change.RANKING_REQUESTED | Change.EXTRACTION | Change.TRAINING):
            self._refresh_empty()

    def _is_stale(self) -> bool:
        """Whether the library has cases that the metric was not tested on. Judgements do not change that."""
        metric, library = self._state.metric, self._state.library
        if metric is None or library is None:
            return False
        cache = self._stale_cache
        if cache is None or cache[0] is not metric or cache[1] is not library:
            cache = self._stale_cache = (metric, library, is_stale(metric, library))
        return cache[2]

    def toggle_near_duplicates(self, case_row: int | None = None) -> None:
        """Expand or collapse the near-duplicates of a case, by default of the current one."""
        ranking = self._state.ranking
        row = self.grid.current() if case_row is None else case_row
        if ranking is None:
            return
        group = next(
            (one for one in ranking.ranked if row == one.row or row in one.near_duplicate_rows), None
        )
        if group is not None and group.near_duplicates:
            self._expanded ^= {group.row}
            self.grid.set_model(self._case_model(ranking, self._state.columns), keep_scroll=True)

    def _select_case(self, case_row: int) -> None:
        """Make a case with a different diagnosis current, if it is ranked."""
        if self.grid.model().position_of(case_row) >= 0:
            self.grid.set_current(case_row)

    def _case_model(self, ranking: SearchResult, columns: CaseColumns) -> CaseModel:
        ranked = self._state.ranked_search
        case_shifts = ranked.shifts if ranked is not None and ranked.shifts else (0,) * len(ranking.ranked)
        notes = _text_notes(ranking, _nearest_mark_notes(ranking, columns))
        rows: list[tuple[int, float, int, int, int]] = []
        for case, shift in zip(ranking.ranked, case_shifts, strict=True):
            rows.append((case.row, case.distance, case.near_duplicates, case.rank, shift))
            if case.row in self._expanded:
                members = zip(case.near_duplicate_rows, case.near_duplicate_distances, strict=True)
                rows += [(row, distance, 0, case.rank, shift) for row, distance in members]
                if notes:
                    notes |= dict.fromkeys(case.near_duplicate_rows, notes[case.row])
        indices = columns.indices_of_rows(np.array([row[0] for row in rows], dtype=np.int64))
        present = indices >= 0
        numbers = np.array(rows, dtype=np.float64).reshape(-1, 5)[present]
        distances, (group_sizes, ranks, shifts) = numbers[:, 1], numbers[:, 2:].T.astype(np.int64)
        return CaseModel(
            columns,
            indices[present],
            distances,
            group_sizes,
            ranks,
            shifts if any(case_shifts) else None,
            full_distance=_bar_maximum(distances),
            judgements=self.card_feedback.marks(),
            notes=[notes[row[0]] for row, shown in zip(rows, present, strict=True) if shown]
            if notes
            else None,
            other_findings={
                case.row: ", ".join(case.near_duplicate_findings)
                for case in ranking.ranked
                if case.near_duplicate_findings
            },
            places=self.card_slices.visible_places,
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.others.set_single_line(self.height() < theme().px(TWO_LINES_HEIGHT))
        self._place_switches()

    def _place_switches(self) -> None:
        """Put the two switches into the header if it has space for them, or into a line below it."""
        counts = 2 * self.fontMetrics().horizontalAdvance(" (999)")
        needed = counts + sum(
            box.minimumSizeHint().width() for box in (self.same_patient, self.near_duplicates)
        )
        below = self.width() < theme().px(FIXED_HEADER) + needed
        line = self._below_header if below else self._in_header
        if line.indexOf(self._switches) < 0:
            (self._in_header if below else self._below_header).removeWidget(self._switches)
            line.insertWidget(0, self._switches)
            # Qt shows a moved widget only in the next turn of the event loop.
            self._switches.setVisible(not self._is_plain)
        self._second_line.setVisible(below and not self._is_plain)

    def _show_hidden_counts(self) -> None:
        """Show how many cases the two switches hide in the current ranking."""
        ranking = self._state.ranking
        for box, hidden in (
            (self.same_patient, ranking.same_patient if ranking else 0),
            (self.near_duplicates, ranking.near_duplicates if ranking else 0),
        ):
            box.set_count(hidden if box.isChecked() else 0)

    def _refresh_empty(self) -> None:
        if self._pages.currentWidget() is self._empty:
            self._show_next_step()

    def _show_next_step(self) -> None:
        """Without a ranking, say what is missing: features, a metric, or a query."""
        self._pages.setCurrentWidget(self._empty)
        library, training = self._state.library, self._state.training
        if library is None or not len(library.columns):
            self._empty.show_message(
                tr("No cases yet"), tr("Choose File > Add a folder to this library… to add images.")
            )
        elif not self._state.can_edit and self._state.metric is None:
            self._empty.show_message(
                tr("No metric to search with"),
                self._state.why_not_edited
                if isinstance(library.location, ServerAddress)
                else tr(
                    "The library is read-only. Copy it to a folder with write permission and train there."
                ),
            )
        elif self._state.metric is None and (work := extraction_message(self._state)):
            self._empty.show_message(*work)
        elif self._state.metric is None and training is not None and training.running:
            self._empty.show_message(
                tr("Training {name}", name=training.name),
                tr("When it is done, click a case in the library to search with it."),
            )
        elif self._state.metric is None:
            self._empty.show_message(
                tr("No metric yet") if library.feature_sets else tr("No features yet"),
                tr(
                    "Cases are compared by features, which are measured once, in the background. "
                    "Similar cases appear as soon as the first are measured."
                )
                if not library.feature_sets
                else tr("A metric defines similarity. It is tested on patients not used for training."),
                tr("Prepare for searching"),
                self.prepare_requested.emit,
            )
        elif self._pending_query is not None:
            self._empty.show_message(
                tr("Searching"), tr("The first search takes longer, because the library is read once.")
            )
        elif self._state.query is not None:
            self._empty.show_message(
                tr("No results"),
                tr("The last search failed or was stopped."),
                tr("Search again"),
                self._context.actions["rank_again"].trigger,
            )
        else:
            self._empty.show_message(
                tr("Search with a case"), tr("Click a case in the library, or drop an image on Query.")
            )

    def _search_with(self, case_row: int) -> None:
        index = self._state.columns.index_of_row(case_row)
        if index >= 0:
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[index]))


def _nearest_mark_notes(ranking: SearchResult, columns: CaseColumns) -> dict[int, tuple[str, str]]:
    """By catalogue row, what the marks did: the marked cases that a case is near to, by their ranks and by their names.
    Empty without marks."""
    if not ranking.marks:
        return {}
    ranks = {case.case_id: str(case.rank) for case in ranking.ranked}
    liked, disliked = ranking.marks.liked, ranking.marks.disliked

    def rank(case: str) -> str:
        # A marked case may be grouped, hidden or beyond the list. Its name would be too long for a card.
        return ranks.get(case, "")

    def note(case: RankedCase) -> tuple[str, str]:
        if case.case_id in liked or case.case_id in disliked:
            # The longer form stands in the description already.
            return (SHORT_JUDGEMENT_TEXTS[1 if case.case_id in liked else -1], "")
        return near(case.near_liked, case.near_disliked, case.nearer_to_liked)

    # Many cases are near to the same few marks.
    @cache
    def near(liked: str | None, disliked: str | None, nearer_to_liked: bool) -> tuple[str, str]:
        return (
            _near_text(liked, disliked, nearer_to_liked, rank),
            _near_text(liked, disliked, nearer_to_liked, columns.name_of_id),
        )

    return {case.row: note(case) for case in ranking.ranked}


def _text_notes(ranking: SearchResult, notes: dict[int, tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """``notes`` with where the cases have the words that the order follows; what a mark did comes first."""
    hits = {} if ranking.text is None else ranking.text.hits
    if not hits:
        return notes
    found: dict[int, tuple[str, str]] = {case.row: notes.get(case.row, ("", "")) for case in ranking.ranked}
    for row, hit in hits.items():
        short, long = found.get(row, ("", ""))
        words, where = hit_texts(hit)
        found[row] = (short or words, ", ".join(filter(None, (long, where))))
    return found


def _near_text(
    liked: str | None, disliked: str | None, nearer_to_liked: bool, name: Callable[[str], str]
) -> str:
    """ "near 1, far from 9" for the marked cases that a case is nearest to. A case without a name is left out; one that
    is near is told by its mark."""
    near, far = (liked, disliked) if nearer_to_liked else (disliked, liked)
    if near is None:
        return ""
    if not name(near):
        return tr("near a + mark") if nearer_to_liked else tr("near a \N{EN DASH} mark")
    if far is None or not name(far):
        return tr("near {case}", case=name(near))
    return tr("near {case}, far from {other}", case=name(near), other=name(far))


def adjustments_text(ranked: RankedSearch | None) -> str:
    """What changes a ranking besides metric, query and marks: concepts, and groups of features left out. Empty if there
    is nothing."""
    if ranked is None:
        return ""
    search = ranked.search
    concepts = sum(1 for _, amount in search.concepts if amount) if ranked.refused is None else 0
    adjustments = [tr("by {what}", what=tr_n("{n} concept", "{n} concepts", concepts))] if concepts else []
    adjustments += (
        [tr("without {groups}", groups=", ".join(map(tr_name, search.without)))] if search.without else []
    )
    return ", ".join(adjustments)


def _bar_maximum(distances: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """The distance at which a card's bar is full: 1.25 times the largest of the first twenty."""
    return float(distances[:20].max()) * 1.25 if len(distances) else None
