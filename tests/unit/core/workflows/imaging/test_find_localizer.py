"""Which image of a study is the localizer of a volume."""

from __future__ import annotations

import numpy as np

from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.library.open_library import open_library
from semblance.core.workflows.imaging.find_localizer import find_localizer
from semblance.core.workflows.imaging.library_cache import close_libraries
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_slice, save

AXIAL = SlicePlane((0, 0, 0), (1, 0, 0), (0, 1, 0), (0.5, 0.5), "1.2.3")


def test_a_scout_comes_before_other_series_and_other_frames_are_left_out(tmp_path):
    pixels = np.arange(24 * 32, dtype=np.int16).reshape(24, 32)
    kinds = {
        "coronal": {"ImageOrientationPatient": [1, 0, 0, 0, 0, -1], "FrameOfReferenceUID": "1.2.3"},
        "scout": {
            "ImageOrientationPatient": [0, 1, 0, 0, 0, -1],
            "FrameOfReferenceUID": "1.2.3",
            "ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER"],
        },
        "parallel": {"FrameOfReferenceUID": "1.2.3"},
        "elsewhere": {"ImageOrientationPatient": [0, 1, 0, 0, 0, -1], "FrameOfReferenceUID": "1.2.4"},
    }
    for number, (name, header) in enumerate(kinds.items()):
        file = ct_slice(pixels, 0, series=f"1.2.840.{number}", SeriesDescription=name)
        for keyword, value in header.items():
            setattr(file, keyword, value)
        save(file, tmp_path / "dicom" / f"{name}.dcm")
    import_source(tmp_path / "dicom", tmp_path / "lib")
    with open_library(tmp_path / "lib") as library:
        rows = {
            name: one.id
            for one in library.catalogue.all_cases()
            for name in kinds
            if name in str(library.catalogue.details([one.id])[one.id].address)
        }
    assert rows.keys() == kinds.keys()
    everything = list(rows.values())
    found = find_localizer(tmp_path / "lib", AXIAL, everything)
    assert found.row == rows["scout"]
    assert found.plane.is_projection
    without = [row for row in everything if row != rows["scout"]]
    assert find_localizer(tmp_path / "lib", AXIAL, without).row == rows["coronal"]
    assert find_localizer(tmp_path / "lib", AXIAL, [rows["parallel"], rows["elsewhere"]]) is None
    close_libraries()
