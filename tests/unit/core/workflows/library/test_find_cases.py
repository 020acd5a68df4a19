"""Cases are found by any header text, in step with the catalogue, and never by what was de-identified."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.library.library import Library
from semblance.core.workflows.library.find_cases import find_cases, header_rows
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_slice, save
from tests.helpers.libraries import make_library, raw


def found(library, text: str) -> list[str]:
    return [case["case_id"] for case in find_cases(library, text).cases]


@pytest.fixture
def scans(tmp_path):
    for name, description in (("a", "2.0 Lung Müller"), ("b", "T2 liver")):
        header = {
            "series": f"1.2.{len(name)}.{ord(name)}",
            "SeriesDescription": description,
            "StationName": "CTROOM7",
            "BodyPartExamined": "CHEST",
            "StudyDate": "20190314",
            "AccessionNumber": "ACC99",
            "OperatorsName": "Nurse^Ann",
        }
        save(ct_slice(np.full((8, 8), 100, dtype=np.int16), **header), tmp_path / "scans" / f"{name}.dcm")
    return tmp_path / "scans"


def test_any_word_of_the_header_is_found_by_its_beginning(scans, tmp_path):
    import_source(scans, tmp_path / "lib", identified=True)
    (lung,) = found(tmp_path / "lib", "lun")
    (liver,) = found(tmp_path / "lib", "t2 CHE liver")
    assert lung != liver
    assert found(tmp_path / "lib", "2.0") == [lung]
    assert found(tmp_path / "lib", "muller") == [lung]
    assert set(found(tmp_path / "lib", "ctroom7 acc99")) == {lung, liver}
    assert found(tmp_path / "lib", "lung liver") == []
    assert found(tmp_path / "lib", '") OR text : ("') == []
    assert find_cases(tmp_path / "lib", "lung").cases[0]["name"] == "Chest CT, 2.0 Lung Müller, 14 Mar 2019"


@pytest.mark.parametrize("hidden", ["müller", "ctroom7", "acc99", "nobody", "P1", "2019-03-14", "ann"])
def test_a_deidentified_library_neither_finds_nor_shows_identifiers(scans, tmp_path, hidden):
    import_source(scans, tmp_path / "lib")
    assert header_rows(tmp_path / "lib", [hidden])[hidden].size == 0
    listed = find_cases(tmp_path / "lib", "lung").cases
    assert len(listed) == 1
    assert hidden.casefold() not in str(listed).casefold()


def test_the_index_follows_every_change_of_a_case(tmp_path):
    library = make_library(tmp_path / "lib.semblance", cases=2)
    with Library.open(library, writable=True) as opened:
        source = opened.catalogue.sources()[0]
        opened.catalogue.relabel([("s/0.png", None, None, {"note": "spiculated"})])
        assert found(library, "spicul") == ["s/0.png"]
        assert found(library, "cc") == ["s/1.png"]
        opened.catalogue.remove(source, [], ["s/0.png"])
    assert found(library, "spicul") == []
    with raw(library) as connection:
        connection.execute("UPDATE cases SET attributes = '{broken'")
    assert header_rows(library, ["cc"])["cc"].size == 0


def test_uids_are_not_searched(tmp_path):
    library = make_library(tmp_path / "lib.semblance", cases=1)
    with Library.open(library, writable=True) as opened:
        opened.catalogue.relabel([("s/0.png", None, None, {"study": "1.2.3.4", "note": "seen"})])
    assert header_rows(library, ["1.2.3.4", "seen"])["1.2.3.4"].size == 0
