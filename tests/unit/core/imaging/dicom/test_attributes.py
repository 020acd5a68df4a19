from __future__ import annotations

import pytest
from pydicom import Dataset

from semblance.core.imaging.dicom.attributes import text


@pytest.mark.parametrize(
    ("stored", "kept"),
    [
        ("SIEMENS ", "SIEMENS"),
        ("two\r\nlines", "two lines"),
        ("SIEMENS\0\0old buffer", "SIEMENS"),
        ("T\x08\x00\x80\x00LO\x0c\x00NAME^OF A PATIENT", ""),
        ("T \x00\x10\x00NAME", "T"),
        ("Mu\u0308ller", "M\u00fcller"),
    ],
)
def test_a_text_ends_where_another_value_begins(stored, kept):
    dataset = Dataset()
    dataset.Manufacturer = stored
    assert text(dataset, "Manufacturer") == kept
