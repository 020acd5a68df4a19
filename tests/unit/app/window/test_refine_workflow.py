"""Refining in the whole window: by keyboard alone and by mouse alone, from a ranking to a saved metric."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from semblance.app.screenshot import wait_until_idle
from semblance.app.search.feedback.save_refined_metric import SaveRefinedDialog
from semblance.app.shell import search_operations
from semblance.app.shell.settings import Settings
from semblance.app.widgets.cards.card_layout import card_feedback_buttons
from semblance.core.library.library import Library
from semblance.core.metrics.metric import explained_groups
from semblance.core.searches.feedback.judgements import JudgementKind
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import open_metric
from tests.helpers.images import striped_folder
from tests.helpers.striped_library import striped_library
from tests.helpers.windows import open_window, search_first_case, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")

LEFT = Qt.MouseButton.LeftButton
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return striped_library(tmp_path_factory.mktemp("refined"), n=40)


@pytest.fixture
def library(trained, tmp_path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / trained.name))


def in_force(window) -> list[JudgementKind]:
    return [entry.judgement.kind for entry in window.state.ranked_search.entries if entry.undone is None]


def press(window, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """As a person does: whatever has the keyboard gets it."""
    QTest.keyClick(QApplication.focusWidget() or window, key, held)
    wait_until_idle(window)


def answer_dialog(fill) -> None:
    """Fill in the next dialog once it is open."""

    def fill_when_open() -> None:
        dialog = QApplication.activeModalWidget()
        if dialog is None:
            QTimer.singleShot(10, fill_when_open)
        else:
            fill(dialog)

    QTimer.singleShot(10, fill_when_open)


def test_refinement_works_with_the_keyboard_only(library):
    with open_window(library) as window:
        search_first_case(window)
        grid = window.panels.ranking.grid
        grid.setFocus()
        press(window, Qt.Key.Key_Home)
        press(window, Qt.Key.Key_U)
        assert in_force(window) == [JudgementKind.ALIKE]
        for _ in range(6):
            press(window, Qt.Key.Key_Right)
        press(window, Qt.Key.Key_Right, SHIFT)
        press(window, Qt.Key.Key_D)
        assert in_force(window) == [JudgementKind.ALIKE, JudgementKind.NOT_ALIKE, JudgementKind.NOT_ALIKE]
        press(window, Qt.Key.Key_Home)
        press(window, Qt.Key.Key_T)
        assert window.panels.ranking.order.cancel.isVisible()
        press(window, Qt.Key.Key_Escape)
        assert not window.panels.ranking.order.cancel.isVisible()
        press(window, Qt.Key.Key_T)
        for _ in range(4):
            press(window, Qt.Key.Key_Right)
        press(window, Qt.Key.Key_T)
        assert in_force(window)[-1] == JudgementKind.CLOSER
        press(window, Qt.Key.Key_Z, CTRL)
        press(window, Qt.Key.Key_Z, CTRL)
        assert in_force(window) == [JudgementKind.ALIKE]
        press(window, Qt.Key.Key_Z, CTRL | SHIFT)
        assert len(in_force(window)) == 3
        press(window, Qt.Key.Key_J, CTRL)
        assert window.panels.side.current == "refine"
        assert window.panels.side.refine.list.isVisible()

        def name(dialog: SaveRefinedDialog) -> None:
            field = dialog.findChildren(QLineEdit)[0]
            field.setText("by keys")
            QTest.keyClick(field, Qt.Key.Key_Return)

        answer_dialog(name)
        press(window, Qt.Key.Key_S, CTRL | SHIFT)
        wait_for(window, lambda: window.state.metric.name == "by keys")
        wait_for(window, lambda: window.state.metric.scores)
        assert window.state.metric.card["constraints"]["judgements"] == 3
    with Library.open(library, writable=False) as opened:
        assert {metric.name for metric in opened.metrics()} == {"plain", "by keys"}


def test_refinement_works_with_the_mouse_only(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        grid, refine = window.panels.ranking.grid, window.panels.side.refine
        window.parts.layout.show_side("refine")
        up, _ = card_feedback_buttons(grid.card_rect(1), grid._layout)
        qtbot.mouseMove(grid.viewport(), up.center())
        qtbot.mouseClick(grid.viewport(), LEFT, pos=up.center())
        wait_until_idle(window)
        assert in_force(window) == [JudgementKind.ALIKE]
        assert len(refine.rows.rows) == 1
        qtbot.mouseClick(refine.list.viewport(), LEFT, pos=refine.list.arrow_rect(0).center())
        wait_until_idle(window)
        assert in_force(window) == []
        qtbot.mouseClick(refine.redo, LEFT)
        wait_until_idle(window)
        assert in_force(window) == [JudgementKind.ALIKE]
        answer_dialog(lambda dialog: qtbot.mouseClick(dialog.save_button, LEFT))
        group = explained_groups(open_metric(library, "plain").metric)[0]
        window.state.change_search(without=(group,))
        search_operations.rank(window.context)
        wait_until_idle(window)
        refine.save.setFocus()
        qtbot.mouseClick(refine.save, LEFT)
        wait_for(window, lambda: window.state.metric.name == "plain refined")
        assert window.state.search.without == (), "the metric itself is without it"
        wait_until_idle(window)
        assert not refine.save.isEnabled()
        assert window.panels.side.isAncestorOf(window.focusWidget()), "the keyboard stays near"


def test_letters_typed_into_a_field_make_no_judgement(library):
    with open_window(library) as window:
        search_first_case(window)
        window.panels.ranking.grid.set_current(window.panels.ranking.grid.model().case_row(0))
        window.panels.library.search.setFocus()
        QTest.keyClicks(QApplication.focusWidget(), "dut")
        wait_until_idle(window)
        assert window.state.judgement_count == 0
        window.panels.query.view.setFocus()
        press(window, Qt.Key.Key_T)
        assert not window.panels.ranking.grid.comparison.pending, "T turns the image there"


def test_the_menu_of_a_ranked_case_offers_to_judge_it(library, monkeypatch):
    with open_window(library) as window:
        search_first_case(window)
        menus = []

        def take(menu: QMenu, _where: QPoint) -> None:
            menus.append([action.text().partition("\t")[0] for action in menu.actions()])

        monkeypatch.setattr(QMenu, "popup", take)
        grid = window.panels.ranking.grid
        grid.setFocus()
        grid.set_current(grid.model().case_row(0))
        grid.menu_requested.emit(grid.current(), QPoint())
        window.panels.library.grid.setFocus()
        window.panels.library.grid.menu_requested.emit(grid.current(), QPoint())
        assert "More like this" in menus[0]
        assert "Mark as closer than…" in menus[0]
        assert "More like this" in menus[1]
        assert "Mark as closer than…" not in menus[1]


def test_judgements_come_back_with_the_library(library):
    with open_window(library) as window:
        search_first_case(window)
        window.panels.ranking.card_feedback.mark_rows(1, [window.panels.ranking.grid.model().case_row(3)])
        wait_until_idle(window)
        order = [case.case_id for case in window.state.ranking.ranked]
    with open_window(library) as window:
        wait_for(window, lambda: window.state.ranked_search is not None)
        assert in_force(window) == [JudgementKind.ALIKE]
        assert [case.case_id for case in window.state.ranking.ranked] == order


def test_a_click_right_before_the_end_is_saved(library):
    with open_window(library) as window:
        search_first_case(window)
        window.panels.ranking.card_feedback.mark_rows(1, [window.panels.ranking.grid.model().case_row(3)])
    with open_window(library) as window:
        wait_for(window, lambda: window.state.ranked_search is not None)
        assert in_force(window) == [JudgementKind.ALIKE]


def test_clicks_while_it_trains_and_imports(tmp_path, library):
    from semblance.app.library.prepare_operations import import_and_prepare
    from semblance.app.metrics.train_ticked_learner import train_ticked_learner

    arriving = striped_folder(tmp_path / "more", n=6, seed=5)
    with open_window(library) as window:
        search_first_case(window)
        train_ticked_learner(window.context, TrainRequest("bdm", "other", settings={"rounds": 20}))
        import_and_prepare(window.context, arriving, library, "folder")
        for place in (1, 3):
            window.panels.ranking.card_feedback.mark_rows(
                1, [window.panels.ranking.grid.model().case_row(place)]
            )
        wait_for(
            window,
            lambda: (
                "other" in [metric.name for metric in window.state.library.metrics]
                and len(window.state.columns) > 40
            ),
        )
        assert in_force(window) == [JudgementKind.ALIKE, JudgementKind.ALIKE]
        wait_for(window, lambda: any("6 added" in one.hint for one in window.context.messages.history))


def test_card_animation_can_be_turned_off(library):
    with open_window(library) as window:
        assert window.context.actions["animate_reordering"].isChecked()
        window.context.actions["animate_reordering"].trigger()
    assert not Settings().flag("animate_reordering", default=True)
    with open_window(library) as window:
        assert not window.context.actions["animate_reordering"].isChecked()
