"""Planes and small slices as the viewer gets them."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging import memory
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.imaging import library_cache, view_planes


class CollectingReporter(Reporter):
    def __init__(self, cancel_after: int | None = None) -> None:
        self.results: list[object] = []
        self.steps: list[tuple[int, int | None]] = []
        self._cancel_after = cancel_after

    def partial(self, result: object) -> None:
        self.results.append(result)

    def progress(self, done: int, total: int | None, what: str) -> None:
        self.steps.append((done, total))

    def check_cancelled(self) -> None:
        if self._cancel_after is not None and len(self.steps) >= self._cancel_after:
            raise Cancelled


@pytest.fixture(autouse=True)
def empty_cache():
    yield
    view_planes.forget_volume()
    library_cache.stack_cache.forget()


@pytest.fixture
def voxels():
    return np.random.default_rng(0).integers(-1000, 1000, (6, 20, 30)).astype(np.int16)


@pytest.fixture
def volume(tmp_path, voxels):
    path = tmp_path / "volume.npz"
    np.savez(path, ct=voxels)
    return ImageAddress(path, "ct")


def shown(viewed):
    image = viewed.image
    return image.levels[0] * image.slope + image.intercept


def test_planes_hold_the_voxels_of_the_volume(volume, voxels):
    reporter = CollectingReporter()
    view_planes.view_planes(None, volume, [(1, 3), (2, 29), (0, 5)], reporter=reporter)
    assert [(one.axis, one.place) for one in reporter.results] == [(1, 3), (2, 29), (0, 5)]
    assert np.array_equal(shown(reporter.results[0]), voxels[:, 3, :])
    assert np.array_equal(shown(reporter.results[1]), voxels[:, :, 29])
    assert np.array_equal(shown(reporter.results[2]), voxels[5])
    assert reporter.steps[-1] == (6, 6)


def test_the_volume_is_read_once_and_dropped_on_request(volume):
    reporter = CollectingReporter()
    view_planes.view_planes(None, volume, [(1, 0)], reporter=reporter)
    view_planes.view_planes(None, volume, [(1, 1)], reporter=reporter)
    assert len(reporter.steps) == 6
    view_planes.forget_volume()
    view_planes.view_planes(None, volume, [(1, 2)], reporter=reporter)
    assert len(reporter.steps) == 12


def test_reading_can_be_cancelled_and_begun_again(volume, voxels):
    with pytest.raises(Cancelled):
        view_planes.view_planes(None, volume, [(1, 0)], reporter=CollectingReporter(cancel_after=2))
    reporter = CollectingReporter()
    view_planes.view_planes(None, volume, [(1, 0)], reporter=reporter)
    assert np.array_equal(shown(reporter.results[0]), voxels[:, 0, :])


def test_what_does_not_fit_is_refused_with_its_size(volume, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 10_000)
    with pytest.raises(BadInput, match=r"would take 7.2 kB of memory, and 10 kB are free") as refused:
        view_planes.view_planes(None, volume, [(1, 0)])
    assert "slices one by one" in refused.value.hint


def test_a_single_image_has_no_planes(tmp_path):
    path = tmp_path / "flat.npz"
    np.savez(path, one=np.zeros((4, 5), np.uint8))
    with pytest.raises(BadInput, match="single image"):
        view_planes.view_planes(None, ImageAddress(path, "one"), [(1, 0)])


def test_small_slices_have_their_coarsest_level_only(tmp_path):
    path = tmp_path / "large.npz"
    np.savez(path, ct=np.arange(3 * 600 * 700, dtype=np.float32).reshape(3, 600, 700))
    reporter = CollectingReporter()
    view_planes.slice_thumbnails(None, ImageAddress(path, "ct"), [0, 2], reporter=reporter)
    assert [one.place for one in reporter.results] == [0, 2]
    image = reporter.results[1].image
    assert len(image.levels) == 1
    assert max(image.levels[0].shape) <= 256
    assert (image.width, image.height) == (700, 600)
    assert image.factor(0) == 4


def test_a_damaged_slice_is_reported_and_the_others_are_read(volume, monkeypatch):
    stack = library_cache.stack_cache.get(volume)
    whole = type(stack).image

    def damaged(self, place):
        if place == 1:
            raise BadInput("'slice' is cut off.")
        return whole(self, place)

    monkeypatch.setattr(type(stack), "image", damaged)
    reporter = CollectingReporter()
    view_planes.slice_thumbnails(None, volume, [0, 1, 2], reporter=reporter)
    assert [one.problem for one in reporter.results] == ["", "'slice' is cut off.", ""]
