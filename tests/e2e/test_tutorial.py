"""The tutorial of the help, step by step as it is written, by mouse and keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from semblance import resources
from semblance.app.reports.report_dialog import ReportDialog
from semblance.app.screenshot import wait_until_idle
from semblance.app.search.feedback.save_refined_metric import SaveRefinedDialog
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.window.main_window import MainWindow
from semblance.core.workflows import demo
from tests.helpers.demo_library import copy_demo_library
from tests.helpers.windows import open_window, wait_for

LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
D = TypeVar("D", bound=QWidget)
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def written_steps() -> list[str]:
    """The numbered steps of the tutorial, each on one line."""
    text = Path(resources.path("help/tutorial.md")).read_text(encoding="utf-8")
    text = re.sub(r"\[([^]]+)\]\(key:\w+\)", r"\1", text)
    return [" ".join(step.split()) for step in re.findall(r"^\d+\. (.+(?:\n   .+)*)", text, re.MULTILINE)]


class Player:
    """Does each step of the tutorial and checks what it promises."""

    def __init__(self, window: MainWindow, qtbot: QtBot, out: Path) -> None:
        self.window, self.qtbot, self.out = window, qtbot, out
        self.state, self.panels = window.state, window.panels
        self.ranking = window.panels.ranking.grid

    # How a person does it

    def press(self, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.window.activateWindow()
        self.qtbot.keyClick(QApplication.focusWidget() or self.window, key, held)
        wait_until_idle(self.window)

    def click(self, widget: QWidget) -> None:
        self.qtbot.mouseClick(widget, LEFT, pos=widget.rect().center())

    def click_card(self, grid: CaseGrid, row: int, *, twice: bool = False) -> None:
        grid.set_current(row)
        wait_until_idle(self.window)
        at = grid.card_rect(grid.current_place()).center()
        (self.qtbot.mouseDClick if twice else self.qtbot.mouseClick)(grid.viewport(), LEFT, pos=at)
        wait_until_idle(self.window)

    def drag(self, view: QWidget, button: Qt.MouseButton, by: QPoint) -> None:
        start = view.rect().center() - by / 2
        self.qtbot.mousePress(view, button, pos=start)
        for part in (1, 2):
            self.qtbot.mouseMove(view, start + by * part / 2)
        self.qtbot.mouseRelease(view, button, pos=start + by)
        wait_until_idle(self.window)

    def ranked_row(self, place: int) -> int:
        assert self.state.ranking is not None
        return self.state.ranking.ranked[place].row

    def answer(self, kind: type[D], fill: Callable[[D], None]) -> None:
        """Fill in the dialog ``kind`` once it is open."""

        def look() -> None:
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, kind):
                fill(dialog)
            else:
                QTimer.singleShot(20, look)

        QTimer.singleShot(20, look)

    def reordered(self, do: Callable[[], object]) -> None:
        """Do what ranks again, and wait for it."""
        before = self.state.ranking
        do()
        wait_for(self.window, lambda: self.state.ranking is not None and self.state.ranking is not before)

    # 1. and 2. Open the demo library, search with a case

    def try_the_demo(self) -> None:
        assert self.window.start_page.isVisible()
        assert not self.panels.library.isVisible()
        self.click(self.window.start_page.demo_button)

    def wait_for_the_demo(self) -> None:
        wait_for(self.window, lambda: self.state.library is not None)
        assert self.state.library is not None
        assert "bdm_v" in {metric.learner for metric in self.state.library.metrics}
        assert len(self.state.columns) == 532
        assert {"benign", "malignant"} < set(self.state.columns.findings)
        assert self.panels.library.isVisible()
        assert self.panels.ranking.isVisible()
        assert self.panels.side.why.isVisible()

    def type_a_filter(self) -> None:
        self.click(self.panels.library.search)
        self.qtbot.keyClicks(self.panels.library.search, "M003")
        wait_for(self.window, lambda: 0 < len(self.panels.library.grid.model()) < 10)

    def click_the_case(self) -> None:
        columns = self.state.columns
        (row,) = [
            int(columns.case_row[index])
            for index in range(len(columns))
            if columns.name(index) == "M003-1-R-CC"
        ]
        self.reordered(lambda: self.click_card(self.panels.library.grid, row))
        assert self.state.query is not None
        assert self.state.query.case == columns.ids[columns.index_of_row(row)]

    def look_at_similar_cases(self) -> None:
        ranking, columns = self.state.ranking, self.state.columns
        assert ranking is not None
        distances = [case.distance for case in ranking.ranked]
        assert distances == sorted(distances)
        assert self.state.query is not None
        own = columns.patient_name(columns.index_of_id(str(self.state.query.case)))
        assert own not in {case.patient for case in ranking.ranked}

    # 3. Compare two images

    def double_click_a_similar_case(self) -> None:
        self.click_card(self.ranking, self.ranked_row(1), twice=True)
        assert self.window.parts.full.comparing

    def change_the_window(self) -> None:
        one, other = (pane.view for pane in self.panels.compare.panes)
        before = one.window_level
        self.drag(one, LEFT, QPoint(40, 30))
        assert one.window_level != before
        assert other.window_level == one.window_level

    def zoom_and_move(self) -> None:
        one, other = (pane.view for pane in self.panels.compare.panes)
        before = one.viewport.zoom
        at = QPointF(one.rect().center())
        turned = QWheelEvent(
            at, one.mapToGlobal(at), QPoint(), QPoint(0, 360), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(one, turned)
        assert one.viewport.zoom > before
        there = one.viewport.x
        self.drag(one, MIDDLE, QPoint(-30, 0))
        assert one.viewport.x > there
        assert (other.viewport.zoom, other.viewport.x) == (one.viewport.zoom, one.viewport.x)

    def go_back(self) -> None:
        self.press(Qt.Key.Key_Escape)
        assert not self.window.parts.full.open

    # 4. and 5. See why a case is near, search with a region

    def ask_why(self) -> None:
        self.press(Qt.Key.Key_Y, CTRL)
        self.click_card(self.ranking, self.ranked_row(2))
        wait_for(self.window, lambda: self.panels.side.why.shown is not None)

    def read_the_sentence(self) -> None:
        assert "than" in self.panels.side.why.sentence.text()

    def read_the_bars(self) -> None:
        why = self.panels.side.why
        assert why.shown is not None
        contributions = why.waterfall.contributions
        assert sum(one.amount for one in contributions) == pytest.approx(why.shown.distance)

    def choose_the_region_tool(self) -> None:
        self.press(Qt.Key.Key_R, CTRL | SHIFT)

    def draw_a_region(self) -> None:
        self.reordered(lambda: self.drag(self.panels.query.view, LEFT, QPoint(60, 60)))
        assert self.state.query is not None
        assert self.state.query.region is not None

    def use_the_whole_image(self) -> None:
        self.reordered(lambda: self.press(Qt.Key.Key_W, CTRL | SHIFT))
        assert self.state.query is not None
        assert self.state.query.region is None

    # 6. Mark more and less similar cases

    def go_to_a_case(self) -> None:
        self.click_card(self.ranking, self.ranked_row(0))
        for _ in range(3):
            self.press(Qt.Key.Key_Right)
        assert self.ranking.current() == self.ranked_row(3)

    def mark_a_case(self) -> None:
        first = [case.case_id for case in self.state.ranking.ranked] if self.state.ranking else []
        self.reordered(lambda: self.press(Qt.Key.Key_U))
        assert self.state.ranking is not None
        assert [case.case_id for case in self.state.ranking.ranked] != first

    def mark_more(self) -> None:
        self.ranking.setFocus()
        for key in (Qt.Key.Key_D, Qt.Key.Key_U):
            for _ in range(2):
                self.press(Qt.Key.Key_Right)
            self.reordered(lambda key=key: self.press(key))
        assert self.state.judgement_count == 3

    def see_judgements(self) -> None:
        self.press(Qt.Key.Key_J, CTRL)
        assert self.window.workspaces.current.name == "research"
        assert self.panels.side.refine.list.isVisible()
        self.reordered(lambda: self.press(Qt.Key.Key_Z, CTRL))
        assert self.state.judgement_count == 2

    def save_the_refined_metric(self) -> None:
        (button,) = [
            one for one in self.panels.side.refine.findChildren(QPushButton) if "Save as new" in one.text()
        ]
        self.answer(SaveRefinedDialog, lambda dialog: self.click(dialog.save_button))
        self.click(button)
        wait_for(self.window, lambda: self.state.metric is not None and "refined" in self.state.metric.name)

    # 7. to 9. Train another metric, compare two, create a report

    def open_train(self) -> None:
        self.press(Qt.Key.Key_2, CTRL)
        self.window.parts.layout.show_side("train")
        wait_until_idle(self.window)

    def tick_metricboost(self) -> None:
        rows = self.panels.side.train.learner_rows
        for name in ("bdm_v", "metricboost"):
            box = rows[name].box
            # The box may be wider than its text.
            self.qtbot.mouseClick(box, LEFT, pos=QPoint(8, box.height() // 2))
        assert self.panels.side.train.chosen_learners() == ["metricboost"]

    def train(self) -> None:
        assert self.state.library is not None
        before = len(self.state.library.metrics)
        self.click(self.panels.side.train.train_button)
        wait_for(self.window, lambda: len(self.state.library.metrics) == before + 1)
        assert self.state.training is not None
        assert self.state.training.points

    def look_at_the_evaluation(self) -> None:
        panel = self.panels.evaluation
        assert panel.isVisible()
        assert self.state.library is not None
        assert set(panel.overview.table.names()) == {metric.name for metric in self.state.library.metrics}

    def compare_two_metrics(self) -> None:
        self.press(Qt.Key.Key_M, CTRL | SHIFT)
        assert self.panels.two_metrics.isVisible()

    def create_a_report(self) -> None:
        def save(dialog: ReportDialog) -> None:
            dialog.folder = self.out.parent
            dialog.name.setText(self.out.name)
            self.click(dialog.create_button)

        self.answer(ReportDialog, save)
        self.press(Qt.Key.Key_R, CTRL)
        wait_for(self.window, self.out.exists)
        assert self.out.read_bytes().startswith(b"%PDF")


#: How each step begins, and what does it.
STEPS: tuple[tuple[str, Callable[[Player], None]], ...] = (
    ("Press **Try the demo**", Player.try_the_demo),
    ("Wait about a minute.", Player.wait_for_the_demo),
    ("Type `M003`", Player.type_a_filter),
    ("Click **M003-1-R-CC**", Player.click_the_case),
    ("Look at *Similar cases*.", Player.look_at_similar_cases),
    ("Double-click a similar case.", Player.double_click_a_similar_case),
    ("Drag with the left button", Player.change_the_window),
    ("Turn the wheel to zoom. Drag with the middle button", Player.zoom_and_move),
    ("Press **Esc**", Player.go_back),
    ("Press Ctrl+Y and click a similar case.", Player.ask_why),
    ("Read the sentence.", Player.read_the_sentence),
    ("Read the bars.", Player.read_the_bars),
    ("Press Ctrl+Shift+R.", Player.choose_the_region_tool),
    ("Drag a rectangle", Player.draw_a_region),
    ("Choose *Search > Search with the whole image* (Ctrl+Shift+W)", Player.use_the_whole_image),
    ("Go to a similar case with the arrow keys.", Player.go_to_a_case),
    ("Press **U**", Player.mark_a_case),
    ("Mark a few more cases.", Player.mark_more),
    ("Press **Ctrl+J**.", Player.see_judgements),
    ("Press *Save as new metric…*", Player.save_the_refined_metric),
    ("Open *Train* in *Research* (Ctrl+2).", Player.open_train),
    ("Untick BDM+V and tick **MetricBoost**.", Player.tick_metricboost),
    ("Press **Train**.", Player.train),
    ("Look at *Evaluation*", Player.look_at_the_evaluation),
    ("Choose *Research > Metric > Compare two metrics* (Ctrl+Shift+M).", Player.compare_two_metrics),
    ("Press **Esc**", Player.go_back),
    ("Choose *File > Create report…* (Ctrl+R).", Player.create_a_report),
)


@pytest.mark.long
def test_the_tutorial_can_be_done_as_it_is_written(
    qtbot: QtBot, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = written_steps()
    assert len(written) == len(STEPS)
    library = copy_demo_library(tmp_path_factory, tmp_path)
    monkeypatch.setattr(demo, "usual_folder", lambda: library)
    report = tmp_path / "report.pdf"
    with open_window(workspace="read") as window:
        window.resize(1440, 900)
        player = Player(window, qtbot, report)
        for text, (beginning, do) in zip(written, STEPS, strict=True):
            assert text.startswith(beginning)
            do(player)
        assert window.context.messages.history == [] or not [
            message for message in window.context.messages.history if message.level == "error"
        ]
