from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from PySide6.QtGui import QImage

from semblance.app.widgets.thumbnail_loader import Done, ThumbnailLoader, as_image
from tests.helpers.widgets import finish_delayed_calls


@dataclass
class Image:
    row: int
    pixels: np.ndarray | None
    problem: str = ""


class Worker:
    """Holds requests until the test lets it answer."""

    def __init__(self) -> None:
        self.requests: list[tuple[list[int], Done]] = []

    def fetch(self, rows: list[int], done: Done) -> None:
        self.requests.append((rows, done))

    def answer(self, *, without: tuple[int, ...] = (), broken: tuple[int, ...] = ()) -> list[int]:
        rows, done = self.requests.pop(0)
        done(
            [
                Image(row, None, "ends early") if row in broken else Image(row, grey(row))
                for row in rows
                if row not in without
            ]
        )
        return rows


def grey(row: int) -> np.ndarray:
    return np.full((8, 10), row % 256, dtype=np.uint8)


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_the_last_visible_case_is_requested_first(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch, batch=3, max_fetches=1)
    for row in (1, 2, 3, 4, 1):
        assert images.get(row) is None
    qtbot.waitUntil(lambda: bool(worker.requests))
    assert worker.answer() == [1, 4, 3]
    assert worker.requests[0][0] == [2]


def test_nothing_is_requested_twice(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch, max_fetches=2)
    images.get(1)
    qtbot.waitUntil(lambda: bool(worker.requests))
    images.get(1)
    finish_delayed_calls(qtbot, images)
    assert len(worker.requests) == 1


def test_arrived_images_are_emitted_and_cached(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch)
    images.get(7)
    qtbot.waitUntil(lambda: bool(worker.requests))
    with qtbot.waitSignal(images.ready) as signal:
        worker.answer()
    assert signal.args == [frozenset({7})]
    image = images.get(7)
    assert image is not None
    assert (image.width(), image.height(), image.pixelColor(0, 0).red()) == (10, 8, 7)
    assert not worker.requests


def test_a_problem_is_stored_until_forgotten(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch)
    images.get(7)
    qtbot.waitUntil(lambda: bool(worker.requests))
    worker.answer(broken=(7,))
    assert images.get(7) is None
    assert images.problem(7) == "ends early"
    finish_delayed_calls(qtbot, images)
    assert not worker.requests
    images.forget({7})
    assert images.problem(7) == ""
    images.get(7)
    qtbot.waitUntil(lambda: bool(worker.requests))


def test_a_dropped_request_can_be_repeated(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch)
    images.get(1)
    images.get(2)
    qtbot.waitUntil(lambda: bool(worker.requests))
    worker.answer(without=(1,))
    assert images.get(1) is None
    qtbot.waitUntil(lambda: bool(worker.requests))
    assert worker.requests[0][0] == [1]


def test_the_least_used_is_evicted_when_full(qtbot, worker: Worker) -> None:
    size = as_image(grey(0)).sizeInBytes()
    images = ThumbnailLoader(worker.fetch, limit=2 * size)
    for row in (1, 2):
        images.get(row)
    qtbot.waitUntil(lambda: bool(worker.requests))
    worker.answer()
    images.get(1)
    images.get(3)
    qtbot.waitUntil(lambda: bool(worker.requests))
    worker.answer()
    assert images.cached_bytes == 2 * size
    assert images.get(1) is not None
    assert images.get(2) is None


def test_late_answers_of_another_library_are_dropped(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch)
    images.get(1)
    qtbot.waitUntil(lambda: bool(worker.requests))
    images.clear()
    worker.answer()
    assert images.cached_bytes == 0
    assert images.get(1) is None
    qtbot.waitUntil(lambda: bool(worker.requests))


def test_only_so_many_wait(qtbot, worker: Worker) -> None:
    images = ThumbnailLoader(worker.fetch, batch=10, max_fetches=9, max_queued=2)
    for row in range(5):
        images.get(row)
    qtbot.waitUntil(lambda: bool(worker.requests))
    assert worker.requests[0][0] == [4, 3]


def test_colour_pixels_keep_their_colour() -> None:
    image = as_image(np.dstack([np.full((3, 5), value, np.uint8) for value in (10, 20, 30)]))
    assert isinstance(image, QImage)
    assert image.pixelColor(4, 2).getRgb()[:3] == (10, 20, 30)


def test_large_cards_get_a_larger_image_once_it_is_there(qtbot, worker: Worker) -> None:
    own, replaced = Worker(), np.full((20, 20), 9, dtype=np.uint8)
    images = ThumbnailLoader(worker.fetch, larger=ThumbnailLoader(own.fetch), enough=16)
    ready: list[frozenset[int]] = []
    images.ready.connect(ready.append)
    assert images.get_sized(3, 40) is None
    qtbot.waitUntil(lambda: bool(worker.requests))
    worker.answer()
    assert images.get_sized(3, 16).width() == 10
    finish_delayed_calls(qtbot, images)
    assert not own.requests
    assert images.get_sized(3, 17).width() == 10
    qtbot.waitUntil(lambda: bool(own.requests))
    rows, done = own.requests.pop()
    done([Image(3, np.zeros((30, 24), dtype=np.uint8))])
    assert (rows, ready) == ([3], [frozenset({3})] * 2)
    assert (images.get_sized(3, 17).width(), images.get_sized(3, 16).width()) == (24, 10)
    images.replace(3, replaced)
    assert images.get_sized(3, 40).width() == images.get(3).width() == 20
    images.clear()
    assert images.get_sized(3, 40) is None
