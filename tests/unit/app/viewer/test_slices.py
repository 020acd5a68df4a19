"""Scrolling through a volume: slices read ahead, cached and shown."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest

from semblance.app.shell.jobs import Jobs
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.overlay import slice_text, thickness_text
from semblance.core.imaging.image import SliceFacts
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.library.library import Library
from semblance.core.workflows.imaging.library_cache import stack_cache
from semblance.core.workflows.imaging.view_images import view_file
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.widgets import show_widget


@pytest.fixture
def jobs(qtbot):
    jobs = Jobs()
    yield jobs
    jobs.shutdown()


@pytest.fixture
def volume(tmp_path):
    path = tmp_path / "volume.npz"
    slices = np.arange(40, dtype=np.int16)[:, None, None] * 10 - 100
    np.savez(path, ct=np.broadcast_to(slices, (40, 24, 32)) + np.arange(32, dtype=np.int16))
    return ImageAddress(path, "ct")


@pytest.fixture
def pane(qtbot, jobs, volume):
    pane = show_widget(qtbot, ImagePane(jobs), 300, 300)
    pane.show_viewed(view_file(volume), None, volume, None)
    return pane


def shown_value(pane):
    image = pane.view.image
    return image.value(float(image.levels[0][0, 0]))


def test_it_opens_in_the_middle_and_says_so(pane):
    assert pane.place == 20
    assert pane.view.slice_text == "Slice 21 of 40"
    assert shown_value(pane) == 100
    assert pane.bar.isVisible()


def test_a_series_says_the_instance_and_the_position_of_the_slice(qtbot, jobs, tmp_path):
    """And counts axial slices from the head downwards."""
    ct_series(tmp_path / "ct", 4, SliceThickness=2.5)
    import_source(tmp_path / "ct", tmp_path / "lib", kind="dicom")
    with Library.open(tmp_path / "lib") as opened:
        (case,) = opened.catalogue.details([r.id for r in opened.catalogue.all_cases()]).values()
    pane = show_widget(qtbot, ImagePane(jobs), 600, 300)
    pane.show_viewed(view_file(case.address), None, case.address, None)
    assert pane.view.slice_text == "Slice 3 of 4, instance 2, z 2.0 mm"
    assert thickness_text(pane.view.image.slice_facts) == "Thickness 2.5 mm"
    pane.view.scrolled.emit(1)
    qtbot.waitUntil(lambda: pane.view.slice_text == "Slice 4 of 4, instance 1, z 0.0 mm")
    assert slice_text(0, 9, SliceFacts(3, "z", -134.5)) == "Slice 1 of 9, instance 3, z −134.5 mm"


def test_keys_and_slider_go_through_the_slices(pane, qtbot):
    QTest.keyClick(pane.view, Qt.Key.Key_PageDown)
    qtbot.waitUntil(lambda: shown_value(pane) == 110)
    QTest.keyClick(pane.view, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: shown_value(pane) == 290)
    assert pane.bar.slider.value() == 39
    pane.bar.slider.setValue(3)
    qtbot.waitUntil(lambda: shown_value(pane) == -70)
    assert pane.view.slice_text == "Slice 4 of 40"


def test_window_level_stays_the_same_from_slice_to_slice(pane, qtbot):
    window = pane.view.window_level
    pane.slices.go_to_slice(39)
    qtbot.waitUntil(lambda: shown_value(pane) == 290)
    assert pane.view.window_level == window


def test_all_slices_are_read_without_a_request(pane, qtbot):
    qtbot.waitUntil(lambda: len(pane.slices.loaded) == 40)


def test_a_small_cache_holds_the_nearest_slices(pane, qtbot, monkeypatch):
    size = sum(level.nbytes for level in pane.view.image.levels)
    monkeypatch.setattr("semblance.app.viewer.slices.CACHE_BYTES", 9 * size)
    pane.show_viewed(view_file(pane.slices._address), None, pane.slices._address, None)
    pane.slices.go_to_slice(2)
    qtbot.waitUntil(lambda: shown_value(pane) == -80)
    qtbot.waitUntil(lambda: not pane.slices.busy)
    assert len(pane.slices.loaded) <= 9
    assert 2 in pane.slices.loaded


def test_a_region_belongs_to_the_slice_it_was_drawn_on(pane, qtbot):
    drawn = pane.on_shown_slice(Region(3, 4, 5, 6))
    assert (drawn.z, drawn.depth) == (20, 1)
    pane.view.show_region(drawn)
    pane.slices.go_to_slice(21)
    assert pane.view.region.on_other_slice
    pane.slices.go_to_slice(20)
    assert not pane.view.region.on_other_slice
    assert pane.on_shown_slice(None) is None


def test_the_case_shows_its_own_pixels_on_every_slice(pane, qtbot):
    block = np.zeros((2, 24, 32), dtype=np.bool_)
    block[0, 2:5, 3:6] = block[1, 8:9, 9:20] = True
    pane._case_region = region_of_mask(block, z=20)
    pane.slices.go_to_slice(21)
    assert (pane.view.case_region.x, pane.view.case_region.width) == (3, 17)
    assert pane.view.case_region.mask(24, 32).sum() == 11
    pane.slices.go_to_slice(30)
    assert pane.view.case_region is None


def test_a_slice_that_cannot_be_read_says_why_and_the_others_are_there(pane, qtbot, volume):
    qtbot.waitUntil(lambda: len(pane.slices.loaded) == 40)
    pane.slices._images.pop(35)
    pane.slices._problems[35] = "'IM35' is cut off."
    pane.slices.go_to_slice(35)
    assert pane.view.problem == "'IM35' is cut off."
    pane.slices.go_to_slice(36)
    assert pane.view.problem == ""
    assert shown_value(pane) == 260


def test_running_goes_round_by_itself_and_stops(pane, qtbot):
    qtbot.waitUntil(lambda: len(pane.slices.loaded) == 40)
    pane.bar.set_rate(200)
    pane.slices.go_to_slice(38)
    QTest.keyClick(pane.view, Qt.Key.Key_C)
    qtbot.waitUntil(lambda: pane.place is not None and 1 <= pane.place < 20)
    QTest.keyClick(pane.view, Qt.Key.Key_C)
    assert not any(timer.isActive() for timer in pane.bar.findChildren(QTimer))


def test_a_single_image_has_no_bar(pane, tmp_path):
    from PIL import Image

    path = tmp_path / "one.png"
    Image.fromarray(np.zeros((20, 20), np.uint8)).save(path)
    pane.show_viewed(view_file(path), None, ImageAddress(path), None)
    assert pane.place is None
    assert not pane.bar.isVisible()
    assert pane.view.slice_text == ""
    assert pane.on_shown_slice(Region(1, 1, 2, 2)).z is None


def test_released_memory_holds_the_visible_slice_only_and_loading_resumes(pane, qtbot):
    qtbot.waitUntil(lambda: len(pane.slices.loaded) == 40)
    pane.slices.go_to_slice(7)
    pane.slices.release_memory()
    assert pane.slices.loaded == {7}
    pane.slices.go_to_slice(8)
    assert not pane.slices.busy
    pane.slices.resume_loading()
    qtbot.waitUntil(lambda: shown_value(pane) == -20)
    qtbot.waitUntil(lambda: len(pane.slices.loaded) == 40)


def test_a_jump_drops_two_pending_requests(qtbot, volume, tmp_path):
    jobs = ManualJobs()
    pane = ImagePane(jobs)
    qtbot.addWidget(pane)
    pane.show_viewed(view_file(volume), None, volume, None)
    assert [len(places) for places in pane.slices._loading.values()] == [12, 12]
    before = list(pane.slices._loading)
    pane.slices.go_to_slice(0)
    assert not any(job.running for job in before)
    jobs.run_pending()
    assert len(pane.slices.loaded) == 40
    assert shown_value(pane) == -100
    stack_cache.forget()
    jobs.shutdown()
    jobs.deleteLater()


def test_slices_of_one_volume_all_fit_where_their_bytes_do(pane, qtbot, monkeypatch):
    size = pane.view.image.levels[0].nbytes
    monkeypatch.setattr("semblance.app.viewer.slices.CACHE_BYTES", 42 * size)
    pane.show_viewed(view_file(pane.slices._address), None, pane.slices._address, None)
    qtbot.waitUntil(lambda: len(pane.slices.loaded) == 40)
    monkeypatch.setattr("semblance.app.viewer.slices.CACHE_BYTES", 30 * size)
    pane.slices._images.clear()
    pane.slices.begin(pane.slices.facts, None, pane.slices._address, pane.view.image)
    qtbot.waitUntil(lambda: not pane.slices.busy)
    assert len(pane.slices.loaded) <= 30
