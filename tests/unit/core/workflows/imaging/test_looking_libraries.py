"""How many libraries one process keeps open to look at."""

from __future__ import annotations

import pytest

from core.library.library import Library
from core.workflows.imaging import looking


@pytest.fixture
def libraries(tmp_path):
    made = [tmp_path / f"{n}.semblance" for n in range(looking.KEPT + 2)]
    for path in made:
        Library.create(path).close()
    yield made


def test_those_looked_at_longest_ago_are_closed(libraries):
    first = libraries[0]
    for path in libraries[: looking.KEPT]:
        looking.card_images(path, [], 64)
    looking.card_images(first, [], 64)
    for path in libraries[looking.KEPT :]:
        looking.card_images(path, [], 64)
    assert list(looking._open) == [libraries[3], first, *libraries[looking.KEPT :]]
