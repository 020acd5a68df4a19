"""Whatever a person does, all that is on screen belongs to the query, the ranking and the library of the window."""

from __future__ import annotations

import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.screenshot import process_events, wait_until_idle
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.settings import Settings
from semblance.app.widgets.panel import FullPage
from semblance.app.window.main_window import MainWindow
from semblance.app.window.panels import Panels
from semblance.core.imaging.region import Region
from tests.helpers.long_run import LONG
from tests.helpers.named_images import NAME, named_library, write_named, wrong_images
from tests.helpers.prompt_jobs import PromptJobs
from tests.helpers.screen_of_search import ScreenOfSearch
from tests.helpers.windows import flush

FIRST, SECOND = "First.semblance", "Second.semblance"
ROWS = st.integers(0, 40)
PLACES = st.integers(0, 12)
_OWNER = re.compile(r"\b(ant|bee)(?=\d\d|patient|level|upright|plain|learned)")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two libraries, and images from outside of which two cannot be read."""
    folder = tmp_path_factory.mktemp("made")
    named_library(folder, "ant", 18, FIRST, large_patient=8)
    named_library(folder, "bee", 8, SECOND)
    for number in (1, 2):
        write_named(folder / "outside", "out", number)
    whole = (folder / "outside" / "out01.png").read_bytes()
    (folder / "outside" / "torn01.png").write_bytes(whole[:120])
    (folder / "outside" / "torn02.dcm").write_bytes(b"nothing of an image")
    return folder


class ScreenMachine(RuleBasedStateMachine):
    """A person at the window."""

    made: ClassVar[Path]
    work: ClassVar[Path]
    steps: ClassVar[int] = 0
    examples: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        type(self).examples += 1
        self.folder = self.work / f"example {self.examples}"
        self.folder.mkdir()
        for name in (FIRST, SECOND):
            shutil.copytree(self.made / name, self.folder / name)
        self.outside = self.made / "outside"
        self.settings = QSettings(str(self.folder / "settings.ini"), QSettings.Format.IniFormat)
        #: The search when a file could not be read, and whether the full-size page and the header show the query.
        self.torn_in: object = None
        self.full_shows_query = self.header_shows_query = False
        self.is_settled = True

    # The window

    def _open(self, library: Path | None) -> None:
        self.window = MainWindow(Settings(self.settings))
        self.window.show()
        self.window.start(library)
        self.seen_errors = 0
        wait_until_idle(self.window)

    def _close(self) -> None:
        self.window.close()
        self.window.deleteLater()
        flush()

    @initialize(read=st.booleans())
    def start(self, read: bool) -> None:
        self._open(self.folder / FIRST)
        self.window.workspaces.choose("read" if read else "research")
        self._rest()

    def teardown(self) -> None:
        if hasattr(self, "window"):
            self._close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _rest(self, wait: bool = True) -> None:
        """Wait until the window is idle, or only for a moment."""
        if wait:
            wait_until_idle(self.window)
        else:
            process_events()
        # The program's own event loop does this; one that is turned by hand does not.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        self.is_settled = wait

    @property
    def state(self) -> Any:
        return self.window.state

    @property
    def full(self) -> Any:
        return self.window.parts.full

    @property
    def compare_page(self) -> Any:
        return self.window.panels.compare

    def has_library(self) -> bool:
        return self.state.library is not None

    def has_ranking(self) -> bool:
        return self.state.ranking is not None and bool(self.state.ranking.ranked)

    def _trigger(self, command: str) -> bool:
        action = self.window.context.actions[command]
        if action.isEnabled():
            action.trigger()
            return True
        return False

    # What a person does

    @rule(row=ROWS, wait=st.booleans())
    @precondition(has_library)
    def query_from_the_library(self, row: int, wait: bool) -> None:
        grid = self.window.panels.library.grid
        if len(grid.model()):
            grid.activated.emit(grid.model().case_row(row % len(grid.model())))
        self._rest(wait)

    @rule(step=st.sampled_from(["next_case", "previous_case"]), wait=st.booleans())
    @precondition(has_library)
    def next_case(self, step: str, wait: bool) -> None:
        self._trigger(step)
        self._rest(wait)

    @rule(name=st.sampled_from(["out01.png", "out02.png"]), wait=st.booleans())
    @precondition(has_library)
    def query_from_outside(self, name: str, wait: bool) -> None:
        self.window.panels.query.search_with_file(self.outside / name)
        self._rest(wait)

    @rule(name=st.sampled_from(["torn01.png", "torn02.dcm"]))
    @precondition(has_library)
    def file_that_cannot_be_read(self, name: str) -> None:
        self._rest()
        before = (
            self.state.location,
            self.state.query,
            self.state.ranked_search,
            self.state.search_content(),
        )
        messages = len(self.window.context.messages.history)
        self.window.panels.query.search_with_file(self.outside / name)
        self._rest()
        after = (self.state.location, self.state.query, self.state.ranked_search, self.state.search_content())
        assert after == before, f"{name} changed the search"
        new = self.window.context.messages.history[messages:]
        assert len(new) == 1, f"{len(new)} messages: {[one.what for one in new]}"
        assert name in new[0].what
        self.torn_in = (self.state.location, self.state.query)

    @rule(place=PLACES, mark=st.sampled_from([1, -1]), wait=st.booleans())
    @precondition(has_ranking)
    def mark(self, place: int, mark: int, wait: bool) -> None:
        ranked = self.state.ranking.ranked
        self.window.panels.ranking.grid.judged.emit(ranked[place % len(ranked)].row, mark)
        self._rest(wait)

    @rule(command=st.sampled_from(["undo_judgement", "redo_judgement", "reset_judgements", "rank_again"]))
    @precondition(has_library)
    def undo(self, command: str) -> None:
        self._rest()
        before = self.state.search_content()
        self._trigger(command)
        self._rest()
        assert self.state.search_content() == before, f"{command} changed more than marks"

    @rule(whole=st.booleans(), x=st.integers(0, 20), wait=st.booleans())
    @precondition(has_ranking)
    def region(self, whole: bool, x: int, wait: bool) -> None:
        region = None if whole else Region(x, 10, 24, 24)
        search_operations.submit_region(self.window.context, region)
        self._rest(wait)

    @rule(words=st.sampled_from(["", "ant", "level", "ant upright", "nothing has this"]), wait=st.booleans())
    @precondition(has_ranking)
    def order_by_words(self, words: str, wait: bool) -> None:
        search_operations.set_text(self.window.context, words)
        self._rest(wait)

    @rule(steps=st.sampled_from([-3, -1, 1]), wait=st.booleans())
    @precondition(has_library)
    def history(self, steps: int, wait: bool) -> None:
        search_operations.step_in_history(self.window.context, steps)
        self._rest(wait)

    @rule(steps=st.sampled_from([-2, -1, 1]))
    @precondition(has_library)
    def there_and_back(self, steps: int) -> None:
        self._rest()
        if self.state.query is None or not self.state.history.can_go(steps):
            return
        before = self.state.search_content()
        search_operations.step_in_history(self.window.context, steps)
        self._rest()
        search_operations.step_in_history(self.window.context, -steps)
        self._rest()
        # The judgements of a saved search go on in a copy.
        assert self.state.search_content() | {"ledger": ""} == before | {"ledger": ""}

    @rule(place=PLACES, note=st.sampled_from(["", "like the query"]))
    @precondition(has_ranking)
    def for_the_report(self, place: int, note: str) -> None:
        ranked = self.state.ranking.ranked
        case = ranked[place % len(ranked)].case_id
        self.state.set_in_report(case, not self.state.is_in_report(case))
        self.state.set_note(case, note)
        self._rest()

    @rule()
    @precondition(lambda self: self._compares())
    def add_to_report_in_compare(self) -> None:
        case, before = self.compare_page.current_case(), self.compare_page.in_report.isChecked()
        QTest.keyClick(self.compare_page, Qt.Key.Key_A)
        assert case is None or self.state.is_in_report(case) != before, "A is dead"
        self._rest()

    @rule(
        change=st.sampled_from(
            [{"hide_same_patient": False}, {"hide_same_patient": True}, {"diverse": 0.5}, {"diverse": 0.0}]
        ),
        wait=st.booleans(),
    )
    @precondition(has_library)
    def options(self, change: dict[str, Any], wait: bool) -> None:
        search_operations.set_options(self.window.context, **change)
        self._rest(wait)

    @rule(place=PLACES)
    @precondition(has_ranking)
    def compare(self, place: int) -> None:
        self._rest()
        if not self.has_ranking():
            return
        ranked = self.state.ranking.ranked
        if not self.full.open:
            self.window.panels.ranking.grid.set_current(ranked[place % len(ranked)].row)
        assert self._trigger("compare"), "Ctrl+M is dead"
        self._rest()
        assert self.compare_page.isVisible(), "Compare was not shown"

    @rule(key=st.sampled_from([Qt.Key.Key_Left, Qt.Key.Key_Right]), n=st.integers(1, 4))
    @precondition(lambda self: self._compares())
    def step_in_compare(self, key: Qt.Key, n: int) -> None:
        for _ in range(n):
            QTest.keyClick(self.compare_page, key)
        self._rest()

    def _compares(self) -> bool:
        return self.has_library() and self.full._is_shown("compare")

    def _page(self) -> FullPage:
        page = self.window.pages.currentWidget()
        assert isinstance(page, FullPage)
        return page

    @rule()
    @precondition(lambda self: self.has_library() and self.full.open)
    def escape(self) -> None:
        before = self._page()
        QTest.keyClick(before, Qt.Key.Key_Escape)
        self._rest()
        assert self.window.pages.currentWidget() is not before, "Esc is dead"

    @rule()
    @precondition(lambda self: self.has_library() and self.full.open)
    def back(self) -> None:
        before = self._page()
        before.back.click()
        self._rest()
        assert self.window.pages.currentWidget() is not before, "the button to go back is dead"

    @rule(detached=st.booleans())
    @precondition(lambda self: self.has_library() and self.compare_page.isVisible())
    def detach(self, detached: bool) -> None:
        if self.compare_page.detach.isChecked() != detached:
            self.compare_page.detach.click()
        self._rest()

    @rule(of_query=st.booleans(), row=ROWS)
    @precondition(has_library)
    def full_size(self, of_query: bool, row: int) -> None:
        if of_query:
            self.full.view_query()
        else:
            self.full.view_case(self.state.columns.case_row[row % len(self.state.columns)])
        if self.full.is_full_size:
            self.full_shows_query = of_query and self.state.query is not None
        self._rest()

    @rule(of_query=st.booleans(), row=ROWS)
    @precondition(has_library)
    def file_header(self, of_query: bool, row: int) -> None:
        commands = self.window.parts.commands
        pane = self.window.panels.query.pane
        if not of_query:
            commands.read_header(int(self.state.columns.case_row[row % len(self.state.columns)]))
            self.header_shows_query = False
        elif pane.view.image is not None:
            commands.show_header(pane)
            self.header_shows_query = True
        self._rest()

    @rule(command=st.sampled_from(["two_metrics", "ask_next", "data_check", "hang", "why", "refine"]))
    @precondition(has_library)
    def other_page(self, command: str) -> None:
        self._trigger(command)
        self._rest()

    @rule(name=st.sampled_from(["read", "research"]))
    @precondition(has_library)
    def layout(self, name: str) -> None:
        self._trigger(name)
        self._rest()

    @rule(name=st.sampled_from([FIRST, SECOND]), wait=st.booleans())
    def other_library(self, name: str, wait: bool) -> None:
        self.window.open_library(self.folder / name)
        self._rest(wait)

    @rule()
    @precondition(has_library)
    def close_library(self) -> None:
        self._rest()
        library_operations.close_library(self.window.context)
        self._rest()

    @rule(index=st.integers(0, 5), features=st.booleans())
    @precondition(has_library)
    def other_metric(self, index: int, features: bool) -> None:
        choice = self.window.top._all_choices["features" if features else "metric"]
        options = list(choice._options())
        if options:
            options[index % len(options)].trigger()
        self._rest()

    @rule(learner=st.sampled_from(["euclidean", "pca", "lda"]))
    @precondition(has_library)
    def train(self, learner: str) -> None:
        self._rest()
        before = self.state.metric
        self._trigger("research")
        panel = self.window.panels.side.train
        panel.set_learners([learner])
        panel.train()
        self._rest()
        self.check_training(before)

    def check_training(self, before: Any) -> None:
        """The current metric is never replaced by a worse one."""
        after = self.state.metric
        if before is None or after is None or not (before.scores and after.scores):
            return
        was, now = (one.scores["retrieval_accuracy"]["mean"][:10][-1] for one in (before, after))
        assert now >= was, f"{after.name} ({now}) replaced {before.name} ({was})"

    @rule()
    def quit_and_start(self) -> None:
        wait_until_idle(self.window)
        path, search = self.state.location, self._kept_search()
        self._close()
        self.full_shows_query = self.header_shows_query = False
        self.torn_in = None
        self._open(None)
        self._rest()
        assert (self.state.location, self._kept_search()) == (path, search)
        errors = [one.what for one in self.window.context.messages.history if one.level == "error"]
        assert not errors, errors

    def _kept_search(self) -> Any:
        # What a region is compared by without a choice is saved as it was.
        return None if self.state.query is None else self.state.search_content() | {"match": ""}

    # What must hold

    @invariant()
    def no_exception(self) -> None:
        if not hasattr(self, "window"):
            return
        type(self).steps += 1
        history = self.window.context.messages.history
        errors = [one for one in history[self.seen_errors :] if one.level == "error"]
        self.seen_errors = len(history)
        for one in errors:
            assert "torn" in one.what, f"{one.what} {one.hint} {one.details}"

    @invariant()
    def names_are_those_of_the_pixels(self) -> None:
        """At any moment: an image and the text that names it are of one case."""
        assert not wrong_images()

    @invariant()
    def everything_belongs_to_the_search(self) -> None:
        if not self.is_settled or not hasattr(self, "window"):
            return
        state = self.state
        library = {FIRST: "ant", SECOND: "bee"}.get(state.location.name if state.location else "", "")

        def check_owner(text: str, where: str) -> None:
            for owner in _OWNER.findall(text):
                assert owner == library, f"of another library: {where}"
            if "torn" in text:
                now = (state.location, state.query)
                assert now == self.torn_in, f"of a file that was refused in another search: {where}"

        screen = ScreenOfSearch(self.window)
        screen.check(check_owner)
        assert state.query is None or state.query.image is None or "torn" not in state.query.image.name
        self._check_pages(screen.query_name())

    def _check_pages(self, query: str) -> None:
        if self.has_library() and self.full.is_full_size and self.full_shows_query:
            page = self.window.panels.large
            named = NAME.search(page.header.title)
            assert named is not None and named[0] == query, "full size shows another query"
        elif not (self.has_library() and self.full.is_full_size):
            self.full_shows_query = False
        if self.compare_page.isVisible():
            # There the header follows the case that is looked at.
            self.header_shows_query = False
        header = Panels.file_header.built(self.window.panels)
        if self.has_library() and header is not None and header.isVisible() and self.header_shows_query:
            named = NAME.search(header.view._name.text())
            assert named is not None and named[0] == query, "the file header is another query's"


def test_all_on_screen_belongs_to_the_search(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qapp: QApplication
) -> None:
    monkeypatch.setattr("semblance.app.window.main_window.Jobs", PromptJobs)
    ScreenMachine.made, ScreenMachine.work = made, tmp_path
    run_state_machine_as_test(
        ScreenMachine,
        settings=settings(
            max_examples=60 if LONG else 6,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert ScreenMachine.steps >= (2_000 if LONG else 200)
