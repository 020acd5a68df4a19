from __future__ import annotations

import pytest
from pydicom import Dataset

from semblance.core.imaging.dicom.descriptions import clean_description
from semblance.core.imaging.dicom.identity import Identity


@pytest.fixture
def header() -> Dataset:
    made = Dataset()
    made.PatientName, made.PatientID = "Lung^Mary", "4711"
    return made


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("2.0 CHEST B70f", "2.0 CHEST B70f"),
        ("t1_vibe_fs_tra_bh_dyn", "t1 vibe fs tra bh dyn"),
        ("CT CHEST Dr Miller, Mary Smith", "CT CHEST"),
        # The patient is called Lung.
        ("2.0 lung", "2.0"),
        ("head 12/03/1975", "head"),
        ("abdomen 4711 12345678 99", "abdomen"),
        ("Room 17 St. Mary's", ""),
        ("", ""),
    ],
)
def test_only_words_that_identify_nobody_stay(header, typed, kept):
    assert clean_description(typed, Identity.of_patient(header)) == kept
