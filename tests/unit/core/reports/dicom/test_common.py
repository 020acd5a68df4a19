from __future__ import annotations

import pytest
from pydicom import Dataset

from semblance.core.reports.dicom.common import complete_header


@pytest.mark.parametrize(
    ("name", "description", "expected"),
    [
        ("Quixley^Ann", "chest", ("Quixley^Ann", "chest")),
        # Devices write delimiters to a fixed number. More than four are an error.
        ("Quixley^Ann^^^^^^=^^", "line\nbreak\x1b[2J", ("Quixley^Ann", "line break [2J")),
        ("Yamada^Tarou=山田^太郎^^=", ["one", "two"], ("Yamada^Tarou=山田^太郎", "one two")),
        ("", "", ("", "")),
    ],
)
def test_what_a_source_wrote_against_the_standard_is_not_written_again(name, description, expected):
    header = Dataset()
    header.PatientName, header.StudyDescription = name, description
    after = complete_header(header)
    assert (str(after.PatientName), after.StudyDescription) == expected
    assert after.ReferringPhysicianName == ""
