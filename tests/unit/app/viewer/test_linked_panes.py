from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QPushButton

from semblance.app.shell.jobs import Jobs
from semblance.app.shell.last_views import LastViews
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.linked_panes import LinkedPanes
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.workflows.imaging.view_images import view_file
from tests.helpers.dicom_files import CT, ct_slice, image, save
from tests.helpers.widgets import show_widget


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
def test_inversion_is_linked_while_the_views_are_and_zooming_keeps_the_windows_of_the_files(
    qtbot, tmp_path, photometric
):
    """Also to an image that the file itself shows inverted."""
    jobs, panes = Jobs(), []
    for number, kind in enumerate(("MONOCHROME2", photometric)):
        path = tmp_path / f"{number}.dcm"
        pixels = np.arange(64, dtype=np.int16).reshape(8, 8)
        file = image(pixels, Modality="MG", PhotometricInterpretation=kind)
        file.WindowCenter, file.WindowWidth = 20 + 10 * number, 40
        save(file, path)
        panes.append(show_widget(qtbot, ImagePane(jobs), 200, 200))
        panes[-1].show_viewed(view_file(path), None, ImageAddress(path), None)
    switch = QPushButton()
    qtbot.addWidget(switch)
    switch.setCheckable(True)
    links = LinkedPanes(panes, switch)
    assert links
    one, other = (pane.view for pane in panes)
    before = one.inverted, other.inverted
    switch.setChecked(True)
    window = other.window_level
    one.set_view(replace(one.viewport, zoom=2 * one.viewport.zoom, fitted=False))
    one.view_changed.emit()
    assert other.window_level == window
    one.invert()
    assert other.window_level == window
    assert (one.inverted, other.inverted) == (not before[0], not before[1])
    switch.setChecked(False)
    other.invert()
    assert (one.inverted, other.inverted) == (not before[0], before[1])
    jobs.shutdown()


def test_a_window_that_an_image_took_from_a_linked_one_is_not_kept_as_its_own(qtbot, tmp_path):
    jobs, kept, panes = Jobs(), LastViews(), []
    for number in range(2):
        path = tmp_path / f"{number}.dcm"
        file = image(np.arange(64, dtype=np.int16).reshape(8, 8))
        file.WindowCenter, file.WindowWidth = 20, 40
        save(file, path)
        panes.append(show_widget(qtbot, ImagePane(jobs, last_views=kept), 200, 200))
        panes[-1].show_viewed(view_file(path), None, ImageAddress(path), None)
    switch = QPushButton()
    qtbot.addWidget(switch)
    switch.setCheckable(True)
    switch.setChecked(True)
    links = LinkedPanes(panes, switch)
    assert links
    one, other = panes
    of_file = other.view.window_level
    one.view.set_window(Window(3.0, 9.0))
    assert one.view.window_level == other.view.window_level == Window(3.0, 9.0)
    other.view.invert()
    address = ImageAddress(tmp_path / "1.dcm")
    other.show_viewed(view_file(tmp_path / "1.dcm"), None, address, None)
    assert other.view.window_level == of_file
    assert other.view.inverted
    one.show_viewed(view_file(tmp_path / "0.dcm"), None, ImageAddress(tmp_path / "0.dcm"), None)
    assert one.view.window_level == Window(3.0, 9.0)
    jobs.shutdown()


@pytest.fixture
def axial_and_coronal(qtbot, tmp_path):
    """Two linked panes: an axial slice 16 mm wide, 4 mm above a coronal one of the same frame of reference; and it."""
    pixels, panes, jobs = np.arange(32 * 32, dtype=np.int16).reshape(32, 32), [], Jobs()
    axial = ct_slice(pixels, 2, FrameOfReferenceUID="1.2.3")
    axial.ImagePositionPatient, axial.SliceThickness = [0, 0, -4], 2
    coronal = ct_slice(pixels, 0, FrameOfReferenceUID="1.2.3")
    coronal.ImagePositionPatient, coronal.ImageOrientationPatient = [0, 6, 0], [1, 0, 0, 0, 0, -1]
    for name, file in (("axial", axial), ("coronal", coronal)):
        path = save(file, tmp_path / f"{name}.dcm")
        panes.append(show_widget(qtbot, ImagePane(jobs), 200, 200))
        panes[-1].show_viewed(view_file(path), None, ImageAddress(path), None)
    switch = QPushButton()
    qtbot.addWidget(switch)
    switch.setCheckable(True)
    switch.setChecked(True)
    links = LinkedPanes(panes, switch)
    links.show_cut_lines()
    yield panes, links, switch
    jobs.shutdown()


def test_images_of_one_frame_of_reference_show_where_they_cut_each_other(axial_and_coronal):
    (axial, coronal), _, switch = axial_and_coronal
    # 4 mm below the first row's middle, and 6 mm behind it, in pixels of half a millimetre.
    assert np.allclose(sorted(coronal.view.cut_lines[0]), [(0, 8.5), (32, 8.5)])
    assert np.allclose(sorted(axial.view.cut_lines[0]), [(0, 12.5), (32, 12.5)])
    switch.setChecked(False)
    assert coronal.view.cut_lines == ()


def test_pointing_shows_the_position_in_the_patient_and_how_far_it_is_from_the_image(axial_and_coronal):
    (axial, coronal), _, _ = axial_and_coronal
    axial.view.pointed_at.emit((20, 12))
    cursor = coronal.view.linked_cursor
    assert (cursor.x, cursor.y, cursor.is_here) == (20.5, 8.5, True)
    axial.view.pointed_at.emit((20, 2))
    cursor = coronal.view.linked_cursor
    assert (cursor.label, cursor.is_here) == ("5 mm away", False)
    axial.view.pointed_at.emit(None)
    assert coronal.view.linked_cursor is None


def test_images_without_a_position_are_pointed_at_relatively_once_linked_by_hand(
    qtbot, tmp_path, axial_and_coronal
):
    (axial, other), links, _ = axial_and_coronal
    path = save(image(np.zeros((8, 16), np.int16), SOPClassUID=CT), tmp_path / "plain.dcm")
    other.show_viewed(view_file(path), None, ImageAddress(path), None)
    axial.view.pointed_at.emit((16, 8))
    assert other.view.linked_cursor is None
    links.is_by_hand = True
    axial.view.pointed_at.emit((15, 7))
    cursor = other.view.linked_cursor
    assert (cursor.x, cursor.y, cursor.is_here) == (7.75, 1.875, False)
    assert cursor.label == "same relative place, linked by hand"
