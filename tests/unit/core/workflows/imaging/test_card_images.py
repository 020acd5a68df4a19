"""Thumbnails of cases on cards: the stored ones, and larger ones."""

from __future__ import annotations

import numpy as np
from PIL import Image

from semblance.core.imaging.thumbnail import LONGEST
from semblance.core.library.open_library import open_library
from semblance.core.workflows.imaging.card_images import card_images
from semblance.core.workflows.library.import_source import import_source


def test_larger_thumbnails_show_the_detail_of_the_image_and_are_not_stored(tmp_path):
    folder, library = tmp_path / "images", tmp_path / "l.semblance"
    folder.mkdir()
    # Stripes of 2 pixels, which are lost in a small thumbnail.
    stripes = np.repeat(np.tile(np.array([0, 0, 255, 255], dtype=np.uint8), 240)[np.newaxis], 480, axis=0)
    Image.fromarray(stripes[:, :480]).save(folder / "large.png")
    Image.fromarray(stripes[:100, :100]).save(folder / "small.png")
    import_source(folder, library, kind="folder")
    with open_library(library) as opened:
        before = opened.thumbnails.get(opened.thumbnails.contents())
    usual, small = card_images(library, [1, 2], LONGEST)
    large, enlarged = card_images(library, [1, 2], 480)
    assert (usual.pixels.shape, large.pixels.shape) == ((LONGEST, LONGEST), (480, 480))
    assert usual.pixels.std() < 60
    assert large.pixels.std() > 100
    # A small image has no more detail than its thumbnail.
    assert enlarged.pixels.shape == (480, 480)
    assert small.pixels.shape == (LONGEST, LONGEST)
    with open_library(library) as opened:
        assert opened.thumbnails.get(opened.thumbnails.contents()) == before
