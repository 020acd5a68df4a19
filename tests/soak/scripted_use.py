"""The scripted use: what a person does with libraries all day, over and over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtTest import QTest

from semblance.app.evaluation.panel import OVERVIEW
from semblance.app.library.prepare_operations import import_and_prepare
from semblance.app.metrics.train_ticked_learner import train_ticked_learner
from semblance.app.reports import report_commands
from semblance.app.screenshot import process_events, wait_until_idle
from semblance.app.search.feedback import mark_cards
from semblance.app.search.saved import save_search
from semblance.app.shell import search_operations
from semblance.app.window.main_window import MainWindow
from semblance.core.searches.query import Query
from semblance.core.searches.search import new_ledger
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.windows import flush

REPORTS = ("report.pdf", "report.html", "report.json")


def cycles(window: MainWindow, made: Path, out: Path) -> Iterator[int]:
    """Endless rounds through two libraries; yields the number of rounds done after each."""
    places = [made / "Walk.semblance", made / "Other.semblance"]
    for number in itertools.count(1):
        _round(window, places[number % 2], made, out, number)
        # The program's own event loop does this; one that is turned by hand does not.
        flush()
        yield number


def _round(window: MainWindow, library: Path, made: Path, out: Path, number: int) -> None:
    context = window.context
    window.open_library(library)
    _until(window, lambda: window.state.location == library)
    wait_until_idle(window)
    ids = window.state.columns.ids
    for case in range(4):
        search_operations.submit_query(context, Query(case=ids[(number + 7 * case) % len(ids)]))
        wait_until_idle(window)
    window.panels.ranking.grid.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Plus, Qt.Key.Key_Right, Qt.Key.Key_Minus):
        QTest.keyClick(window.panels.ranking.grid, key)
    wait_until_idle(window)
    for command in ("view_large", "compare"):
        if window.context.actions[command].isEnabled():
            window.context.actions[command].trigger()
            wait_until_idle(window)
            QTest.keyClick(window, Qt.Key.Key_Escape)
            wait_until_idle(window)
    window.parts.full.leave_page("compare")
    window.parts.full.leave_page("large")
    _train(window, number)
    _judge(window, ids[number % len(ids)])
    _answer(window)
    _explain(window)
    _mark(window)
    _compare_metrics(window)
    _map(window)
    _save_search(window, ids)
    search_operations.submit_query(context, Query(image=made / "files" / "out01.png"))
    wait_until_idle(window)
    import_and_prepare(context, made / "ant images", library, "auto")
    wait_until_idle(window)
    search_operations.submit_query(context, Query(case=ids[0]))
    wait_until_idle(window)
    report = out / REPORTS[number % len(REPORTS)]
    report_commands.write_report(context, report)
    wait_until_idle(window)
    report.unlink()
    window.context.actions["theme"].trigger()
    window.resize(1100 + 50 * (number % 5), 800)
    wait_until_idle(window)
    _until_closed(window)


def _train(window: MainWindow, number: int) -> None:
    request = TrainRequest("bdm_v", "soaked", features="gabor", settings={"rounds": 10}, seed=number % 5)
    train_ticked_learner(window.context, request)
    wait_until_idle(window)
    assert window.state.library is not None
    assert "soaked" in [metric.name for metric in window.state.library.metrics]


def _judge(window: MainWindow, case: str) -> None:
    """Marks in a ledger of their own: one that grew from round to round would be the script's own growth."""
    state, grid = window.state, window.panels.ranking.grid
    window.parts.layout.show_side("refine")
    state.change_search(ledger=new_ledger())
    search_operations.submit_query(window.context, Query(case=case))
    wait_until_idle(window)
    grid.setFocus()
    for command in ("judge_alike", "judge_not_alike", "judge_alike"):
        ranked, marks = (
            state.ranking.ranked if state.ranking else (),
            window.panels.ranking.card_feedback.marks(),
        )
        grid.set_current(next(case.row for case in ranked if case.row not in marks))
        window.context.actions[command].trigger()
        wait_until_idle(window)
    _expect(state.judgement_count == 3, "three marks are stored")
    window.context.actions["undo_judgement"].trigger()
    wait_until_idle(window)
    _expect(state.judgement_count == 2, "one is taken back")
    window.context.actions["redo_judgement"].trigger()
    wait_until_idle(window)
    window.panels.side.refine.scores.strength.setValue(60)
    window.panels.side.refine.toggle_influence()
    wait_until_idle(window)
    mark_cards.set_strength(window.context, 1.0)
    _expect(state.judgement_count == 3, "it is redone")


