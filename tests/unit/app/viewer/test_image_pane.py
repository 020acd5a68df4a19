"""Slice and window of an image stay when another pane shows it."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as PILImage

from semblance.app.shell.last_views import MOST, LastView, LastViews
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.workflows.imaging.view_images import view_file
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.widgets import show_widget


@pytest.fixture
def volume(tmp_path):
    path = tmp_path / "volume.npz"
    slices = np.arange(40, dtype=np.int16)[:, None, None] * 10 - 100
    np.savez(path, ct=np.broadcast_to(slices, (40, 24, 32)) + np.arange(32, dtype=np.int16))
    return ImageAddress(path, "ct")


@pytest.fixture
def panes(qtbot):
    views, jobs = LastViews(), ManualJobs()
    return [show_widget(qtbot, ImagePane(jobs, last_views=views), 300, 300) for _ in range(2)]


def test_slice_window_and_inversion_stay_in_another_pane(panes, volume):
    small, large = panes
    small.show_viewed(view_file(volume), None, volume, None)
    assert not small.is_restored
    small.slices.go_to_slice(7)
    small.view.set_window(Window(10.0, 50.0))
    small.view.invert()
    large.show_viewed(view_file(volume), None, volume, None)
    large.go_to_slice_of(Region(0, 0, 4, 4, z=30))
    assert (large.place, large.view.window_level, large.view.inverted) == (7, Window(10.0, 50.0), True)
    large.slices.go_to_slice(9)
    small.hide()
    small.show()
    assert small.place == 9


def test_an_image_seen_for_the_first_time_is_shown_at_its_region(panes, volume):
    panes[0].show_viewed(view_file(volume), None, volume, None)
    panes[0].go_to_slice_of(Region(0, 0, 4, 4, z=30))
    assert panes[0].place == 30


def test_the_least_recently_shown_image_is_removed():
    views = LastViews()
    for key in range(MOST + 1):
        views.store(key, LastView(key))
    assert (views.get(0), views.get(MOST)) == (None, LastView(MOST))


def test_burnt_in_marks_are_counted_on_the_image_and_framed_on_request(panes, tmp_path):
    path, pane = tmp_path / "marked.png", panes[0]
    grey = np.random.default_rng(0).integers(20, 90, (160, 160), dtype=np.uint8)
    grey[75:86, 80] = grey[80, 75:86] = 255
    PILImage.fromarray(grey).save(path)
    pane.show_viewed(view_file(path), None, ImageAddress(path), None)
    assert pane.view.notes == ("Burnt-in annotations: 1",)
    plain = pane.view.grab().toImage()
    pane.view.set_marks_shown(True)
    assert pane.view.grab().toImage() != plain
    pane.view.set_marks_shown(False)
    assert pane.view.grab().toImage() == plain
    grey[75:86, 75:86] = 60
    PILImage.fromarray(grey).save(path)
    pane.show_viewed(view_file(path), None, ImageAddress(path), None)
    assert (pane.view.notes, pane.view.marks) == ((), ())


def test_the_image_shown_is_named_for_screen_readers(panes, volume):
    panes[0].name_image("nothing")
    assert panes[0].view.accessibleName() == "Image"
    panes[0].show_viewed(view_file(volume), None, volume, None)
    panes[0].name_image("CT of the chest")
    assert panes[0].view.accessibleName() == "Image of CT of the chest, 32 by 24 pixels"
