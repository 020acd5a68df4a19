"""De-identified files, their names and their receipt."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.encaps import encapsulate

from semblance.core.errors import BadArguments
from semblance.core.imaging.deidentification.profile import Option
from semblance.core.library.export_log import read_exports
from semblance.core.workflows.imaging.deidentify_files import deidentify_files
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series, encoded, save
from tests.helpers.planted_identifiers import planted_object


def test_files_names_and_receipt_contain_no_patient_data(tmp_path):
    planted = [planted_object(number, instance=instance) for number in (1, 2) for instance in (0, 1)]
    for number, one in enumerate(planted):
        save(one.dataset, tmp_path / "in" / "Quixley^Zebedee" / f"MRN{number}.dcm")
    (tmp_path / "in" / "letter.txt").write_text("Dear Mrs Quixley001")
    result = deidentify_files(tmp_path / "in", tmp_path / "out")
    assert (len(result.files), len(result.patients), result.failed) == (4, 2, [])
    assert result.ignored == [("letter.txt", "not a DICOM file")]
    written = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert len(written) == 5
    for file in written:
        assert not [left for one in planted for left in one.left_in(file.read_bytes())]
        assert "uixley" not in str(file.relative_to(tmp_path)) and "MRN" not in file.name
    receipt = json.loads((tmp_path / "out" / "receipt.json").read_text())
    rules = {entry["attribute"].split()[0]: entry["rule"] for entry in receipt["changes"]}
    assert rules["(0010,0010)"] == "113100"
    assert receipt["standard"].startswith("DICOM PS3.15 20")
    assert receipt["burnt_in_text_not_checked"] == 4


def test_a_second_call_gives_the_same_codes_and_another_project_others(tmp_path):
    ct_series(tmp_path / "in", 2)
    first = deidentify_files(tmp_path / "in", tmp_path / "a")
    again = deidentify_files(tmp_path / "in", tmp_path / "b")
    other = deidentify_files(tmp_path / "in", tmp_path / "c", project="other")
    assert set(first.files) == set(again.files)
    assert not first.patients & other.patients
    assert not any(b"key" in file.name.encode() for file in (tmp_path / "a").rglob("*"))


def test_pixels_stay_as_they_are(tmp_path):
    (file,) = ct_series(tmp_path / "in", 1)
    result = deidentify_files(file, tmp_path / "out")
    (name,) = result.files
    assert np.array_equal(dcmread(tmp_path / "out" / name).pixel_array, dcmread(file).pixel_array)


def test_a_library_has_its_own_codes_and_notes_the_export(tmp_path):
    ct_series(tmp_path / "in", 3)
    import_source(tmp_path / "in", tmp_path / "lib")
    result = deidentify_files(tmp_path / "lib", tmp_path / "out", [Option.MODIFIED_DATES])
    assert len(result.files) == 3
    (line,) = read_exports(tmp_path / "lib")
    assert (line["what"], line["files"], line["identified"]) == ("de-identified images", 3, False)


def test_nothing_is_written_into_a_folder_in_use(tmp_path):
    ct_series(tmp_path / "in", 1)
    with pytest.raises(BadArguments, match="source"):
        deidentify_files(tmp_path / "in", tmp_path / "in" / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    with pytest.raises(BadArguments, match="not empty"):
        deidentify_files(tmp_path / "in", tmp_path / "full")


def test_what_was_not_written_is_listed_without_its_name_in_the_receipt(tmp_path):
    save(planted_object(1).dataset, tmp_path / "in" / "a.dcm")
    (tmp_path / "in" / "Quixley001.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\x08\0\5\0CS\xff\xff")
    result = deidentify_files(tmp_path / "in", tmp_path / "out")
    assert [file for file, _ in result.failed] == ["Quixley001.dcm"]
    assert "Quixley001" not in (tmp_path / "out" / "receipt.json").read_text()


@pytest.mark.parametrize(("keyword", "value"), [("Rows", 0), ("SamplesPerPixel", 2), ("NumberOfFrames", -1)])
def test_the_receipt_quotes_no_name_of_a_file(tmp_path, keyword, value):
    dataset = planted_object(1).dataset
    setattr(dataset, keyword, value)
    save(dataset, tmp_path / "in" / "Quixley^Zebedee" / "Quixley.dcm")
    (tmp_path / "in" / "Quixley~1.zip!").mkdir()
    result = deidentify_files(tmp_path / "in", tmp_path / "out")
    assert not result.files and result.failed
    assert "uixley" not in (tmp_path / "out" / "receipt.json").read_text()
    assert all(reason.startswith(("It ", "its ")) for reason in result.not_written)


def test_the_receipt_quotes_no_value_of_a_header(tmp_path):
    dataset = planted_object(1).dataset
    dataset.PixelData = encapsulate([b"pixels"])
    dataset["PixelData"].is_undefined_length = True
    content = encoded(dataset, "1.2.840.10008.1.2.4.100")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.dcm").write_bytes(content.replace(b"1.2.4.100\0", b"1.2.4.1007"))
    result = deidentify_files(tmp_path / "in", tmp_path / "out")
    assert "4.1007" in result.failed[0][1]
    assert "4.1007" not in (tmp_path / "out" / "receipt.json").read_text()
