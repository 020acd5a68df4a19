from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from PIL import Image as PILImage
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtTest import QTest

from semblance.app.shell.jobs import Jobs
from semblance.app.shell.settings import Settings
from semblance.app.viewer.image_display import SecondImage
from semblance.app.viewer.image_menu import (
    copy_displayed_image,
    delete_preset,
    image_menu,
    save_displayed_image,
    save_preset,
)
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.view_settings import MAX_PRESETS, ViewSettings, saved_presets
from semblance.app.viewer.viewport import Orientation
from semblance.app.viewer.window_level import Window
from semblance.core.imaging import text_detector
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.region import Region
from tests.helpers.burnt_in_words import BurntInImage, burnt_in_image
from tests.helpers.contexts import make_context
from tests.helpers.prompt_jobs import PromptJobs
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
    windows = next(
        action.menu()
        for action in image_menu(view, context, view).actions()
        if action.text() == "Window / level"
    )
    texts = [action.text() for action in windows.actions()]
    assert "Liver\t8" in texts
    assert "Lung\t7" in texts


NETWORK = importlib.util.find_spec("rapidocr") is not None
SIDE = 480


@pytest.fixture
def saving_context(private_home):
    jobs = PromptJobs()
    yield make_context(jobs, Settings())
    jobs.shutdown()


@pytest.fixture
def words() -> BurntInImage:
    return burnt_in_image(31, shape=(700, 700), size=(20, 30), words=8, background="black")


@pytest.fixture
def displayed(qtbot, words):
    widget = show_widget(qtbot, ImageView(), SIDE, SIDE)
    widget.set_overlay_text_shown(False)
    widget.show_image(display_image(Image(words.pixels, 255.0)))
    return widget


def brightest(image: QImage) -> int:
    grey = image.convertToFormat(QImage.Format.Format_Grayscale8)
    rows = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    return int(rows[:, : grey.width()].max())


def put_on_clipboard() -> QImage:
    image = QImage(2, 2, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    QGuiApplication.clipboard().setImage(image)
    return image


def test_the_displayed_image_is_copied_and_saved_without_text_metadata(displayed, saving_context, tmp_path):
    copy_displayed_image(displayed, saving_context)
    assert QGuiApplication.clipboard().image().width() == displayed.grab().toImage().width()
    save_displayed_image(displayed, saving_context, tmp_path / "displayed.png")
    with PILImage.open(tmp_path / "displayed.png") as saved:
        assert saved.info.keys() <= {"dpi"}
        assert saved.size == (
            displayed.grab().toImage().width(),
            displayed.grab().toImage().height(),
        )
    save_displayed_image(displayed, saving_context, tmp_path / "no" / "displayed.png")
    assert saving_context.messages.history[-1].level == "warning"


@pytest.mark.slow
@pytest.mark.skipif(not NETWORK, reason="the extra ocr is not installed")
@pytest.mark.parametrize("turned", [Orientation(), Orientation(1, mirrored=True)], ids=["upright", "turned"])
@pytest.mark.parametrize("zoom", [1.0, 6.0], ids=["fitted", "zoomed"])
def test_text_is_blacked_out_in_what_is_copied_and_saved(
    qtbot, displayed, words, saving_context, tmp_path, turned, zoom
):
    displayed.set_orientation(turned)
    if zoom > 1:
        word = words.words[0]
        x, y = displayed.viewport.to_widget(word.x + word.ink.shape[1] / 2, word.y + word.ink.shape[0] / 2)
        displayed.pan_by(displayed.width() / 2 - x, displayed.height() / 2 - y)
        displayed.zoom_by(zoom)
    assert brightest(displayed.grab().toImage()) > 150
    saving_context.settings.blacks_out_text = True
    put_on_clipboard()
    copy_displayed_image(displayed, saving_context)
    qtbot.waitUntil(lambda: bool(saving_context.messages.history))
    copied = QGuiApplication.clipboard().image()
    assert copied.size() == displayed.grab().toImage().size()
    assert brightest(copied) < 90
    assert "was copied. Text in it was blacked out in" in saving_context.messages.history[-1].what
    save_displayed_image(displayed, saving_context, tmp_path / "displayed.png")
    qtbot.waitUntil((tmp_path / "displayed.png").exists)
    assert brightest(QImage(str(tmp_path / "displayed.png"))) < 90
    texts = [action.text() for action in image_menu(displayed, saving_context, displayed).actions()]
    assert "Copy image with its text blacked out" in texts


@pytest.mark.slow
@pytest.mark.skipif(not NETWORK, reason="the extra ocr is not installed")
def test_text_of_a_second_image_over_the_first_is_blacked_out_too(qtbot, displayed, saving_context):
    other = show_widget(qtbot, ImageView(), SIDE, SIDE)
    other.show_image(displayed.image)
    displayed.show_image(display_image(Image(np.zeros((700, 700), np.uint8), 255.0)))
    displayed.show_second(SecondImage(other, ""))
    saving_context.settings.blacks_out_text = True
    put_on_clipboard()
    copy_displayed_image(displayed, saving_context)
    qtbot.waitUntil(lambda: bool(saving_context.messages.history))
    copied = QGuiApplication.clipboard().image()
    # Its label at the top stays.
    assert brightest(copied.copy(0, 30, SIDE, SIDE - 30)) < 90


def test_where_nothing_can_find_text_nothing_is_copied_or_saved(
    qtbot, displayed, saving_context, tmp_path, monkeypatch
):
    monkeypatch.setattr(text_detector, "PACKAGE", "no_such_package_of_words")
    text_detector.text_detector.cache_clear()
    saving_context.settings.blacks_out_text = True
    before = put_on_clipboard()
    for start in (
        lambda: copy_displayed_image(displayed, saving_context),
        lambda: save_displayed_image(displayed, saving_context, tmp_path / "displayed.png"),
    ):
        saving_context.messages.history.clear()
        start()
        qtbot.waitUntil(lambda: bool(saving_context.messages.history))
        shown = saving_context.messages.history[-1]
        assert (shown.level, "semblance-retrieval[ocr]" in shown.hint) == ("error", True)
    assert QGuiApplication.clipboard().image() == before
    assert not (tmp_path / "displayed.png").exists()


def test_a_measured_region_becomes_that_of_the_search_and_the_reverse(view, context):
    region = Region(10, 12, 30, 20)
    view.measure.add(Figure.of_region(region))
    entries = {one.text(): one for one in image_menu(view, context, view).actions()}
    entries["Search with this measured region"].trigger()
    assert view.region.region == region
    view.measure.remove_all()
    measure = next(one for one in image_menu(view, context, view).actions() if one.text() == "Measure").menu()
    next(one for one in measure.actions() if one.text() == "Measure the region to search with").trigger()
    assert [one.region for one in view.measure.figures] == [region]
    removed = next(one for one in image_menu(view, context, view).actions() if "Remove this" in one.text())
    removed.trigger()
    assert view.measure.figures == ()
