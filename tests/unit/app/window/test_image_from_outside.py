from __future__ import annotations

import shutil

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest

from semblance.app.shell import search_operations
from semblance.core.imaging import open_image
from semblance.core.searches.query import Query
from tests.helpers.ranked_searches import ids
from tests.helpers.striped_library import striped_library
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


def test_the_window_hides_the_patient_of_a_copied_library_image(tmp_path):
    library = striped_library(tmp_path, n=12)
    image = shutil.copy(tmp_path / "images" / "level" / "p004.png", tmp_path / "copy.png")
    own = {"images/level/p004.png", "images/level/p005.png"}
    with open_window(library) as window:
        search_operations.submit_query(window.context, Query(image=image))
        wait_for(window, lambda: window.state.ranking is not None)
        assert not own & set(ids(window.state.ranking))
        assert window.state.ranking.same_patient == 2
        assert len(window.state.ranking.vote.voters) == 10
        window.state.change_search(hide_same_patient=False)
        search_operations.rank(window.context)
        wait_for(window, lambda: own <= set(ids(window.state.ranking)))


def test_an_image_on_the_clipboard_is_searched_with_and_stays_in_the_library(tmp_path):
    library = striped_library(tmp_path, n=12)
    pixels = np.random.default_rng(0).integers(0, 256, (48, 61, 3), dtype=np.uint8)
    with open_window(library) as window:
        QGuiApplication.clipboard().setImage(
            QImage(pixels.tobytes(), 61, 48, 183, QImage.Format.Format_RGB888)
        )
        window.context.actions["paste_image"].trigger()
        wait_for(window, lambda: window.state.ranking is not None)
        pasted = window.state.query.image
        assert pasted.is_relative_to(library)
        np.testing.assert_array_equal(open_image(pasted).pixels, pixels)
        nothing = "There is no image and no case ID of this library on the clipboard."
        for empty in (
            lambda: QGuiApplication.clipboard().setText("no image"),
            QGuiApplication.clipboard().clear,
        ):
            empty()
            window.context.actions["paste_image"].trigger()
            assert window.state.query.image == pasted
            assert window.context.messages.history.pop().what == nothing
        case = window.state.columns.ids[3]
        QGuiApplication.clipboard().setText(f" {case}\n")
        window.context.actions["paste_image"].trigger()
        assert window.state.query == Query(case=case)
        # Back to the image, and on to the case, by the buttons of the mouse.
        for button, query in (
            (Qt.MouseButton.BackButton, Query(image=pasted)),
            (Qt.MouseButton.ForwardButton, Query(case=case)),
        ):
            QTest.mouseClick(window.windowHandle(), button, pos=QPoint(700, 400))
            wait_for(window, lambda: window.state.ranking is not None)
            assert window.state.query == query
