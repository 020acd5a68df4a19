"""The Ranking panel: the nearest cases, what was hidden, and what their findings are."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from app.context import Context
from app.models.deck import Deck, distance_text
from app.models.thumbnails import ThumbnailSource
from app.operations import searching
from app.panels.ranking_greys import QueryGreys
from app.panels.ranking_judging import RankingJudging
from app.theme import news, theme
from app.widgets.case_grid import CaseGrid
from app.widgets.elided_label import ElidedLabel
from app.widgets.empty_state import EmptyState
from app.widgets.finding_chip import SIDE, chip_pixmap
from app.widgets.panel_header import PanelHeader, header_button
from app.widgets.view_switch import ViewSwitch
from core.evaluation.held_out_votes import VOTERS
from core.library.columns import CaseColumns
from core.searches.query import Query
from core.workflows.searching import SearchResult

STRIP = 56
#: Whether cards glide to a new order, in the settings.
GLIDE = "glide"


class RankingPanel(QWidget):
    """Ranked cases as cards; a double click (``compare_wanted``) sets one beside the query."""

    menu_wanted = Signal(int, QPoint)
    compare_wanted = Signal(int)
    extract_wanted = Signal()
    train_wanted = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

        self.same_patient = QCheckBox("same patient hidden")
        self.alike = QCheckBox("alike folded")
        for box, tip in (
            (self.same_patient, "Other cases of the query's patient are left out"),
            (self.alike, "Pictures with the very same content count once"),
        ):
            box.setChecked(True)
            box.setToolTip(tip)
        self.same_patient.toggled.connect(lambda on: self._option(hide_same_patient=on))
        self.alike.toggled.connect(lambda on: self._option(fold_alike=on))

        self.header = PanelHeader("Ranking")
        self.greys = header_button("contrast", "Greys as the query's: the same brightness and contrast")
        self.greys.setCheckable(True)
        self.view = ViewSwitch()
        self.view.changed.connect(self._set_view)
        for widget in (self.same_patient, self.alike, self.greys, self.view):
            self.header.add_action(widget)
        self._strip = _Strip()
        self.grid = CaseGrid()
        self.grid.set_source(thumbnails)
        self._greys = QueryGreys(context, thumbnails, self)
        self._greys.source_changed.connect(self.grid.set_source)
        self.greys.toggled.connect(self._greys.turn)
        self.grid.setAccessibleName("Ranked cases, nearest first")
        self.judging = RankingJudging(context, self.grid, self)
        self.grid.activated.connect(self.compare_wanted)
        self.grid.menu_wanted.connect(self.menu_wanted)
        self._empty = EmptyState()
        #: What the cards now shown answer.
        self._shown: Query | None = None
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.grid)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._strip)
        column.addWidget(self.judging.bar)
        column.addWidget(self._pages, 1)

        self._state.ranking_changed.connect(self._renew)
        self._state.metric_changed.connect(self._renew)
        self._state.query_changed.connect(self._renew)
        self._state.cases_changed.connect(self._renew)
        self._state.options_changed.connect(self._follow_options)
        news.changed.connect(self._restyle)
        self._set_view("list" if context.settings.text("ranking_view") == "list" else "grid")
        self._renew()

    def current_case(self) -> str | None:
        """The id of the case that is current here."""
        index = self._state.columns.index_of_row(self.grid.current())
        return self._state.columns.ids[index] if index >= 0 else None

    def ask_current(self) -> None:
        self._ask(self.grid.current())

    @property
    def told(self) -> str:
        """What the header says beside the title."""
        ranking = self._state.ranking
        if ranking is None:
            return ""
        return f"{ranking.compared:,} in {1000 * sum(ranking.seconds.values()):.0f} ms"

    def _set_view(self, name: str) -> None:
        self._context.settings.set_text("ranking_view", name)
        self.view.set_value(name)
        self.grid.set_rows(name == "list")

    def _option(self, *, hide_same_patient: bool | None = None, fold_alike: bool | None = None) -> None:
        before = (self._state.hide_same_patient, self._state.fold_alike)
        self._state.set_option(hide_same_patient=hide_same_patient, fold_alike=fold_alike)
        if before != (self._state.hide_same_patient, self._state.fold_alike):
            searching.rank(self._context)

    def _follow_options(self) -> None:
        self.same_patient.setChecked(self._state.hide_same_patient)
        self.alike.setChecked(self._state.fold_alike)

    def _renew(self) -> None:
        ranking, columns = self._state.ranking, self._state.columns
        self.header.set_second(self.told)
        self._tell_hidden()
        if ranking is None or not len(columns):
            self._strip.setVisible(False)
            self.grid.set_deck(Deck(columns))
            self._say_what_next()
            return
        same, self._shown = ranking.query == self._shown, ranking.query
        glide = same and self._context.settings.flag(GLIDE, default=True)
        self.grid.set_deck(self._deck(ranking, columns), keep_place=same, glide=glide)
        self._strip.show_ranking(ranking, columns)
        self._strip.setVisible(True)
        self._pages.setCurrentWidget(self.grid)

    def _deck(self, ranking: SearchResult, columns: CaseColumns) -> Deck:
        asked = self._state.asked
        moved = asked.shifts if asked is not None and asked.shifts else (0,) * len(ranking.ranked)
        shown = [
            (index, case, shift)
            for case, shift in zip(ranking.ranked, moved, strict=True)
            if (index := columns.index_of_row(case.row)) >= 0
        ]
        distances = np.array([case.distance for _, case, _ in shown], dtype=np.float64)
        return Deck(
            columns,
            np.array([index for index, _, _ in shown], dtype=np.intp),
            distances,
            np.array([case.alike for _, case, _ in shown], dtype=np.int64),
            np.array([case.rank for _, case, _ in shown], dtype=np.int64),
            np.array([shift for _, _, shift in shown], dtype=np.int64) if any(moved) else None,
            full=_full(distances),
            judgements=self.judging.verdicts(),
        )

    def _restyle(self) -> None:
        if self._state.ranking is not None and not self._strip.isHidden():
            self._strip.show_ranking(self._state.ranking, self._state.columns)

    def _tell_hidden(self) -> None:
        """How many cases the two switches leave out of the present ranking."""
        ranking = self._state.ranking
        for box, text, hidden in (
            (self.same_patient, "same patient hidden", ranking.same_patient if ranking else 0),
            (self.alike, "alike folded", ranking.near_duplicates if ranking else 0),
        ):
            box.setText(f"{text} ({hidden})" if hidden and box.isChecked() else text)

    def _say_what_next(self) -> None:
        """An empty ranking says what is missing: features, a metric, or a query."""
        self._pages.setCurrentWidget(self._empty)
        library = self._state.library
        if library is None or not len(library.columns):
            self._empty.say("No cases yet", "Add pictures to this library: File > Add pictures.")
        elif not library.writable and self._state.metric is None:
            self._empty.say(
                "No metric to ask with",
                "The library is open for looking only. Copy it to a folder you may write to; train there.",
            )
        elif not library.feature_sets:
            self._empty.say(
                "No features yet",
                "Features are the numbers cases are compared by. They are extracted once, in the background.",
                "Extract features…",
                self.extract_wanted.emit,
            )
        elif self._state.metric is None:
            self._empty.say(
                "No metric yet",
                "A metric says what similar means. Train one; it is scored on patients it never saw.",
                "Train a metric",
                self.train_wanted.emit,
            )
        else:
            self._empty.say("Ask with a case", "Choose a case in the library, or drop a picture on Query.")

    def _ask(self, case_row: int) -> None:
        index = self._state.columns.index_of_row(case_row)
        if index >= 0:
            searching.ask(self._context, Query(case=self._state.columns.ids[index]))


def _full(distances: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """The distance that fills a card's bar: a little beyond the twentieth."""
    return float(distances[min(len(distances), 20) - 1]) * 1.25 if len(distances) else None


