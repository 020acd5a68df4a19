from __future__ import annotations

import os

import pytest

from semblance.app.open_window import apply_settings
from semblance.app.viewer.window_presets import saved_presets
from semblance.app.window.settings_dialog import SettingsDialog
from semblance.core.engine import WORKERS_VARIABLE, default_workers
from semblance.core.limits import MEMORY_VARIABLE, memory_limit


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
    assert dialog._problem.text()
    assert not dialog._problem.isHidden()
