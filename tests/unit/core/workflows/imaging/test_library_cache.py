"""Which libraries one process keeps open to look at."""

from __future__ import annotations

import shutil

import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.workflows.imaging import card_images, library_cache
from semblance.core.workflows.library.close_library import close_library
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder


@pytest.fixture
def libraries(tmp_path):
    made = [tmp_path / f"{n}.semblance" for n in range(library_cache.MAX_OPEN_LIBRARIES + 2)]
    for path in made:
        Library.create(path).close()
    yield made


def test_the_least_recently_used_are_closed(libraries):
    first = libraries[0]
    for path in libraries[: library_cache.MAX_OPEN_LIBRARIES]:
        card_images.card_images(path, [], 64)
    card_images.card_images(first, [], 64)
    for path in libraries[library_cache.MAX_OPEN_LIBRARIES :]:
        card_images.card_images(path, [], 64)
    assert list(library_cache._open) == [libraries[3], first, *libraries[library_cache.MAX_OPEN_LIBRARIES :]]


def test_a_closed_library_is_released(libraries):
    for path in libraries[:2]:
        card_images.card_images(path, [], 64)
    close_library(libraries[0])
    assert list(library_cache._open) == [libraries[1]]


def test_another_library_in_the_same_place_is_recognised(libraries, tmp_path):
    here = libraries[0]
    import_source(striped_folder(tmp_path / "images", n=4), here)
    rows = [
        int(case.row) for case in card_images.card_images(here, [1, 2, 3, 4], 64) if case.pixels is not None
    ]
    assert rows == [1, 2, 3, 4]
    shutil.rmtree(here)
    with pytest.raises(BadInput):
        card_images.card_images(here, [1], 64)
    Library.create(here).close()
    (card,) = card_images.card_images(here, [1], 64)
    assert card.problem == "no longer in the library"
