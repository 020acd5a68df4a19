"""An import says what files contradict, and which of their numbers cannot be read."""

from __future__ import annotations

import numpy as np

from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series, image, save


def test_files_with_the_same_remark_are_one_note(tmp_path):
    for number in range(3):
        pixels = np.random.default_rng(number).integers(0, 900, (24, 24), dtype=np.uint16)
        unreadable = {"RescaleIntercept": "-1024"} if number else {}
        dataset = image(pixels, SOPInstanceUID=f"1.2.3.{number}", Modality="CR", **unreadable)
        file = save(dataset, tmp_path / "scans" / f"{number}.dcm")
        file.write_bytes(file.read_bytes().replace(b"-1024", b"-102H"))
    notes = [str(note) for note in import_source(tmp_path / "scans", tmp_path / "lib").notes]
    said = [note for note in notes if "Rescale Intercept" in note]
    assert len(said) == 1
    assert "2 files" in said[0]
    assert "'-102H'" in said[0]


def test_every_slice_of_a_volume_is_looked_through(tmp_path):
    files = ct_series(tmp_path / "scans")
    data = files[-1].read_bytes()
    assert data.count(b"-1024") == 1
    files[-1].write_bytes(data.replace(b"-1024", b"-102H"))
    notes = [str(note) for note in import_source(tmp_path / "scans", tmp_path / "lib").notes]
    assert sum("Rescale Intercept '-102H.0'" in note and files[-1].name in note for note in notes) == 1