def _answer(window: MainWindow) -> None:
    """Questions in full size, and back."""
    window.context.actions["ask_next"].trigger()
    wait_until_idle(window)
    questions = window.panels.ask_next.session
    _expect(questions.question is not None, "there is a question")
    for key in (Qt.Key.Key_Left, Qt.Key.Key_N, Qt.Key.Key_Space):
        QTest.keyClick(window.panels.ask_next, key)
        wait_until_idle(window)
    _expect(questions.answered == 2, "two questions are answered")
    questions.undo()
    questions.undo()
    wait_until_idle(window)
    QTest.keyClick(window.panels.ask_next, Qt.Key.Key_Escape)
    window.context.actions["reset_judgements"].trigger()
    wait_until_idle(window)


def _explain(window: MainWindow) -> None:
    """Untick what counts most, and tick it again."""
    window.parts.layout.show_side("why")
    wait_until_idle(window)
    why = window.panels.side.why
    _expect(why.shown is not None, "the explanation is shown")
    key = next(line.key for line in why.waterfall.contributions if line.key)
    why.waterfall.toggled(key, False)
    wait_until_idle(window)
    search = window.state.search
    _expect(search is not None and key in search.without, f"{key} is left out")
    why.reset()
    wait_until_idle(window)


def _mark(window: MainWindow) -> None:
    """A concept, marked, used to shift the query, and deleted again."""
    concepts, ids = window.panels.concepts, window.state.columns.ids
    concepts.add("light", [(case, place % 2 == 0) for place, case in enumerate(ids[:8])])
    wait_until_idle(window)
    made = concepts.facts[-1]
    _expect(len(made.with_) == 4, "four cases have the concept")
    concepts.set_amount(made.name, 0.5)
    wait_until_idle(window)
    concepts.delete(made.id)
    wait_until_idle(window)
    _expect(not concepts.facts, "the concept is deleted")


def _compare_metrics(window: MainWindow) -> None:
    window.context.actions["two_metrics"].trigger()
    wait_until_idle(window)
    panel = window.panels.two_metrics
    panel.set_metrics("plain", "soaked")
    wait_until_idle(window)
    panel.find_disagreements()
    wait_until_idle(window)
    QTest.keyClick(panel, Qt.Key.Key_Escape)
    wait_until_idle(window)


def _map(window: MainWindow) -> None:
    window.context.actions["map"].trigger()
    wait_until_idle(window)
    _expect(window.panels.evaluation.map.map is not None, "the library is mapped")
    window.panels.evaluation.header.tabs.setCurrentIndex(OVERVIEW)


def _save_search(window: MainWindow, ids: tuple[str, ...]) -> None:
    """A search under a name, another query, the saved one opened from the list, and deleted."""
    context, state = window.context, window.state
    window.parts.search_view.autosave.capture_view()
    save_search.save(context, "saved")
    wait_until_idle(window)
    query = state.query
    search_operations.submit_query(
        context, Query(case=next(case for case in ids if Query(case=case) != query))
    )
    wait_until_idle(window)
    window.context.actions["searches"].trigger()
    wait_until_idle(window)
    panel = window.parts.commands.searches.panel
    assert panel is not None
    panel.select("saved")
    panel.open_selected()
    wait_until_idle(window)
    _expect(state.query == query and state.search_name == "saved", "the saved search is open again")
    save_search.delete(context, "saved", lambda _token: None)
    wait_until_idle(window)


def _expect(holds: bool, what: str) -> None:
    """Use that does nothing would find nothing.

    Raises:
        RuntimeError: it does not hold.
    """
    if not holds:
        raise RuntimeError(f"The scripted use went another way: not so that {what}.")


def _until_closed(window: MainWindow) -> None:
    window.context.actions["close_library"].trigger()
    _until(window, lambda: window.state.library is None)
    wait_until_idle(window)


def _until(window: MainWindow, there: Callable[[], bool], patience_ms: int = 120_000) -> None:
    clock = QElapsedTimer()
    clock.start()
    while not there():
        process_events()
        if clock.elapsed() > patience_ms:
            raise TimeoutError(f"{window.windowTitle()}: it did not happen")
