"""What a person does on the cards: marks and comparisons, slices of volumes, and the window of the query's image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton, QToolTip

from semblance.app.search.feedback import mark_cards
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.last_views import LastView
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.thumbnail_loader import Done, ThumbnailLoader, ThumbnailSource
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.feedback.judgements import (
    Judgement,
    JudgementKind,
    comparison_judgement,
    is_mark,
)
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: How many of the visible cases a single mark is compared with, at most.
MAX_VISIBLE = 40
_MARKS = {JudgementKind.ALIKE: 1, JudgementKind.NOT_ALIKE: -1}

#: Longest side of the slices in pixels, enough for the largest cards.
_SIDE = 320

#: The window must stay unchanged this long before thumbnails are made with it.
SETTLED_MS = 250


class CardFeedback(QObject):
    """Saves the marks and comparisons that are made in ``grid``."""

    def __init__(self, context: Context, grid: CaseGrid, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._grid = context, context.state, grid
        #: Marks shown but not yet saved, by catalogue row. 0 removes a mark.
        self._pending: dict[int, int] = {}
        #: The marks in the ledger, for this ranking, query and library.
        self._saved_cache: (
            tuple[tuple[RankedSearch, Query, CaseColumns], dict[int, tuple[int, int]]] | None
        ) = None
        #: Library and metric for which it was requested whether judgements can refine the metric.
        self._checked_metric: tuple[LibraryLocation | None, str] = (None, "")
        self.bar = CompareBar(grid.comparison.cancel)
        grid.set_multiple(True)
        grid.judged.connect(self._mark_card)
        grid.comparison.compared.connect(self.compare)
        grid.comparison.changed.connect(self._show_comparing)
        self._state.on_change(Change.REFUSAL | Change.RANKING | Change.SERVER, self, self._update_judging)
        self._state.on_change(Change.QUERY | Change.LIBRARY, self, self._reset)
        self._update_judging()

    def marks(self) -> Mapping[int, int]:
        """1 alike, -1 not alike, by catalogue row: the marks of the current query."""
        saved = {row: mark for row, (mark, _) in self._saved_marks().items()}
        return {row: mark for row, mark in (saved | self._pending).items() if mark}

    def judge(self, mark: int, rows: Sequence[int] = ()) -> None:
        """Mark ``rows``, or the selected cases, as alike (1) or not alike (-1). The same mark again removes it."""
        selected = [row for row in rows or self._grid.selected().tolist() if row not in self._pending]
        if not self._state.can_judge or not selected:
            return
        saved = self._saved_marks()
        unmarked = [row for row in selected if saved.get(row, (0, 0))[0] != mark]
        if not unmarked:
            self._follow(mark_cards.undo(self._context, [saved[row][1] for row in selected]), selected, 0)
            return
        ids, shown = list(map(self._id, unmarked)), self._visible_case_ids()
        job = mark_cards.mark_cases(self._context, ids, positive=mark > 0, shown=shown)
        self._follow(job, unmarked, mark)

    def compare(self, closer_row: int, farther_row: int) -> None:
        """Save that one case is closer to the query than the other."""
        search = self._state.search
        if search is None or not self._state.can_judge:
            return
        if self._state.refusal is not None:
            # A comparison only refines the metric; it does not order a search as marks do.
            self._context.messages.warning(self._state.refusal.message, self._state.refusal.hint)
            return
        try:
            judgement: Judgement = comparison_judgement(search, self._id(closer_row), self._id(farther_row))
        except BadInput as error:
            self._context.messages.error(error)
            return
        mark_cards.judge(self._context, [judgement])

    def compare_current(self) -> None:
        """Use the current case as the closer case, or as the farther one if a comparison has begun."""
        current, comparing = self._grid.current(), self._grid.comparison
        if current != NONE and not comparing.finish(current):
            comparing.cancel() if comparing.pending else comparing.begin(current)

    def fill_menu(self, menu: QMenu, rows: Sequence[int], *, is_ranking: bool) -> None:
        """Add the entries that mark the cases of ``rows``, and compare them if the menu ``is_ranking``'s."""
        if not self._state.can_judge:
            return
        marks = self.marks()
        menu.addSeparator()
        for mark, text, key in ((1, tr("More like this"), "U"), (-1, tr("Less like this"), "D")):
            label = text if len(rows) < 2 else tr("{n} cases: {what}", n=len(rows), what=text)
            action = menu.addAction(f"{label}\t{key}", partial(self.judge, mark, rows))
            action.setCheckable(True)
            action.setChecked(all(marks.get(row) == mark for row in rows))
        if is_ranking and len(rows) == 1 and self._state.refusal is None:
            pending = self._grid.comparison.closer
            compare_label = (
                tr("Mark as closer than…") if pending in (NONE, rows[0]) else tr("Mark as the farther case")
            )
            menu.addAction(f"{compare_label}\tT", self.compare_current)

    # Implementation

    def _saved_marks(self) -> dict[int, tuple[int, int]]:
        """(mark, id of the judgement) by catalogue row, for the judgements in force of the current query."""
        search, ranked_search, columns = self._state.search, self._state.ranked_search, self._state.columns
        if search is None or ranked_search is None:
            return {}
        key = (ranked_search, search.query, columns)
        if self._saved_cache is not None and all(
            a is b for a, b in zip(self._saved_cache[0], key, strict=True)
        ):
            return self._saved_cache[1]
        out: dict[int, tuple[int, int]] = {}
        for entry in ranked_search.entries:
            judgement = entry.judgement
            if entry.undone is None and is_mark(judgement, search.query):
                index = columns.index_of_id(judgement.case)
                if index >= 0:
                    out[int(columns.case_row[index])] = (_MARKS[judgement.kind], entry.id)
        self._saved_cache = (key, out)
        return out

    def _follow(self, job: Job | None, rows: Sequence[int], mark: int) -> None:
        """Show the mark at once, until it is saved."""
        if job is None:
            return
        self._pending |= dict.fromkeys(rows, mark)
        self._grid.set_judgements(dict(self.marks()))
        job.ended.connect(lambda: self._finish_saving(rows))

    def _finish_saving(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._pending.pop(row, None)
        self._grid.set_judgements(dict(self.marks()))

    def _reset(self) -> None:
        self._pending.clear()
        self._grid.comparison.cancel()

    def _update_judging(self) -> None:
        metric = self._state.metric.name if self._state.metric else ""
        if self._state.ranking is not None and self._checked_metric != (self._state.path, metric):
            self._checked_metric = (self._state.path, metric)
            self._state.refusal = None
            mark_cards.check_metric(self._context)
        self._grid.set_judging(self._state.ranking is not None, self._state.why_not_written)

    def _mark_card(self, row: int, mark: int) -> None:
        selected = self._grid.selected().tolist()
        self.judge(mark, selected if row in selected else [row])

    def _show_comparing(self, row: int) -> None:
        columns = self._state.columns
        self.bar.show_case(columns.name(columns.index_of_row(row)) if row != NONE else "")

    def _id(self, row: int) -> str:
        columns = self._state.columns
        return columns.ids[columns.index_of_row(row)]

    def _visible_case_ids(self) -> list[str]:
        model = self._grid.model()
        return [model.columns.ids[model.index(place)] for place in self._grid.visible_places()][:MAX_VISIBLE]


class CompareBar(QFrame):
    """Says that a comparison needs its second case, and how to cancel it."""

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
        theme_signals.changed.connect(self._update_height)
        self._update_height()
        self.hide()

    @property
    def text(self) -> str:
        """Its text; empty while it is hidden."""
        return "" if self.isHidden() else self._text.text()

    def show_case(self, case: str) -> None:
        """``case`` is the closer case; empty hides the bar."""
        self._text.setText(
            tr("{case} is closer than … click the farther case, or go there and press T", case=case)
        )
        self.setVisible(bool(case))

    def _update_height(self) -> None:
        self.setFixedHeight(theme().px(30))


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
        before = state.last_views.get(key) or LastView(slices // 2)
        view = replace(before, place=min(max(before.place + steps, 0), slices - 1))
        state.last_views.store(key, view)
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
            if state.path == path and image.pixels is not None and source is not None:
                source.replace(case_row, image.pixels)

        job.done.connect(show)


class QueryWindowLevel(QObject):
    """``source_changed(source)``: the ``usual`` thumbnails, or those made with the query's window and level."""

    source_changed = Signal(object)

    def __init__(self, context: Context, default: ThumbnailSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state, self._default = context, context.state, default
        self._enabled = False
        self._loader = ThumbnailLoader(self._fetch, self)
        self._loader.drag_images = default.drag_images
        self._delay = one_shot(self, self._refresh, SETTLED_MS)
        self._state.on_change(Change.WINDOW_LEVEL, self, self._schedule_refresh)
        self._state.on_change(Change.LIBRARY, self, self._loader.clear)

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
        use_query = self._enabled and self._state.window_level is not None
        self.source_changed.emit(self._loader if use_query else self._default)

    def _fetch(self, rows: list[int], done: Done) -> None:
        path, window_level = self._state.path, self._state.window_level
        if path is None or window_level is None:
            done([])
            return
        try:
            job = self._context.jobs.run(
                tr("Thumbnails with the query's window/level"),
                card_images.card_images,
                path,
                rows,
                _SIDE,
                window_level,
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
