"""Marking key images in a pane, with the keyboard."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.key_images import KeyImages
from semblance.core.workflows.imaging.view_images import view_case
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.dicom_files import ct_series
from tests.helpers.widgets import show_widget

pytestmark = pytest.mark.usefixtures("forget_volumes")


def test_the_key_marks_the_slice_and_shift_goes_to_the_next(qtbot, context, jobs, tmp_path):
    ct_series(tmp_path / "series")
    import_source(tmp_path / "series", tmp_path / "lib")
    context.state.set_library(read_snapshot(tmp_path / "lib"))
    row = int(context.state.columns.case_row[0])
    pane = show_widget(qtbot, ImagePane(jobs), 300, 300)
    keys, ticked = KeyImages(context, pane), []
    keys.changed.connect(ticked.append)
    pane.show_viewed(view_case(tmp_path / "lib", row), tmp_path / "lib", row, None)
    jobs.run_pending()
    for place in (1, 4):
        pane.slices.go_to_slice(place)
        QTest.keyClick(pane.view, Qt.Key.Key_J)
        jobs.run_pending()
    assert ticked[-1] == [1, 4]
    assert "Key image" in pane.view.notes
    for place in (1, 4):
        QTest.keyClick(pane.view, Qt.Key.Key_J, Qt.KeyboardModifier.ShiftModifier)
        assert pane.place == place
    pane.slices.go_to_slice(2)
    assert "Key image" not in pane.view.notes
    # They are read again with the case.
    pane.show_nothing()
    pane.show_viewed(view_case(tmp_path / "lib", row), tmp_path / "lib", row, None)
    jobs.run_pending()
    assert ticked[-1] == [1, 4]
    pane.slices.go_to_slice(4)
    menu = image_menu(pane.view, context, pane, pane)
    entry = next(action for action in menu.actions() if action.text() == "Key image\tJ")
    assert entry.isChecked()
    entry.trigger()
    jobs.run_pending()
    assert ticked[-1] == [1]
    menu.deleteLater()
