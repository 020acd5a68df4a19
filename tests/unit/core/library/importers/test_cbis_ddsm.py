from __future__ import annotations

from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.importer_scan import Scan
from tests.helpers.mammograms import HEADER, PNG, cbis_files, cbis_line, roi


def test_cbis_ddsm(tmp_path):
    lines = [
        HEADER,
        cbis_line("P_00001", 1, "MALIGNANT"),
        cbis_line("P_00001", 2, "BENIGN"),
        cbis_line("P_00002", 1, "BENIGN_WITHOUT_CALLBACK", swapped=True, view="MLO"),
        cbis_line("P_00009", 1, "BENIGN"),
    ]
    files = {"csv/mass_case_description_train_set.csv": "\n".join(lines).encode()}
    files |= cbis_files("P_00001", 1, (10, 20, 8, 6)) | cbis_files("P_00001", 2, (30, 5, 4, 4))
    files |= cbis_files("P_00002", 1, (1, 2, 3, 4), "MLO") | {"jpeg/other/1/2.png": PNG}
    scan = Scan(write_zip(tmp_path / "cbis.zip", files))
    assert scan.kind == "mammograms"
    image, other = (
        "jpeg/Mass-Training_P_00001_LEFT_CC/1.2/P_00001.3/000000.png",
        "jpeg/Mass-Training_P_00002_LEFT_MLO/1.2/P_00002.3/000000.png",
    )
    found = [(c.key, c.finding, c.patient, (c.region.x, c.region.y, c.region.width)) for c in scan.cases]
    assert found == [
        (image, "malignant", "P_00001", (10, 20, 8)),
        (f"{image}#2", "benign", "P_00001", (30, 5, 4)),
        (other, "benign", "P_00002", (1, 2, 3)),
    ]
    assert scan.cases[0].attributes == {
        "breast": "left",
        "view": "cc",
        "density": "3",
        "abnormality": "mass",
        "shape": "oval",
        "margins": "spiculated",
        "assessment": "4",
        "lesion_id": "LEFT mass 1",
        "subtlety": "4",
        "split": "train",
    }
    assert scan.cases[2].attributes["callback"] == "no"
    failed = [name for name, item in scan.rejected.items() if item.failed]
    assert len(failed) == 1
    assert "P_00009" in scan.rejected[failed[0]].reason
    mask = "jpeg/Mass-Training_P_00001_LEFT_CC_2/1.2/P_00001.4.2/000001.png"
    assert scan.rejected[mask].reason == f"The mask of '{image}'."
    assert scan.rejected["jpeg/other/1/2.png"].reason == "No table describes it."
    scan.assert_each_file_reported_once()


def test_files_renamed_by_the_archive_are_found_by_their_folder(tmp_path):
    files = {
        "calc_case_description_test_set.csv": (HEADER + "\n" + cbis_line("P_1", 1, "BENIGN")).encode(),
        "Mass-Training_P_1_LEFT_CC/07-20-2016-DDSM-1/1.000000-full/1-1.png": PNG,
        "Mass-Training_P_1_LEFT_CC_1/07-20-2016-DDSM-2/1.000000-crop/1-1.png": encoded(pattern(8, 8)),
        "Mass-Training_P_1_LEFT_CC_1/07-20-2016-DDSM-2/1.000000-crop/1-2.png": roi(7, 8, 9, 10),
    }
    [case] = (scan := Scan(write_zip(tmp_path / "cbis.zip", files))).cases
    assert (case.region.x, case.region.y, case.region.width, case.region.height) == (7, 8, 9, 10)
    assert case.attributes["split"] == "test"
    scan.assert_each_file_reported_once()


def test_a_table_without_pathology_is_reported(tmp_path):
    files = {"mass_case_description_train_set.csv": b"patient_id,image file path\nP_1,a.png\n", "a.png": PNG}
    scan = Scan(write_zip(tmp_path / "cbis.zip", files))
    assert not scan.cases
    assert "'pathology'" in scan.rejected["mass_case_description_train_set.csv"].reason
