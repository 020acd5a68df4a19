from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageReader
from semblance.core.library.importers.registry import recognise
from semblance.core.library.importers.source import Source
from tests.helpers.bad_images import write_zip
from tests.helpers.importer_scan import Scan


def medmnist(path: Path, **more: np.ndarray) -> Path:
    arrays = {
        "train_images": np.random.default_rng(0).integers(0, 256, (3, 8, 9), np.uint8),
        "train_labels": np.array([[1], [0], [1]], np.uint8),
        "test_images": np.zeros((1, 8, 9), np.uint8),
        "test_labels": np.array([[0]], np.uint8),
    } | more
    out = io.BytesIO()
    np.savez(out, **{name: array for name, array in arrays.items() if array is not None})
    path.write_bytes(out.getvalue())
    return path


@pytest.mark.parametrize("where", ["file", "zip", "folder"])
def test_medmnist(tmp_path, where):
    path = medmnist(tmp_path / "m.npz")
    prefix = "" if where == "file" else "m.npz!"
    if where == "zip":
        path = write_zip(tmp_path / "z.zip", {"m.npz": path.read_bytes()})
    scan = Scan(tmp_path if where == "folder" else path)
    assert scan.kind == "medmnist"
    assert [(case.key, case.finding, case.attributes["split"]) for case in scan.cases] == [
        (f"{prefix}train_images[0]", "1", "train"),
        (f"{prefix}train_images[1]", "0", "train"),
        (f"{prefix}train_images[2]", "1", "train"),
        (f"{prefix}test_images[0]", "0", "test"),
    ]
    case = scan.cases[1]
    with np.load(tmp_path / "m.npz") as arrays:
        expected = arrays["train_images"][1]
    with Source.open(tmp_path if where == "folder" else path) as source, ImageReader() as reader:
        image = reader.open(source.address(case.path, case.member, case.frame))
    np.testing.assert_array_equal(image.pixels, expected)


def test_medmnist_with_names_several_labels_and_strange_arrays(tmp_path):
    scan = Scan(
        medmnist(
            tmp_path / "m.npz",
            label_names=np.array(["normal", "pneumonia"]),
            val_images=np.zeros((3, 4, 4, 3), np.uint8),
            val_labels=np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]]),
            strange=np.zeros(4),
        )
    )
    assert [case.finding for case in scan.cases] == [
        "pneumonia",
        "normal",
        "pneumonia",
        "normal+2",
        "none",
        "pneumonia",
        "normal",
    ]
    assert not scan.rejected["m.npz!strange"].failed


def test_volumes_of_medmnist_are_recognised(tmp_path):
    np.savez(tmp_path / "v.npz", train_images=np.zeros((3, 5, 6, 7), np.uint8))
    with Source.open(tmp_path / "v.npz") as source:
        importer, found = recognise(source)[0]
    assert importer.kind == "medmnist"
    assert found.explanation == "3 volumes of 7 x 6 x 5 voxels in train."


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"test_labels": np.zeros((2, 1), int)}, "'test_labels' has the shape"),
        ({"test_labels": np.array([0.5])}, "'test_labels' has the shape"),
        ({"test_labels": np.array([{}], dtype=object)}, "does not consist of numbers"),
        ({"test_images": np.zeros((1, 4, 4, 4, 4))}, "neither images nor volumes"),
    ],
)
def test_a_bad_part_does_not_hide_the_others(tmp_path, more, reason):
    scan = Scan(medmnist(tmp_path / "m.npz", **more), kind="medmnist")
    assert {case.attributes["split"] for case in scan.cases} == {"train"}
    assert reason in scan.rejected["m.npz!test_images"].reason
    assert scan.rejected["m.npz!test_images"].failed


def test_medmnist_without_labels_has_no_findings(tmp_path):
    scan = Scan(medmnist(tmp_path / "m.npz", test_labels=None))
    assert scan.cases[-1].finding is None


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut", b"no zip"])
def test_a_damaged_array_file_is_named(tmp_path, data):
    (tmp_path / "m.npz").write_bytes(data)
    with pytest.raises(BadInput, match=r"m\.npz"):
        Scan(tmp_path / "m.npz")


def test_arrays_of_other_names_are_reported(tmp_path):
    np.savez(tmp_path / "m.npz", ct=np.zeros((2, 3, 3)))
    with pytest.raises(BadInput, match=r"no array called train_images.*\(but ct\)"):
        Scan(tmp_path / "m.npz")