class _Strip(QFrame):
    """The findings of the nearest cases in words and as chips; support, not a diagnosis."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("strip")
        # Long names of findings are shortened: they may not push the other panels together.
        self._counts = ElidedLabel(role="outcome")
        self._chips = _Chips()
        self._note = QLabel()
        self._note.setProperty("role", "second")
        self._quiet = QLabel("Support, not a diagnosis")
        self._quiet.setProperty("role", "small")
        left = QVBoxLayout()
        left.setSpacing(4)
        self._head = QLabel()
        self._head.setProperty("role", "second")
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self._head)
        line.addWidget(self._counts, 1)
        left.addLayout(line)
        left.addWidget(self._chips)
        right = QVBoxLayout()
        right.setSpacing(4)
        right.addWidget(self._note, 0, Qt.AlignmentFlag.AlignRight)
        right.addWidget(self._quiet, 0, Qt.AlignmentFlag.AlignRight)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addLayout(left, 1)
        row.addLayout(right)

    def show_ranking(self, ranking: SearchResult, columns: CaseColumns) -> None:
        """Counts of the nearest; until a vote is calibrated there is no probability to show."""
        self.setFixedHeight(theme().px(STRIP))
        nearest = ranking.ranked[:VOTERS]
        self._head.setText(f"{len(nearest)} nearest:")
        words = [f"{n} {finding}" for finding, n in ranking.counts.items()]
        rest = len(nearest) - sum(ranking.counts.values())
        if rest:
            words.append(f"{rest} not given")
        self._counts.setText(", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else ""))
        codes = {name: code for code, name in enumerate(columns.findings)}
        self._chips.set_chips(
            [(codes.get(c.finding or "", -1), columns.letters.get(c.finding or "", "?")) for c in nearest]
        )
        if ranking.no_good_match and ranking.usual_distance is not None:
            usual = distance_text(ranking.usual_distance)
            self._note.setText(f"<b>No good match</b>: nearest is beyond the usual {usual}")
            self._note.setToolTip("The nearest case is farther than is usual in this library.")
        else:
            self._note.setText("Counts only: no calibrated estimate")
            self._note.setToolTip("An estimate is shown once the vote was calibrated on held-out patients.")


class _Chips(QWidget):
    """The findings of the nearest cases in order of rank."""

    def __init__(self) -> None:
        super().__init__()
        self._chips: list[tuple[int, str]] = []
        self.setFixedHeight(SIDE + 2)

    def set_chips(self, chips: list[tuple[int, str]]) -> None:
        self._chips = chips
        self.setFixedHeight(theme().px(SIDE) + 2)
        self.setAccessibleName("Findings of the nearest: " + " ".join(letter for _, letter in chips))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        for place, (code, letter) in enumerate(self._chips):
            painter.drawPixmap(
                place * (theme().px(SIDE) + 3), 1, chip_pixmap(code, letter, self.devicePixelRatioF())
            )
