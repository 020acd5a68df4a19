from __future__ import annotations

import os
from pathlib import Path

import pytest

from semblance.core.library.location import servers_folder
from semblance.core.workflows.library import local_copies

SIZE = 1000


def make_copy(name: str, time: float, images: dict[str, float]) -> Path:
    """A copy last compared at ``time`` with images viewed at the given times; each file has SIZE bytes."""
    folder = servers_folder() / name
    for file in ("copy.json", "catalogue.sqlite", *(f"images/{image}/0.dcm" for image in images)):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(b"x" * SIZE)
    for image, viewed in images.items():
        os.utime(folder / "images" / image, (viewed, viewed))
    os.utime(folder / "copy.json", (time, time))
    return folder


@pytest.fixture
def copies() -> tuple[Path, Path]:
    """The copy in use, which is the older one, and another; six files of images and of catalogues together."""
    return make_copy("in use", 100, {"new": 90, "old": 10}), make_copy("other", 200, {"middle": 50})


def images_of(copies: tuple[Path, Path]) -> set[str]:
    return {entry.name for folder in copies for entry in (folder / "images").glob("*")}


def test_images_viewed_longest_ago_are_removed_first_then_copies_not_in_use(copies):
    in_use, other = copies
    assert local_copies.size_of_copies() == 7 * SIZE
    local_copies.limit_copies(7 * SIZE, keep=in_use)
    assert images_of(copies) == {"new", "old", "middle"}
    local_copies.limit_copies(5 * SIZE, keep=in_use)
    assert images_of(copies) == {"new"}
    local_copies.limit_copies(2 * SIZE, keep=in_use)
    assert not other.exists()
    # The catalogue of the library in use stays, whatever the limit is.
    local_copies.limit_copies(1, keep=in_use)
    assert local_copies.size_of_copies() == 2 * SIZE


def test_removed_copies_leave_nothing_but_empty_folders(copies):
    assert local_copies.remove_copies() == 0
    assert not any(file.is_file() for folder in copies for file in folder.rglob("*"))
