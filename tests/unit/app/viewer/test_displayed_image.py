from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from PIL import Image as PILImage
from PySide6.QtGui import QColor, QGuiApplication, QImage

from semblance.app.shell.settings import Settings
from semblance.app.viewer.displayed_image import copy_displayed_image, save_displayed_image
from semblance.app.viewer.image_display import SecondImage
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.viewport import Orientation
from semblance.core.imaging import text_detector
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image
from tests.helpers.burnt_in_words import BurntInImage, burnt_in_image
from tests.helpers.contexts import make_context
from tests.helpers.prompt_jobs import PromptJobs
from tests.helpers.widgets import show_widget

NETWORK = importlib.util.find_spec("rapidocr") is not None
SIDE = 480


@pytest.fixture
def context(private_home):
    jobs = PromptJobs()
    yield make_context(jobs, Settings())
    jobs.shutdown()


@pytest.fixture
def words() -> BurntInImage:
    return burnt_in_image(31, shape=(700, 700), size=(20, 30), words=8, background="black")


@pytest.fixture
def view(qtbot, words):
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


def test_the_displayed_image_is_copied_and_saved_without_text_metadata(view, context, tmp_path):
    copy_displayed_image(view, context)
    assert QGuiApplication.clipboard().image().width() == view.grab().toImage().width()
    save_displayed_image(view, context, tmp_path / "displayed.png")
    with PILImage.open(tmp_path / "displayed.png") as saved:
        assert saved.info.keys() <= {"dpi"}
        assert saved.size == (view.grab().toImage().width(), view.grab().toImage().height())
    save_displayed_image(view, context, tmp_path / "no" / "displayed.png")
    assert context.messages.history[-1].level == "warning"


@pytest.mark.slow
@pytest.mark.skipif(not NETWORK, reason="the extra ocr is not installed")
@pytest.mark.parametrize("turned", [Orientation(), Orientation(1, mirrored=True)], ids=["upright", "turned"])
@pytest.mark.parametrize("zoom", [1.0, 6.0], ids=["fitted", "zoomed"])
def test_text_is_blacked_out_in_what_is_copied_and_saved(qtbot, view, words, context, tmp_path, turned, zoom):
    view.set_orientation(turned)
    if zoom > 1:
        word = words.words[0]
        x, y = view.viewport.to_widget(word.x + word.ink.shape[1] / 2, word.y + word.ink.shape[0] / 2)
        view.pan_by(view.width() / 2 - x, view.height() / 2 - y)
        view.zoom_by(zoom)
    assert brightest(view.grab().toImage()) > 150
    context.settings.blacks_out_text = True
    put_on_clipboard()
    copy_displayed_image(view, context)
    qtbot.waitUntil(lambda: bool(context.messages.history))
    copied = QGuiApplication.clipboard().image()
    assert copied.size() == view.grab().toImage().size()
    assert brightest(copied) < 90
    assert "was copied. Text in it was blacked out in" in context.messages.history[-1].what
    save_displayed_image(view, context, tmp_path / "displayed.png")
    qtbot.waitUntil((tmp_path / "displayed.png").exists)
    assert brightest(QImage(str(tmp_path / "displayed.png"))) < 90
    texts = [action.text() for action in image_menu(view, context, view).actions()]
    assert "Copy image with its text blacked out" in texts


@pytest.mark.slow
@pytest.mark.skipif(not NETWORK, reason="the extra ocr is not installed")
def test_text_of_a_second_image_over_the_first_is_blacked_out_too(qtbot, view, context):
    other = show_widget(qtbot, ImageView(), SIDE, SIDE)
    other.show_image(view.image)
    view.show_image(display_image(Image(np.zeros((700, 700), np.uint8), 255.0)))
    view.show_second(SecondImage(other, ""))
    context.settings.blacks_out_text = True
    put_on_clipboard()
    copy_displayed_image(view, context)
    qtbot.waitUntil(lambda: bool(context.messages.history))
    copied = QGuiApplication.clipboard().image()
    # Its label at the top stays.
    assert brightest(copied.copy(0, 30, SIDE, SIDE - 30)) < 90


def test_where_nothing_can_find_text_nothing_is_copied_or_saved(qtbot, view, context, tmp_path, monkeypatch):
    monkeypatch.setattr(text_detector, "PACKAGE", "no_such_package_of_words")
    text_detector.text_detector.cache_clear()
    context.settings.blacks_out_text = True
    before = put_on_clipboard()
    for start in (
        lambda: copy_displayed_image(view, context),
        lambda: save_displayed_image(view, context, tmp_path / "displayed.png"),
    ):
        context.messages.history.clear()
        start()
        qtbot.waitUntil(lambda: bool(context.messages.history))
        shown = context.messages.history[-1]
        assert (shown.level, "semblance[ocr]" in shown.hint) == ("error", True)
    assert QGuiApplication.clipboard().image() == before
    assert not (tmp_path / "displayed.png").exists()
