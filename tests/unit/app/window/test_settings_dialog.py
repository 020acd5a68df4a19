from __future__ import annotations

import os

import pytest
from PySide6.QtWidgets import QPushButton

from semblance.app.open_window import apply_settings
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.view_settings import saved_presets
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.window import settings_dialog
from semblance.app.window.help_files import pages as help_pages
from semblance.app.window.settings_dialog import SettingsDialog
from semblance.core.engine import WORKERS_VARIABLE, default_workers
from semblance.core.language import tr
from semblance.core.limits import MEMORY_VARIABLE, memory_limit
from tests.helpers.windows import open_window, search_first_case, wait_for


@pytest.fixture
def dialog(context, qtbot):
    made = SettingsDialog(context)
    qtbot.addWidget(made)
    made.show()
    return made


def test_options_are_saved_and_used_for_the_present_search(dialog, context):
    assert context.state.hide_same_patient
    dialog.same_patient.click()
    assert not context.state.hide_same_patient
    assert context.settings.search_options["hide_same_patient"] is False
    dialog.match_rate.setCurrentIndex(dialog.match_rate.findData(0.05))
    assert context.state.no_match_rate == context.settings.search_options["no_match_rate"] == 0.05


def test_appearance_is_saved_and_signalled(dialog, context, qtbot):
    with qtbot.waitSignal(dialog.appearance_changed):
        dialog.theme.setCurrentIndex(dialog.theme.findData("light"))
    with qtbot.waitSignal(dialog.appearance_changed):
        dialog.text_size.setCurrentIndex(dialog.text_size.findData(1.3))
    assert (context.settings.theme, context.settings.text_scale) == ("light", 1.3)


def test_a_preset_can_be_deleted(context, qtbot):
    context.settings.set_text("presets", '[["Mine", 80, 40], ["Other", 10, 5]]')
    made = SettingsDialog(context)
    qtbot.addWidget(made)
    made.remove_preset.click()
    assert [preset.name for preset in saved_presets(context.settings)] == ["Other"]
    made.remove_preset.click()
    assert not made.remove_preset.isEnabled()
    assert made.remove_preset.toolTip()


def test_numbers_become_environment_variables_at_the_next_start(dialog, context, qtbot, monkeypatch):
    for variable in (WORKERS_VARIABLE, MEMORY_VARIABLE, "SEMBLANCE_LOG"):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    for name, text in (("workers", "1"), ("memory_mb", "2500")):
        dialog.numbers[name].clear()
        qtbot.keyClicks(dialog.numbers[name], text)
    dialog.detailed_log.click()
    apply_settings(context.settings)
    assert (default_workers(), memory_limit()) == (1, 2_500_000_000)
    assert os.environ["SEMBLANCE_LOG"] == "debug"


def test_a_number_that_is_not_allowed_is_not_saved_and_says_why(dialog, context, qtbot):
    dialog.numbers["workers"].clear()
    qtbot.keyClicks(dialog.numbers["workers"], "99")
    assert context.settings.number("workers") is None
    assert dialog.problem.text()
    assert not dialog.problem.isHidden()


def test_the_number_of_similar_cases_holds_for_the_present_search(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        dialog = SettingsDialog(window.context, window)
        dialog.similar_cases.setCurrentIndex(dialog.similar_cases.findData(10))
        wait_for(window, lambda: len(window.state.ranking.ranked) == 10)
        assert len(window.state.ranking.vote.voters) == 10


def test_dragging_and_wheel_follow_the_settings_at_once(dialog, context, qtbot):
    pane = ImagePane(context.jobs, settings=context.settings)
    qtbot.addWidget(pane)
    view = pane.view
    assert (view.settings.drag_speed, view.settings.slices_per_notch) == (1.0, 1)
    dialog.drag_speed.setCurrentIndex(dialog.drag_speed.findData(2.0))
    dialog.wheel.click()
    assert (view.settings.drag_speed, view.settings.slices_per_notch) == (2.0, -1)


def test_libraries_are_forgotten_and_not_remembered_again(dialog, context, tmp_path):
    settings = context.settings
    settings.add_recent(tmp_path)
    settings.last_library = tmp_path
    dialog.remember.click()
    settings.add_recent(tmp_path)
    settings.last_library = tmp_path
    assert (settings.recent, settings.last_library) == ([], None)
    assert not dialog.forget.isEnabled()
    assert dialog.forget.toolTip()


def test_text_in_images_that_leave_can_only_be_left_as_it_is_where_nothing_finds_it(
    context, qtbot, monkeypatch
):
    monkeypatch.setattr(settings_dialog, "is_text_detector_installed", lambda: False)
    dialog = SettingsDialog(context)
    qtbot.addWidget(dialog)
    assert not dialog.hide_text.isEnabled()
    assert any("help page Installation" in label.text() for label in dialog.findChildren(WrappedLabel))
    context.settings.blacks_out_text = True
    dialog = SettingsDialog(context)
    qtbot.addWidget(dialog)
    assert dialog.hide_text.isEnabled() and dialog.hide_text.isChecked()
    dialog.hide_text.click()
    assert (context.settings.blacks_out_text, dialog.hide_text.isEnabled()) == (False, False)
    monkeypatch.setattr(settings_dialog, "is_text_detector_installed", lambda: True)
    dialog = SettingsDialog(context)
    qtbot.addWidget(dialog)
    dialog.hide_text.click()
    assert context.settings.blacks_out_text


def test_servers_and_help_are_reached_from_here(dialog, context, qtbot):
    with qtbot.waitSignal(context.actions["pacs"].triggered):
        dialog.servers.click()
    pages: list[str] = []
    dialog.help_requested.connect(pages.append)
    for button in dialog.findChildren(QPushButton):
        if button.text() in (tr("All keys and the mouse…"), tr("What is stored…"), tr("Help")):
            button.click()
    assert sorted(pages) == ["keyboard", "privacy", "settings"]
    assert set(pages) <= set(help_pages())
