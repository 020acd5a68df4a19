"""Extractors of whole volumes: every slice is read, and a changed one is reported."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from semblance.core.features.pixels import Pixels
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import ArrayStack, Volume
from semblance.core.library.content_hashes import content_hash, content_of_part, hash_of_volume
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Cancelled
from semblance.core.workflows.features import extract_features, open_volumes
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import image as dicom_image
from tests.helpers.dicom_files import save
from tests.helpers.learners import Listener


class WindowLevel(Pixels):
    """The grey of every slice, up to 64 of them; of an image its own."""

    volumes: ClassVar[bool] = True

    def __init__(self):
        super().__init__(size=8)

    def prepare(self, image, region=None):
        return np.full(64, image.grey().mean(), dtype=np.float32)

    def prepare_stack(self, stack, region=None):
        greys = [stack.image(place).grey().mean() for place in range(len(stack))]
        return np.array(greys + [0.0] * (64 - len(greys)), dtype=np.float32)


@pytest.fixture(autouse=True)
def greys(monkeypatch):
    monkeypatch.setattr(extract_features, "make_extractor", lambda name, **settings: WindowLevel())


def chunk(*images, reporter=SILENT):
    return extract_features.measure_cases("greys", {}, list(images), reporter=reporter)


@pytest.fixture
def series(tmp_path):
    """A case of five slices in files, of greys 0, 0.2 ... 0.8."""
    slices = []
    for number in range(5):
        Image.fromarray(np.full((9, 7), 51 * number, np.uint8)).save(tmp_path / f"{number}.png")
        slices.append(ImageAddress(tmp_path / f"{number}.png"))
    hashes = tuple(content_hash(one.container.read_bytes()) for one in slices)
    address = ImageAddress(slices[0].container, slices=tuple(slices))
    return extract_features.CaseImage(3, "c3", address, None, hashes)


def test_all_slices_in_files_are_found(series):
    found = chunk(series)
    assert (found.rows.tolist(), found.contents, found.failures) == ([3], ["c3"], [])
    assert found.values[0, :6] == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.0])


def test_all_slices_of_an_array_are_found_and_images_beside_it(tmp_path, series):
    voxels = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((4, 6, 5), np.uint8)
    flat = np.full((6, 6), 255, np.uint8)
    np.savez(tmp_path / "volumes.npz", one=voxels, flat=flat)
    content = hash_of_volume(ArrayStack(Volume(voxels)).volume())
    volume = extract_features.CaseImage(1, content, ImageAddress(tmp_path / "volumes.npz", "one"), None)
    plain = ImageAddress(tmp_path / "volumes.npz", "flat")
    image = extract_features.CaseImage(2, content_hash(flat.tobytes()), plain, None)
    found = chunk(volume, image, series)
    assert (found.rows.tolist(), found.failures) == ([1, 2, 3], [])
    assert found.values[0, :4] == pytest.approx(np.arange(4) / 255.0)
    assert found.values[1, 0] == 1.0


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_slice_that_is_not_what_it_was_is_reported_and_tried_again(series, how):
    file = series.address.slices[4].container
    if how == "gone":
        file.unlink()
    else:
        Image.fromarray(np.zeros((9, 7), np.uint8)).save(file)
    found = chunk(series)
    assert len(found.rows) == 0
    ((row, content, reason),) = found.failures
    assert (row, content) == (3, "")
    assert "4.png" in reason


def test_a_changed_array_is_reported(tmp_path):
    np.savez(tmp_path / "volumes.npz", one=np.zeros((4, 6, 5), np.uint8))
    address = ImageAddress(tmp_path / "volumes.npz", "one")
    found = chunk(extract_features.CaseImage(1, "another", address, Region(0, 0, 3, 3)))
    assert [failure[:2] for failure in found.failures] == [(1, "")]


def test_between_slices_it_can_be_cancelled(series):
    with pytest.raises(Cancelled):
        chunk(series, reporter=Listener(cancel_at=3))


def test_an_object_of_several_frames_is_what_it_was_when_imported(tmp_path):
    frames = np.random.default_rng(0).integers(0, 4000, (4, 6, 5)).astype(np.uint16)
    save(dicom_image(frames, Modality="NM"), tmp_path / "in" / "frames.dcm")
    library = tmp_path / "lib"
    import_source(tmp_path / "in", library)
    with open_library(library) as opened:
        rows = [row.id for row in opened.catalogue.all_cases()]
        found = chunk(*extract_features.case_images(opened, np.array(rows)))
    assert found.failures == []
    assert len(found.rows) == 1
    assert (found.values[0, :4] > 0).all()


def test_regions_of_one_array_read_it_once(tmp_path, monkeypatch):
    voxels = np.random.default_rng(0).integers(0, 255, (6, 9, 7)).astype(np.uint8)
    np.savez(tmp_path / "volumes.npz", one=voxels)
    address = ImageAddress(tmp_path / "volumes.npz", "one")
    hashed = []
    plain = open_volumes.hash_of_stack
    monkeypatch.setattr(open_volumes, "hash_of_stack", lambda volume: hashed.append(1) or plain(volume))
    volume = Volume(voxels)
    regions = [Region(x, 1, 3, 3, None, 2) for x in range(4)]
    found = chunk(
        *(
            extract_features.CaseImage(n, content_of_part(hash_of_volume(volume), region), address, region)
            for n, region in enumerate(regions)
        )
    )
    assert found.failures == []
    assert found.rows.tolist() == [0, 1, 2, 3]
    assert len(hashed) == 1
