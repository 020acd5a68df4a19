"""The reason why a file gives no case says what was checked."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.mammograms.importer import MammogramsImporter
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT


def png(height: int = 8, width: int = 8, *, white: bool = False, seed: int = 0) -> bytes:
    grey = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    if white:
        grey = np.zeros((height, width), np.uint8)
        grey[2:5, 2:5] = 255
    written = io.BytesIO()
    Image.fromarray(grey).save(written, "PNG")
    return written.getvalue()


def scanned(folder, importer=None) -> tuple[set[str], dict[str, str]]:
    """The files that are cases, and the reasons of the others."""
    with Source.open(folder) as source:
        found = list((importer or FolderImporter()).scan(source, SILENT))
    cases = {one.path for one in found if isinstance(one, FoundCase)}
    return cases, {one.path: str(one.reason) for one in found if isinstance(one, RejectedFile)}


@pytest.mark.parametrize("name", ["tiny", "a.dat", "a.dcm", "a.csv", "a.zip"])
def test_an_image_is_known_by_its_first_bytes(tmp_path, name):
    (tmp_path / name).write_bytes(png(1, 1))
    assert scanned(tmp_path) == ({name}, {})


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.csv", b"a,b\n1,2\n", "a table; import it separately"),
        ("a.csv", b"%PDF-1.4 \0", "it seems to be a PDF document"),
        ("a.parquet", b"text", "it seems to be a text file"),
        ("a.npz", b"\x93NUMPY\x01", "it seems to be a NumPy array"),
        ("a.zip", b"PK\x03\x04\x14", "a zip file inside"),
        ("a.dcm", b"text", "it seems to be a text file"),
        ("notes", b"BMI of 20 women and their ages", "it seems to be a text file"),
        ("empty.csv", b"", "The file is empty"),
    ],
)
def test_a_file_is_what_its_first_bytes_say_and_not_its_name(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "b.png").write_bytes(png())
    cases, reasons = scanned(tmp_path)
    assert cases == {"b.png"}
    assert reason in reasons[name]


def test_a_line_that_may_mean_several_images_names_them(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.png").write_bytes(png())
    (tmp_path / "labels.csv").write_text("file,label\n1.png,x\n2.png,y\n")
    reasons = scanned(tmp_path)[1]
    assert "several images are called so: a/1.png, b/1.png" in reasons["labels.csv:2"]
    assert "does not exist" in reasons["labels.csv:3"]


def test_of_a_mask_that_does_not_fit_the_mask_is_refused_and_not_the_detail(tmp_path):
    """The table exchanges both, as those of CBIS-DDSM do here and there."""
    files = {"img/1.png": png(40, 60), "roi/1.png": png(10, 12, seed=1), "roi/2.png": png(60, 40, white=True)}
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "mass_case_description_train_set.csv").write_text(
        "patient_id,pathology,image file path,cropped image file path,ROI mask file path\n"
        "P_1,BENIGN,img/1.png,roi/2.png,roi/1.png\n"
    )
    reasons = scanned(tmp_path, MammogramsImporter())[1]
    assert "is 40 x 60 pixels, its image 60 x 40" in reasons["roi/2.png"]
    assert reasons["roi/1.png"] == "A detail of 'img/1.png'."
