"""Mark cards, from the gesture to the saved judgement: clicks, keys, buttons, undo, and what they show at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.settings import AUTHOR
from semblance.app.shell.state import Change, WindowState
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.mark_button import BUTTON_GAP, LESS_LIKE, MORE_LIKE, MarkButton
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import account
from semblance.core.searches.feedback.influence import Influence
from semblance.core.searches.feedback.judgements import (
    Judgement,
    JudgementKind,
    comparison_judgement,
    is_mark,
    likeness_judgement,
)
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.feedback import refine_metric
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore
from semblance.core.workflows.searches.rank_cases import RankedSearch

_INFLUENCE, _SCORE = "influence", "held-out score"
#: Channel of the scores of the learning curve.
CURVE = "learning curve"
#: Channel of the questions about the query, or about any query.
QUESTION = "question {}"
#: Channels of the search process whose work a judgement does not wait for.
_GIVE_WAY = (
    _INFLUENCE,
    _SCORE,
    CURVE,
    QUESTION.format(False),
    QUESTION.format(True),
    search_operations.DIFFERENCES,
    search_operations.PRELOAD,
)
#: Jobs that save judgements.
_judgement_jobs: WeakSet[Job] = WeakSet()


def author(context: Context) -> str:
    """The author of the judgements: the name in the settings, or that of the system account."""
    return context.settings.text(AUTHOR) or account()


def save_judgements(
    context: Context, judgements: Sequence[Judgement], replaced: Sequence[int] = ()
) -> Job | None:
    """Save judgements that were made together, and rank again; ``replaced``: ids of judgements to undo."""
    return _change(
        context, refine_metric.add_judgements, judgements, replaced=replaced, author=author(context)
    )


def mark_cases(
    context: Context, cases: Sequence[str], *, positive: bool, shown: Sequence[str] = ()
) -> Job | None:
    """Mark ``cases``, ids or paths of images from outside, as more or as less like the query; an earlier mark on one of
    them is undone. A case in which the search found a place is marked by it. ``shown``: ids of the cases on screen."""
    state = context.state
    if state.search is None or state.ranked_search is None or not state.can_judge or not cases:
        return None
    if state.search.strength == 0.0:
        # The order before the marks is on screen: a mark shows its effect.
        state.change_search(strength=1.0)
    search = state.search
    try:
        places = {
            one.case_id: one.place.region
            for one in state.ranked_search.result.ranked
            if one.place is not None
        }
        judgements = [likeness_judgement(search, case, positive, shown, places.get(case)) for case in cases]
    except BadInput as error:
        context.messages.error(error)
        return None
    replaced = [
        entry.id
        for entry in state.ranked_search.entries
        if entry.undone is None and is_mark(entry.judgement, search.query) and entry.judgement.case in cases
    ]
    return save_judgements(context, judgements, replaced)


def mark_image_file(context: Context, parent: QWidget) -> None:
    """Let the user choose an image that is not in the library, and mark it as more like the query."""
    title = tr("More like an image file")
    if chosen := choose_file(parent, title, search_operations.FILE_FILTER):
        mark_cases(context, [str(chosen.absolute())], positive=True)


def undo(context: Context, ids: Sequence[int] = ()) -> Job | None:
    """Undo judgements; without ``ids`` the newest."""
    return _change(context, refine_metric.undo_judgements, ids)


def redo(context: Context, ids: Sequence[int] = ()) -> Job | None:
    """Redo judgements; without ``ids`` those undone last."""
    return _change(context, refine_metric.redo_judgements, ids)


def reset(context: Context) -> Job | None:
    """Undo all judgements of the search."""
    return _change(context, refine_metric.undo_all_judgements)


def clear_marks(context: Context) -> Job | None:
    """Undo the marks of the current query."""
    return _change(context, refine_metric.clear_marks)


def set_strength(context: Context, strength: float) -> None:
    """Set how much the judgements count, 0 to 1."""
    before = context.state.search
    context.state.change_search(strength=strength)
    if context.state.search != before:
        search_operations.rank(context)


def use_other_marks(context: Context, *, on: bool) -> None:
    """Let the judgements on other queries refine the metric, or rank by the plain metric."""
    context.state.change_search(refined=on)
    search_operations.rank(context)


def use_marks_set_aside(context: Context) -> Job | None:
    """Mark the cases for the present query that are marked on another region of its image, or on the whole of it."""
    state, search = context.state, context.state.search
    if search is None:
        return None
    aside = state.marks_set_aside
    judgements = [
        likeness_judgement(search, case, is_liked)
        for is_liked, cases in ((True, aside.liked), (False, aside.disliked))
        for case in cases
    ]
    return save_judgements(context, judgements) if judgements else None


def _change(
    context: Context, function: Callable[..., RankedSearch], *args: Any, **options: Any
) -> Job | None:
    """Change the ledger and rank again. A judgement is never dropped for a later one."""
    state, search = context.state, context.state.search
    path = state.location
    if path is None or search is None:
        return None
    job = context.jobs.run(
        tr("Saving a mark"),
        function,
        path,
        search,
        *args,
        k=context.settings.similar_cases,
        pool=WorkerPool.SEARCH,
        quiet=True,
        **options,
    )
    _judgement_jobs.add(job)
    # Whatever is requested again when one of these ends comes after the judgement.
    for channel in _GIVE_WAY:
        context.jobs.cancel_channel(channel)

    def show(ranked_search: RankedSearch) -> None:
        # If the search changed in the meantime, its own ranking arrives.
        if state.location == path and state.search == ranked_search.search:
            state.set_ranked_search(ranked_search)

    def fail(error: SemblanceError) -> None:
        context.messages.error(error)
        if state.location == path:
            # Show the marks that are really saved.
            state.set_ranked_search(state.ranked_search)

    job.done.connect(show)
    job.failed.connect(fail)
    return job


def wait_for_judgements(context: Context) -> None:
    """Wait until all judgements are saved, before the program ends."""
    for job in list(context.jobs.active):
        if job in _judgement_jobs:
            context.jobs.wait(job)


def check_metric(context: Context) -> None:
    """Find out whether judgements can refine the current metric, for :attr:`State.refusal`."""
    state = context.state
    if state.location is None or state.metric is None:
        return
    path, metric = state.location, state.metric.name

    def set_refusal(refusal: BadInput | None) -> None:
        if state.location == path and state.metric is not None and state.metric.name == metric:
            state.set_refusal(refusal)

    # If the metric cannot be opened, ranking has failed and shown the error.
    context.jobs.run(
        "", refine_metric.refusal, path, metric, pool=WorkerPool.SEARCH, channel="refusal", quiet=True
    ).done.connect(set_refusal)


def fetch_influence(context: Context, then: Callable[[list[Influence]], None], k: int = 20) -> Job | None:
    """Compute how each judgement changes the first ``k`` ranks."""
    state = context.state
    if state.location is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Influence of each mark"),
        refine_metric.influence,
        state.location,
        state.search,
        k=k,
        pool=WorkerPool.SEARCH,
        channel=_INFLUENCE,
    )
    return context.follow(job, then)


def fetch_score(
    context: Context, then: Callable[[HeldOutScore | None], None], *, channel: str = _SCORE
) -> Job | None:
    """Score the refined metric on cases that are neither used for training nor judged."""
    state = context.state
    if state.location is None or state.search is None:
        return None
    job = context.jobs.run(
        "",
        refine_metric.held_out_score,
        state.location,
        state.search,
        pool=WorkerPool.SEARCH,
        channel=channel,
        quiet=True,
    )
    job.done.connect(then)
    return job


#: How many of the visible cases a single mark is compared with, at most.
MAX_VISIBLE = 40
_MARKS = {JudgementKind.ALIKE: 1, JudgementKind.NOT_ALIKE: -1}


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
        grid.set_multiple(True)
        grid.judged.connect(self._mark_card)
        grid.comparison.compared.connect(self.compare)
        self._state.on_change(Change.REFUSAL | Change.RANKING | Change.SERVER, self, self._update_judging)
        self._state.on_change(Change.QUERY | Change.LIBRARY, self, self._reset)
        self._update_judging()

    def marks(self) -> Mapping[int, int]:
        """1 alike, -1 not alike, by catalogue row: the marks of the current query."""
        saved = {row: mark for row, (mark, _) in self._saved_marks().items()}
        return {row: mark for row, mark in (saved | self._pending).items() if mark}

    def mark_rows(self, mark: int, rows: Sequence[int] = ()) -> None:
        """Mark ``rows``, or the selected cases, as alike (1) or not alike (-1). The same mark again removes it."""
        selected = [row for row in rows or self._grid.selected().tolist() if row not in self._pending]
        if not self._state.can_judge or not selected:
            return
        saved = self._saved_marks()
        unmarked = [row for row in selected if saved.get(row, (0, 0))[0] != mark]
        if not unmarked:
            self._follow(undo(self._context, [saved[row][1] for row in selected]), selected, 0)
            return
        ids, shown = list(map(self._id, unmarked)), self._visible_case_ids()
        job = mark_cases(self._context, ids, positive=mark > 0, shown=shown)
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
        save_judgements(self._context, [judgement])

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
        texts = mark_texts(self._state)
        actions = self._context.actions
        for mark, text in ((MORE_LIKE, texts[1]), (LESS_LIKE, texts[-1])):
            label = text if len(rows) < 2 else tr("{n} cases: {what}", n=len(rows), what=text)
            label = actions.menu_text(label, _COMMANDS[mark])
            action = menu.addAction(label, partial(self.mark_rows, mark, rows))
            action.setCheckable(True)
            action.setChecked(all(marks.get(row) == mark for row in rows))
        if is_ranking and len(rows) == 1 and self._state.refusal is None:
            pending = self._grid.comparison.closer
            compare_label = (
                tr("Mark as closer than…") if pending in (NONE, rows[0]) else tr("Mark as the farther case")
            )
            menu.addAction(actions.menu_text(compare_label, "judge_closer"), self.compare_current)

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
                row = columns.row_of_id(judgement.case)
                if row >= 0:
                    out[row] = (_MARKS[judgement.kind], entry.id)
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
        if self._state.ranking is not None and self._checked_metric != (self._state.location, metric):
            self._checked_metric = (self._state.location, metric)
            self._state.refusal = None
            check_metric(self._context)
        texts, actions = mark_texts(self._state), self._context.actions
        self._grid.mark_tips = {
            mark: actions.text_with_key(text, _COMMANDS[mark]) for mark, text in texts.items()
        }
        self._grid.set_judging(self._state.ranking is not None, self._state.why_not_written)

    def _mark_card(self, row: int, mark: int) -> None:
        selected = self._grid.selected().tolist()
        self.mark_rows(mark, selected if row in selected else [row])

    def _id(self, row: int) -> str:
        columns = self._state.columns
        return columns.ids[columns.index_of_row(row)]

    def _visible_case_ids(self) -> list[str]:
        model = self._grid.model()
        return [model.columns.ids[model.index(place)] for place in self._grid.visible_places()][:MAX_VISIBLE]


def mark_texts(state: WindowState) -> dict[int, str]:
    """What a mark, 1 or -1, says of a case: after a search by place it says it of the place found there."""
    if state.marks_count_places:
        return {1: tr("More like this place"), -1: tr("Less like this place")}
    return {1: tr("More like this"), -1: tr("Less like this")}


#: Mark -> its command.
_COMMANDS = {1: "judge_alike", -1: "judge_not_alike"}


class FeedbackButtons(QWidget):
    """``judged(case_row, 1 or -1)``: the case was marked. The same mark again removes it.

    ``with_text``: what they do, and their keys, stand on them.
    """

    judged = Signal(int, int)

    def __init__(self, context: Context, *, with_text: bool = False) -> None:
        super().__init__()
        self._state, self._actions, self._with_text = context.state, context.actions, with_text
        self._case: str | None = None
        self._buttons = {mark: MarkButton(mark) for mark in (MORE_LIKE, LESS_LIKE)}
        row = hbox(self, spacing=8 if with_text else BUTTON_GAP)
        for mark, button in self._buttons.items():
            button.clicked.connect(partial(self.mark_case, mark))
            row.addWidget(button)
            self._actions[_COMMANDS[mark]].changed.connect(self._refresh)
        changes = Change.RANKING | Change.REFUSAL | Change.QUERY | Change.SERVER
        self._state.on_change(changes, self, self._refresh)
        self._refresh()

    def show_case(self, case: str | None) -> None:
        """The case that the buttons mark; ``None``: none."""
        self._case = case
        self._refresh()

    def mark_case(self, mark: int, _checked: bool = False) -> None:
        """Mark the case as more (1) or less (-1) like the query."""
        row, marks = self._row, self._state.marks
        self._refresh()
        if row < 0:
            return
        # Shown at once; the ranking that follows says what is saved.
        is_marked = self._case in (marks.liked if mark > 0 else marks.disliked)
        for one, button in self._buttons.items():
            button.setChecked(one == mark and not is_marked)
        self.judged.emit(row, mark)

    def handle_key(self, event: QKeyEvent) -> bool:
        """Whether ``event`` is a key that marks the case, U or D if the user chose no other."""
        for mark, command in _COMMANDS.items():
            if self._actions.has_key(command, event):
                self.mark_case(mark)
                return True
        return False

    @property
    def _row(self) -> int:
        """The catalogue row of the case if it can be marked, else -1."""
        query = self._state.query
        if not self._state.can_judge or query is None or query.case == self._case:
            return -1
        return self._state.columns.row_of_id(self._case)

    def _refresh(self) -> None:
        marks, can_mark, texts = self._state.marks, self._row >= 0, mark_texts(self._state)
        self._buttons[MORE_LIKE].setChecked(self._case in marks.liked)
        self._buttons[LESS_LIKE].setChecked(self._case in marks.disliked)
        for mark, button in self._buttons.items():
            button.setEnabled(can_mark)
            if self._with_text:
                short = texts[mark] if mark == MORE_LIKE else tr("Less")
                button.set_text(short, self._actions.key_text(_COMMANDS[mark]))
            button.setAccessibleName(texts[mark])
            tip = self._actions.text_with_key(texts[mark], _COMMANDS[mark])
            button.setToolTip(self._state.why_not_written or tip)
