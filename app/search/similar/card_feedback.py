"""Judging ranked cases: what thumbs, keys, the menu and dragging say goes to the ledger of the search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton

from semblance.app.search.feedback import refine_metric
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.cards.case_grid import NONE, CaseGrid
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.core.errors import BadInput
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns
from semblance.core.searches.judgement import Judgement, Kind
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.refine_metric import comparison_judgement, likeness_judgement

#: Cases on screen that a lone click is compared with, at most.
SHOWN = 40
_VERDICTS = {Kind.ALIKE: 1, Kind.NOT_ALIKE: -1}


class CardFeedback(QObject):
    """Follows the thumbs and comparisons of ``grid``."""

    def __init__(self, context: Context, grid: CaseGrid, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._grid = context, context.state, grid
        #: Verdicts shown but not yet kept, by catalogue row; 0 takes one back.
        self._on_the_way: dict[int, int] = {}
        #: What was found in the ledger for this answer, query and library.
        self._known: tuple[tuple[RankedSearch, Query, CaseColumns], dict[int, tuple[int, int]]] | None = None
        #: Library and metric of which is known, or asked, whether clicks can refine it.
        self._checked: tuple[Path | None, str] = (None, "")
        self.bar = CompareBar(grid.comparison.cancel)
        grid.set_multiple(True)
        grid.judged.connect(self._thumb)
        grid.comparison.compared.connect(self.compare)
        grid.comparison.changed.connect(self._tell_comparing)
        self._state.on_change(Change.REFUSAL | Change.RANKING, self, self._offer)
        self._state.on_change(Change.QUERY | Change.LIBRARY, self, self._forget)
        self._offer()

    def marks(self) -> Mapping[int, int]:
        """1 alike, -1 not alike, by catalogue row: what was said about the present query."""
        kept = {row: verdict for row, (verdict, _) in self._kept().items()}
        return {row: verdict for row, verdict in (kept | self._on_the_way).items() if verdict}

    def judge(self, verdict: int, rows: Sequence[int] = ()) -> None:
        """Say 1 alike or -1 not alike of ``rows``, else of what is chosen; saying it again takes it back."""
        search = self._state.search
        chosen = [row for row in rows or self._grid.selected() if row not in self._on_the_way]
        if search is None or not self._state.can_judge or not chosen:
            return
        kept = self._kept()
        fresh = [row for row in chosen if kept.get(row, (0, 0))[0] != verdict]
        try:
            made = [
                likeness_judgement(search, self._id(row), verdict > 0, self._on_screen()) for row in fresh
            ]
        except BadInput as error:
            self._context.messages.error(error)
            return
        if not fresh:
            self._follow(refine_metric.undo(self._context, [kept[row][1] for row in chosen]), chosen, 0)
            return
        instead = [kept[row][1] for row in fresh if row in kept]
        self._follow(refine_metric.judge(self._context, made, instead), fresh, verdict)

    def compare(self, closer_row: int, farther_row: int) -> None:
        """Say that one case is closer to the query than the other."""
        search = self._state.search
        if search is None or not self._state.can_judge:
            return
        try:
            made: Judgement = comparison_judgement(search, self._id(closer_row), self._id(farther_row))
        except BadInput as error:
            self._context.messages.error(error)
            return
        refine_metric.judge(self._context, [made])

    def compare_current(self) -> None:
        """The current case is the closer one; or, once there is one, the farther."""
        current, comparing = self._grid.current(), self._grid.comparison
        if current != NONE and not comparing.finish(current):
            comparing.cancel() if comparing.pending else comparing.begin(current)

    def fill_menu(self, menu: QMenu) -> None:
        """What can be said of the chosen cases."""
        if not self._state.can_judge:
            return
        rows = self._grid.selected()
        marks = self.marks()
        menu.addSeparator()
        for verdict, text, key in ((1, tr("More like this"), "U"), (-1, tr("Less like this"), "D")):
            said = text if len(rows) < 2 else tr("{n} cases: {what}", n=len(rows), what=text)
            action = menu.addAction(f"{said}\t{key}", partial(self.judge, verdict, rows))
            action.setCheckable(True)
            action.setChecked(all(marks.get(row) == verdict for row in rows))
        if len(rows) == 1:
            waiting = self._grid.comparison.closer
            words = (
                tr("Mark as closer than…") if waiting in (NONE, rows[0]) else tr("Mark as the farther case")
            )
            menu.addAction(f"{words}\tT", self.compare_current)

    # Inside

    def _kept(self) -> dict[int, tuple[int, int]]:
        """(verdict, id of the judgement) by catalogue row, of those in force about the present query."""
        search, asked, columns = self._state.search, self._state.ranked_search, self._state.columns
        if search is None or asked is None:
            return {}
        key = (asked, search.query, columns)
        if self._known is not None and all(a is b for a, b in zip(self._known[0], key, strict=True)):
            return self._known[1]
        query = search.query
        name = query.case if query.case is not None else str(query.image)
        region = None if query.region is None else query.region.to_json()
        out: dict[int, tuple[int, int]] = {}
        for entry in asked.entries:
            one = entry.judgement
            verdict = _VERDICTS.get(one.kind)
            if verdict and entry.undone is None and one.query == name and one.region == region:
                index = columns.index_of_id(one.case)
                if index >= 0:
                    out[int(columns.case_row[index])] = (verdict, entry.id)
        self._known = (key, out)
        return out

    def _follow(self, job: Job | None, rows: Sequence[int], verdict: int) -> None:
        """Show the verdict at once, until what was kept is there."""
        if job is None:
            return
        self._on_the_way |= dict.fromkeys(rows, verdict)
        self._grid.set_judgements(dict(self.marks()))
        job.ended.connect(lambda: self._arrived(rows))

    def _arrived(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._on_the_way.pop(row, None)
        self._grid.set_judgements(dict(self.marks()))

    def _forget(self) -> None:
        self._on_the_way.clear()
        self._grid.comparison.cancel()

    def _offer(self) -> None:
        metric = self._state.metric.name if self._state.metric else ""
        if self._state.ranking is not None and self._checked != (self._state.path, metric):
            self._checked = (self._state.path, metric)
            self._state.refusal = None
            refine_metric.check_metric(self._context)
        self._grid.set_judging(self._state.can_judge)

    def _thumb(self, row: int, verdict: int) -> None:
        chosen = self._grid.selected()
        self.judge(verdict, chosen if row in chosen else [row])

    def _tell_comparing(self, row: int) -> None:
        columns = self._state.columns
        self.bar.tell(columns.labels[columns.index_of_row(row)] if row != NONE else "")

    def _id(self, row: int) -> str:
        columns = self._state.columns
        return columns.ids[columns.index_of_row(row)]

    def _on_screen(self) -> list[str]:
        model = self._grid.model()
        return [model.columns.ids[model.index(place)] for place in self._grid.visible_places()][:SHOWN]


class CompareBar(QFrame):
    """Says that a comparison waits for its second case, and how to end it."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        set_look(self, message="foot")
        self._text = ElidedLabel()
        self._button = QPushButton(tr("Cancel"))
        self._button.setToolTip(tr("Esc"))
        self._button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        set_look(self._button, quiet=True)
        self._button.clicked.connect(cancel)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.addWidget(self._text, 1)
        row.addWidget(self._button)
        theme_signals.changed.connect(self._fit)
        self._fit()
        self.hide()

    @property
    def text(self) -> str:
        """What it says; empty while it is not there."""
        return "" if self.isHidden() else self._text.text()

    def tell(self, case: str) -> None:
        """``case`` is the closer one; empty ends it."""
        self._text.setText(
            tr("{case} is closer than … click the farther case, or go there and press T", case=case)
        )
        self.setVisible(bool(case))

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(30))
