from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDrag, QImage, QPixmap
from PySide6.QtWidgets import QWidget

from semblance.app.shell.settings import Settings
from semblance.app.widgets.cards.case_drag import CASE_MIME, CaseData, DragImages, drag
from semblance.core.imaging import text_detector
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.burnt_in_words import burnt_in_image
from tests.helpers.contexts import make_context
from tests.helpers.prompt_jobs import PromptJobs

IMAGE = "application/x-qt-image"


@pytest.fixture
def library(tmp_path):
    """One image with a large bright text."""
    from PIL import Image

    (tmp_path / "in" / "a").mkdir(parents=True)
    words = burnt_in_image(7, shape=(400, 400), size=(26, 30), words=4, background="black")
    Image.fromarray(words.pixels).save(tmp_path / "in" / "a" / "1.png")
    import_source(tmp_path / "in", tmp_path / "lib")
    return tmp_path / "lib"


@pytest.fixture
def images(private_home, library):
    jobs = PromptJobs()
    yield DragImages(replace(make_context(jobs, Settings()), state=SimpleNamespace(location=library)))
    jobs.shutdown()


def thumbnail_on_screen() -> QPixmap:
    image = QPixmap(160, 160)
    image.fill(Qt.GlobalColor.white)
    return image


def dragged(qtbot, monkeypatch, images, data, *, wait=None) -> QImage | None:
    """What another program gets that asks for the image when it is dropped."""
    given = []

    def drop(self, _action):
        assert set(self.mimeData().formats()) == {CASE_MIME, IMAGE}
        if wait is not None:
            qtbot.waitUntil(lambda: wait(data))
        given.append(data.imageData())
        return Qt.DropAction.CopyAction

    monkeypatch.setattr(QDrag, "exec", drop)
    widget = QWidget()
    qtbot.addWidget(widget)
    drag(widget, data, thumbnail_on_screen(), SimpleNamespace(drag_images=images))
    return given[0]


def brightest(image: QImage) -> int:
    grey = image.convertToFormat(QImage.Format.Format_Grayscale8)
    return int(np.frombuffer(grey.constBits(), np.uint8).max())


def test_other_programs_get_the_image_and_nothing_that_names_the_patient(qtbot, monkeypatch, images):
    assert brightest(dragged(qtbot, monkeypatch, images, CaseData(1))) == 255


def test_other_programs_get_more_pixels_than_the_card_shows_once_they_are_read(qtbot, monkeypatch, images):
    read = []
    offer = CaseData.offer_image
    monkeypatch.setattr(CaseData, "offer_image", lambda data, image: (read.append(image), offer(data, image)))
    image = dragged(qtbot, monkeypatch, images, CaseData(1), wait=lambda _: len(read) == 2)
    assert (image.width(), image.height()) == (400, 400)
    assert (read[0].width(), read[0].height()) == (160, 160)


def test_other_programs_get_the_image_without_its_text_or_are_told_to_try_again(qtbot, monkeypatch, images):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    context = images._context
    context.settings.blacks_out_text = True
    assert dragged(qtbot, monkeypatch, images, CaseData(1)) is None
    assert "Drag it again" in context.messages.history[-1].what
    qtbot.waitUntil(lambda: images._made is not None)
    # The second time it is there at once.
    clean = dragged(qtbot, monkeypatch, images, CaseData(1))
    assert (clean.width(), clean.height()) == (160, 160)
    assert brightest(clean) < 60
    assert len(context.messages.history) == 1


def test_where_nothing_can_find_text_other_programs_get_no_image(qtbot, monkeypatch, images):
    monkeypatch.setattr(text_detector, "PACKAGE", "no_such_package_of_words")
    text_detector.text_detector.cache_clear()
    context = images._context
    context.settings.blacks_out_text = True
    assert (
        dragged(qtbot, monkeypatch, images, CaseData(1), wait=lambda _: images._problem is not None) is None
    )
    assert "semblance-retrieval[ocr]" in context.messages.history[-1].hint
