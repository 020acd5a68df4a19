from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtTest import QTest

from semblance.app.shell.jobs import Jobs
from semblance.app.shell.settings import Settings
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.view_settings import MAX_PRESETS, ViewSettings, saved_presets
from semblance.app.viewer.window_level import Window
from semblance.app.viewer.window_presets import delete_preset, save_preset
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale
from tests.helpers.contexts import make_context
from tests.helpers.widgets import show_widget


@pytest.fixture
def settings(private_home):
    return Settings()


@pytest.fixture
def view(qtbot, settings):
    widget = show_widget(qtbot, ImageView(), 200, 200)
    widget.settings = ViewSettings(settings)
    pixels = np.arange(-1000, 1000, dtype=np.int16).reshape(40, 50)
    widget.show_image(display_image(Image(pixels, 1.0, values=ValueScale(unit="HU"))))
    return widget


def window_level(view):
    return tuple(view.image.value(end) for end in (view.window_level.low, view.window_level.high))


def set_window_level(view, low, high):
    offset = -view.image.intercept
    view.set_window(Window(low + offset, high + offset))


def test_presets_are_saved_by_name_and_applied_by_key(view, settings):
    set_window_level(view, -200, 300)
    save_preset(view, settings, " Liver ")
    set_window_level(view, 0, 10)
    QTest.keyClick(view, "8")
    assert window_level(view) == (-200, 300)
    assert [(p.name, p.width, p.level) for p in saved_presets(Settings())] == [("Liver", 500, 50)]


def test_the_same_name_is_replaced_and_one_can_be_forgotten(view, settings):
    for low in (-100, -50):
        set_window_level(view, low, 100)
        save_preset(view, settings, "Mine")
    assert [p.width for p in saved_presets(settings)] == [150]
    delete_preset(settings, "Mine")
    assert saved_presets(settings) == ()


def test_no_more_than_can_be_listed_are_stored(view, settings):
    for number in range(MAX_PRESETS + 5):
        save_preset(view, settings, f"p{number}")
    names = [p.name for p in saved_presets(settings)]
    assert len(names) == MAX_PRESETS
    assert names[-1] == f"p{MAX_PRESETS + 4}"


@pytest.mark.parametrize("text", ["nonsense", "[[1]]", '{"a": 1}', '[["a", "b", "c"]]', "null"])
def test_damaged_settings_give_no_presets(settings, text):
    settings.set_text("presets", text)
    assert saved_presets(settings) == ()


@pytest.fixture
def context(settings):
    jobs = Jobs()
    yield make_context(jobs, settings)
    jobs.shutdown()


def test_the_menu_offers_them(view, context):
    save_preset(view, context.settings, "Liver")
    texts = [action.text() for action in image_menu(view, context, view).actions()]
    assert "Liver\t8" in texts
    assert "Lung\t7" in texts
