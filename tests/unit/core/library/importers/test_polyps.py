"""Polyp candidates: scans found by what the table calls them, views linked, bad rows reported by line."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.features.polyp.extractor import Polyp
from semblance.core.imaging.region import Region
from semblance.core.library.importers.registry import get_importer, recognise
from semblance.core.library.importers.source import Source
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.suitable_extractors import suitable_extractors
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series
from tests.helpers.importer_scan import Scan
from tests.helpers.volumes import ball_on_wall, ct_of

HEADER = "patient,view,polyp,scan,row,x,y,z\n"


def arrays(folder, count=2, name="scans.npz", **more):
    """An array file of ``count`` small scans."""
    folder.mkdir(exist_ok=True, parents=True)
    ct = np.stack([ct_of(ball_on_wall(4.0 + n), (40, 36, 32)) for n in range(count)])
    np.savez_compressed(folder / name, ct=ct, mask=np.zeros_like(ct, np.uint8), **more)
    return folder


def listed(folder, rows, header=HEADER):
    (folder / "candidates.csv").write_text(header + rows, encoding="utf-8")
    return folder


def found_in(folder):
    scan = Scan(folder)
    assert scan.kind == "polyps"
    return scan


def test_candidates_of_both_views_and_false_positives(tmp_path):
    listed(
        arrays(tmp_path / "study"),
        "A,prone,1,scans.npz,0,15,17,20\nA,supine,1,scans,1,16,18,21\nB,p,,ct,1,9,9,9\n",
    )
    scan = found_in(tmp_path / "study")
    cases = scan.cases
    assert [(c.finding, c.patient, c.attributes["view"], c.frame, c.member) for c in cases] == [
        ("polyp 1", "A", "prone", 0, "ct"),
        ("polyp 1", "A", "supine", 1, "ct"),
        ("false positive", "B", "prone", 1, "ct"),
    ]
    assert cases[0].region == Region(9, 11, 13, 13, None, 14, 13)
    assert cases[0].key == "candidates.csv#1"
    assert scan.rejected["candidates.csv"].reason == "Read as the list of candidates."
    assert not any(item.failed for item in scan.rejected.values())


def test_the_same_name_in_two_patients_is_two_polyps_and_shows_no_patient(tmp_path):
    rows = "Smith,prone,1,ct,0,5,5,5\nJones,prone,1,ct,0,6,6,6\n"
    rows += "Smith,supine,1,ct,1,5,5,5\nJones,prone,7,ct,0,7,7,7\n"
    scan = found_in(listed(arrays(tmp_path), rows))
    findings = [case.finding for case in scan.cases]
    assert sorted(findings) == [
        "polyp 1 of patient 1",
        "polyp 1 of patient 1",
        "polyp 1 of patient 2",
        "polyp 7",
    ]
    assert not any("Smith" in finding for finding in findings)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",prone,1,ct,0,5,5,5", "the patient is missing"),
        ("A,upside,1,ct,0,5,5,5", "'upside' is not a view"),
        ("A,prone,1,gone.npz,0,5,5,5", "names the scan 'gone.npz[0]', which does not exist"),
        ("A,prone,1,ct,9,5,5,5", "names the scan 'ct[9]', which does not exist"),
        ("A,prone,1,,,5,5,5", "its scan is missing"),
        ("A,prone,1,ct,0,5,,5", "its position is missing"),
        ("A,prone,1,ct,0,five,5,5", "'five' in the column 'x' is not a number"),
        ("A,prone,1,ct,0,400,5,5", "outside the scan of 40 x 36 x 32 voxels"),
        ("A,prone,1,ct,0,5,5,-3", "outside the scan"),
        ("A,prone,1,ct,0,5,5", "7 cells where the header names 8 columns"),
    ],
)
def test_a_bad_row_is_reported_with_its_line_and_the_others_are_imported(tmp_path, row, reason):
    scan = found_in(listed(arrays(tmp_path), f"A,prone,2,ct,0,5,5,5\n{row}\nA,supine,2,ct,1,6,6,6\n"))
    assert len(scan.cases) == 2
    failed = {name: item.reason for name, item in scan.rejected.items() if item.failed}
    assert list(failed) == ["candidates.csv:3"]
    assert reason in failed["candidates.csv:3"]
    assert failed["candidates.csv:3"].startswith("Line 3: ")


def test_a_case_id_twice_is_reported(tmp_path):
    rows = "A,prone,1,ct,0,5,5,5,c\nA,supine,1,ct,1,5,5,5,c\n"
    scan = found_in(listed(arrays(tmp_path), rows, HEADER.replace("z\n", "z,case_id\n")))
    assert [case.key for case in scan.cases] == ["c"]
    assert "second time" in scan.rejected["candidates.csv:3"].reason


def test_positions_in_mm_use_the_spacing_beside_the_arrays(tmp_path):
    arrays(tmp_path, spacing=np.array([[1.0, 1.0, 1.0], [2.0, 0.5, 0.5]]))
    header = HEADER.replace("x,y,z", "x_mm,y_mm,z_mm,diameter_mm")
    scan = found_in(listed(tmp_path, "A,prone,1,ct,1,8,9,20,8\n", header))
    (case,) = scan.cases
    assert case.region == Region(4, 6, 25, 25, None, 8, 5)
    assert case.attributes["diameter_mm"] == "8"


def test_positions_in_mm_without_a_spacing_are_reported(tmp_path):
    header = HEADER.replace("x,y,z", "x_mm,y_mm,z_mm")
    scan = found_in(listed(arrays(tmp_path), "A,prone,1,ct,1,8,9,20\n", header))
    assert "has no spacing" in scan.rejected["candidates.csv:2"].reason


@pytest.mark.parametrize(
    ("geodesic", "is_imported"), [("0.25", True), ("0", True), ("", True), ("1.5", False), ("x", False)]
)
def test_geodesic_positions_lie_between_rectum_and_caecum(tmp_path, geodesic, is_imported):
    header = HEADER.replace("z\n", "z,geodesic\n")
    scan = found_in(listed(arrays(tmp_path), f"A,prone,1,ct,0,5,5,5,{geodesic}\n", header))
    assert bool(scan.cases) is is_imported
    for case in scan.cases:
        assert case.attributes.get("geodesic", "") == geodesic


def test_a_dicom_series_is_found_by_folder_and_uid_and_positions_by_its_geometry(tmp_path):
    ct_series(tmp_path / "A" / "prone", 12, size=(24, 32))
    header = "patient,view,polyp,scan,x_mm,y_mm,z_mm\n"
    rows = "A,prone,1,A/prone,-4,-14,8\nA,prone,,prone,-4,-14,9\n"
    rows += "A,prone,2,1.2.826.0.1.3680043.10.1430.2,0,-14,10\n"
    scan = found_in(listed(tmp_path, rows + "A,prone,3,nothing,0,0,0\n", header))
    assert len(scan.cases) == 3
    first = scan.cases[0]
    assert first.key == "candidates.csv#1"
    assert len(first.slices) == 12
    region = first.region
    # Slices lie 2 mm apart from 0, pixels 0.5 mm from -10, -20: the middle of the box is the position.
    middle = (region.z + region.depth // 2, region.y + region.height // 2, region.x + region.width // 2)
    assert middle == (4, 12, 12)
    scan.assert_each_file_reported_once()


def test_without_a_column_the_patient_and_view_name_the_scan(tmp_path):
    for view in ("prone", "supine"):
        arrays(tmp_path, 1, f"A_{view}.npz")
    scan = found_in(listed(tmp_path, "A,prone,1,5,5,5\nA,supine,1,6,6,6\n", "patient,view,polyp,x,y,z\n"))
    assert sorted(case.path for case in scan.cases) == ["A_prone.npz", "A_supine.npz"]


def test_other_numbers_are_features_other_words_attributes(tmp_path):
    header = HEADER.replace("z\n", "z,f1,f2,reader\n")
    rows = "A,prone,1,ct,0,5,5,5,0.5,,Kim\nA,supine,1,ct,1,5,5,5,x,2,\nA,supine,,ct,1,6,6,6,3,1,\n"
    scan = found_in(listed(arrays(tmp_path), rows, header))
    first, _ = scan.cases
    assert first.columns == ("f1", "f2")
    assert first.values[0] == 0.5
    assert np.isnan(first.values[1])
    assert first.attributes["reader"] == "Kim"
    assert "'x' in the column 'f1' is not a number" in scan.rejected["candidates.csv:3"].reason


def test_a_table_alone_needs_features_of_its_own(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(
        "patient,view,polyp,geodesic,f1,f2\nA,prone,1,0.2,1,2\nA,supine,1,0.3,2,3\nA,supine,,0.9,5,5\n"
    )
    scan = found_in(path)
    assert [case.values for case in scan.cases] == [(1, 2), (2, 3), (5, 5)]
    path.write_text("patient,view,polyp\nA,prone,1\n")
    assert "names no scan" in found_in(path).rejected["list.csv:2"].reason


def test_files_that_are_neither_are_accounted(tmp_path):
    arrays(tmp_path, 1, "unused.npz")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
    np.savez(tmp_path / "flat.npz", table=np.zeros((3, 4)))
    scan = found_in(listed(arrays(tmp_path), "A,prone,1,scans.npz,0,5,5,5\n"))
    assert not scan.rejected["unused.npz"].failed
    assert "The list has no candidate" in scan.rejected["unused.npz"].reason
    assert not scan.rejected["notes.txt"].failed
    assert scan.rejected["broken.npz"].failed
    assert "without volumes" in scan.rejected["flat.npz"].reason
    scan.assert_each_file_reported_once()


def test_a_zip_is_read_in_place(tmp_path):
    folder = listed(arrays(tmp_path / "in"), "A,prone,1,ct,0,5,5,5\n")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as package:
        for file in sorted(folder.iterdir()):
            package.write(file, f"study/{file.name}")
    scan = found_in(tmp_path / "all.zip")
    assert len(scan.cases) == 1


def test_a_scan_that_may_be_several_is_reported(tmp_path):
    arrays(tmp_path / "a")
    arrays(tmp_path / "b")
    scan = found_in(listed(tmp_path, "A,prone,1,scans.npz,0,5,5,5\nA,prone,1,a/scans.npz,0,5,5,5\n"))
    assert "2 scans of the source have the name" in scan.rejected["candidates.csv:2"].reason
    assert len(scan.cases) == 1


def test_two_lists_share_their_ids_and_features(tmp_path):
    header = "patient,view,polyp,case_id,f1\n"
    (tmp_path / "a.csv").write_text(header + "A,prone,1,one,1\n")
    (tmp_path / "b.csv").write_text(header + "A,supine,1,one,2\nA,supine,1,two,3\n")
    (tmp_path / "c.csv").write_text(header.replace("f1", "f2") + "B,supine,1,three,2\n")
    scan = found_in(tmp_path)
    assert [case.key for case in scan.cases] == ["one", "two"]
    assert "second time" in scan.rejected["b.csv:2"].reason
    assert "differ" in scan.rejected["c.csv"].reason
    assert scan.rejected["c.csv"].failed


def test_empty_arrays_are_reported(tmp_path):
    np.savez(tmp_path / "none.npz", ct=np.zeros((0, 5, 5, 5), np.int16))
    scan = found_in(listed(arrays(tmp_path), "A,prone,1,scans.npz,0,5,5,5\n"))
    assert "without volumes" in scan.rejected["none.npz"].reason
    scan.assert_each_file_reported_once()


def test_other_tables_are_not_taken_for_candidates(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,x\n2,3,y\n")
    with Source.open(tmp_path / "t.csv") as source:
        assert recognise(source)[0][0].kind == "table"
        with pytest.raises(BadInput, match="no CSV of candidates"):
            list(get_importer("polyps").scan(source, SILENT))


def test_import_extract_and_ready_features(tmp_path):
    header = HEADER.replace("z\n", "z,geodesic,f1\n")
    rows = "A,prone,1,ct,0,16,18,23,0.4,1.5\nA,supine,1,ct,1,16,18,24,0.5,1.6\nA,supine,,ct,1,3,3,2,0.1,9\n"
    listed(arrays(tmp_path / "study"), rows, header)
    library = tmp_path / "p.semblance"
    result = import_source(tmp_path / "study", library)
    assert (result.kind, result.added, result.failed) == ("polyps", 3, [])
    assert suitable_extractors(library)[0] == "polyp"
    assert "raw" in suitable_extractors(library)
    extracted = extract_features(library, "polyp", workers=1)
    assert extracted.extracted + len(extracted.failed) == 3
    assert extracted.extracted >= 2
    assert extract_features(library, "raw").extracted == 3
    with open_library(library) as opened:
        rows, numbers = opened.features.read(opened.features.get("raw"))
        assert numbers.ravel().tolist() == [1.5, 1.6, 9.0]
        rows, numbers = opened.features.read(opened.features.get("polyp"))
        assert numbers.shape[1] == 96
    again = import_source(tmp_path / "study", library)
    assert (again.added, again.unchanged) == (0, 3)


def test_the_extractor_sees_the_spacing_of_a_series(tmp_path, monkeypatch):
    ct_series(tmp_path / "A", 12)
    listed(tmp_path, "A,prone,1,A,10,12,5\n", "patient,view,polyp,scan,x,y,z\n")
    spacings = []
    monkeypatch.setattr(Polyp, "prepare_stack", lambda self, stack, region: spacings.append(stack.spacing_mm))
    library = tmp_path.parent / f"{tmp_path.name}.semblance"
    import_source(tmp_path, library)
    from semblance.core.workflows.features import extract_features as module

    with open_library(library) as opened:
        images = module.case_images(opened, np.array([row.id for row in opened.catalogue.all_cases()]))
    monkeypatch.setattr(module.ImageBatch, "add", lambda *_: None)
    module.measure_cases("polyp", {}, images, reporter=SILENT)
    assert spacings == [(2.0, 0.5, 0.5)]


def test_real_crops_with_a_list(data, tmp_path):
    crops = data / "images" / "ct_colonography_crops.npz"
    folder = tmp_path / "crops"
    folder.mkdir()
    (folder / crops.name).write_bytes(crops.read_bytes())
    ct = np.load(crops)["ct"]
    rows = []
    for row in range(2):
        # Tissue beside air, as a candidate detector would mark it.
        air = ct[row] < -500
        wall = ~air & np.roll(air, 1, axis=0)
        z, y, x = np.argwhere(wall[20:80, 20:80, 20:80])[1000 * (row + 1)] + 20
        rows.append(f"A,{('prone', 'supine')[row]},1,{crops.name},{row},{x},{y},{z}\n")
    listed(folder, "".join(rows))
    library = tmp_path / "crops.semblance"
    result = import_source(folder, library)
    assert (result.kind, result.added, result.failed, result.patients) == ("polyps", 2, [], 1)
    extracted = extract_features(library, "polyp", workers=1)
    assert (extracted.extracted, extracted.failed) == (2, [])
