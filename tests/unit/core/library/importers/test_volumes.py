"""Folders of volumes: masks are regions, sub-* is the patient, and what names people stays out."""

from __future__ import annotations

import gzip
import json

import numpy as np

from semblance.core.library.open_library import open_library
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.importer_scan import Scan
from tests.helpers.volume_files import meta_image, nifti, tiff

LPS = np.array([[0.5, 0, 0, -90], [0, 0.75, 0, -120], [0, 0, -2.5, 300], [0, 0, 0, 1.0]])


def volume(seed=0, turned=False):
    """(columns, rows, slices) of 9 x 8 x 5 voxels; ``turned``: written in the other direction along every axis."""
    voxels = np.random.default_rng(seed).integers(0, 900, (9, 8, 5)).astype(np.int16)
    return written(voxels, turned)


def _voxels_of(*boxes, shape=(9, 8, 5)):
    voxels = np.zeros(shape, np.uint8)
    for label, *box in boxes:
        voxels[tuple(slice(*part) for part in box)] = label
    return voxels


def written(voxels, turned=False):
    if not turned:
        return nifti(voxels, LPS)
    back = LPS @ np.array([[-1, 0, 0, 8], [0, -1, 0, 7], [0, 0, -1, 4], [0, 0, 0, 1.0]])
    return nifti(np.ascontiguousarray(voxels[::-1, ::-1, ::-1]), back)


def mask(*boxes, turned=False, shape=(9, 8, 5)):
    """``boxes``: (label, columns, rows, slices)."""
    return written(_voxels_of(*boxes, shape=shape), turned)


ONE = (1, (2, 5), (1, 7), (1, 4))
TWO = (2, (6, 8), (2, 4), (0, 2))


def folder(path, files):
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def boxes(scan):
    return {
        case.key: None
        if case.region is None
        else (
            case.region.x,
            case.region.y,
            case.region.z,
            case.region.width,
            case.region.height,
            case.region.depth,
        )
        for case in scan.cases
    }


def test_masks_beside_volumes_are_their_regions(tmp_path):
    pairs = {
        "a/one.nii": "a/one_mask.nii.gz",
        "b/two.nii.gz": "b/two-label.nii",
        "c/imagesTr/three_0000.nii.gz": "c/labelsTr/three.nii.gz",
        "d/image.nii": "d/mask.nii",
        "e/p7_t1.nii": "e/p7_seg.nii",
    }
    for turned in (False, True):
        place = tmp_path / str(turned)
        files = {name: gzip.compress(volume()) if name.endswith("gz") else volume() for name in pairs}
        for name in pairs.values():
            data = mask(ONE, turned=turned)
            files[name] = gzip.compress(data) if name.endswith("gz") else data
        files["f/alone.nii"] = volume()
        scan = Scan(folder(place, files))
        assert scan.kind == "volume"
        assert boxes(scan) == dict.fromkeys(pairs, (2, 1, 1, 3, 6, 3)) | {"f/alone.nii": None}
        assert all(scan.rejected[name].reason.startswith("The mask of") for name in pairs.values())
        scan.assert_each_file_reported_once()


def test_every_label_of_a_mask_is_a_case_and_has_its_name(tmp_path):
    labels = {"0": "background", "1": "liver", "2": "tumour"}
    for written_labels in (labels, {name: int(number) for number, name in labels.items()}):
        files = {
            "imagesTr/x_0000.nii": volume(),
            "labelsTr/x.nii": mask(ONE, TWO),
            "dataset.json": json.dumps({"labels": written_labels, "description": "DOE^JOHN"}).encode(),
        }
        scan = Scan(folder(tmp_path, files))
        key = "imagesTr/x_0000.nii"
        assert boxes(scan) == {
            key: None,
            f"{key}#liver": (2, 1, 1, 3, 6, 3),
            f"{key}#tumour": (6, 2, 0, 2, 2, 2),
        }
        assert scan.findings == {None: 1, "liver": 1, "tumour": 1}
        assert scan.cases[2].attributes == {"of": key, "segment": "tumour"}


def test_labels_of_layers_stay_apart_and_may_be_great(tmp_path):
    layers = np.zeros((9, 8, 5, 2), np.uint8)
    layers[2:5, 1:7, 1:4, 0] = layers[2:8, 2:4, 0:2, 1] = 1
    files = {
        "a.nii": volume(),
        "a_seg.nii": nifti(layers, LPS),
        "b.nii": volume(1),
        "b_dseg.nii": nifti(np.where(layers[..., 0] > 0, 2035, 0).astype(np.int32), LPS),
        "c.nii": volume(2),
        "c_probseg.nii": nifti(np.where(layers[..., 0] > 0, 0.8, np.nan).astype(np.float32), LPS),
    }
    assert boxes(Scan(folder(tmp_path, files))) == {
        "a.nii": None,
        "a.nii#1": (2, 1, 1, 3, 6, 3),
        "a.nii#2": (2, 2, 0, 6, 2, 2),
        "b.nii": (2, 1, 1, 3, 6, 3),
        "c.nii": (2, 1, 1, 3, 6, 3),
    }


def test_unions_of_labels_are_passed_over(tmp_path):
    files = {
        "imagesTr/x_0000.nii": volume(),
        "labelsTr/x.nii": mask(ONE, TWO),
        "dataset.json": b'{"labels": {"background": 0, "whole": [1, 2], "edema": 1, "core": 2}}',
    }
    assert Scan(folder(tmp_path, files)).findings == {None: 1, "edema": 1, "core": 1}


def test_a_mask_lies_on_its_volume_in_whatever_order_its_file_has(tmp_path):
    turned = LPS @ np.diag([-1.0, 1, 1, 1])
    cube = np.eye(4)
    # In the order of the third, first and second axis.
    others = nifti(np.ascontiguousarray(np.moveaxis(_voxels_of(ONE), 2, 0)), cube[:, [2, 0, 1, 3]])
    files = {
        "a.nii": nifti(_voxels_of(TWO), turned),
        "a_mask.nii": nifti(_voxels_of(ONE)),
        "b.nii": nifti(_voxels_of(TWO), cube),
        "b_mask.nii": others,
    }
    assert boxes(Scan(folder(tmp_path, files))) == {"a.nii": (4, 1, 1, 3, 6, 3), "b.nii": (2, 1, 1, 3, 6, 3)}


def test_several_masks_of_one_label_are_united(tmp_path):
    files = {"a.nii": volume(), "a_mask_1.nii": mask(ONE), "a_mask_2.nii": mask((1, *TWO[1:]))}
    assert boxes(Scan(folder(tmp_path, files))) == {"a.nii": (2, 1, 0, 6, 6, 4)}


def test_a_mask_that_does_not_fit_is_reported_and_the_volume_stays(tmp_path):
    other = nifti(np.ones((9, 8, 5), np.uint8), LPS + np.array([[0] * 4, [0] * 4, [0, 0, 0, 40], [0] * 4]))
    files = {
        "a.nii": volume(),
        "a_mask.nii": mask(ONE, shape=(9, 8, 4)),
        "b.nii": volume(1),
        "b_mask.nii": other,
        "c.nii": volume(2),
        "c_mask.nii": volume(3),
        "d.nii": volume(4),
        "d_mask.nii": volume(4)[:-80],
        "e.nii": volume(5),
        "e_mask.nii": nifti(_voxels_of(ONE), LPS + np.array([[0, 0, 0, 20], *[[0] * 4] * 3])),
        "f.nii": volume(6),
        "f_mask.nii": nifti(_voxels_of(ONE), LPS @ np.diag([2.0, 2, 1, 1])),
    }
    scan = Scan(folder(tmp_path, files))
    assert set(boxes(scan).values()) == {None}
    assert len(scan.cases) == 6
    reasons = [scan.rejected[f"{name}_mask.nii"] for name in "abcdef"]
    assert all(found.failed for found in reasons)
    assert ["grid" in found.reason for found in reasons] == [True, True, False, False, True, True]


def test_bids_names_the_patient_and_nothing_else(tmp_path):
    files = {
        "participants.tsv": b"participant_id\tage\tsex\tgroup\tname\nsub-01\t34\tM\tpatient\tDOE^JOHN\n"
        b"sub-02\tn/a\tF\tcontrol\tROE^JANE\n",
        "dataset_description.json": b'{"Name": "DOE^JOHN"}',
        "sub-01/ses-a/anat/sub-01_ses-a_T1w.nii.gz": gzip.compress(volume()),
        "sub-01/ses-a/anat/sub-01_ses-a_T1w.json": b'{"PatientName": "DOE^JOHN"}',
        "sub-01/ses-a/anat/sub-01_ses-a_label-lesion_mask.nii.gz": gzip.compress(mask(ONE)),
        "sub-01/ses-b/anat/sub-01_ses-b_T1w.nii.gz": gzip.compress(volume(1)),
        "sub-02/anat/sub-02_T1w.nii.gz": gzip.compress(volume(2)),
    }
    scan = Scan(folder(tmp_path, files))
    facts = [(case.patient, case.finding, dict(case.attributes), case.region is None) for case in scan.cases]
    assert facts == [
        ("sub-01", "patient", {"age": "34", "sex": "M", "session": "ses-a"}, False),
        ("sub-01", "patient", {"age": "34", "sex": "M", "session": "ses-b"}, True),
        ("sub-02", "control", {"sex": "F"}, True),
    ]
    assert "DOE" not in repr((scan.cases, scan.rejected))
    scan.assert_each_file_reported_once()


def test_masks_in_the_derivatives_of_bids_belong_to_the_volumes_they_fit(tmp_path):
    files = {
        "participants.tsv": b"participant_id\tage\n1\t34\n",
        "sub-1/ses-a/dwi/sub-1_ses-a_dwi.nii": volume(),
        "sub-1/ses-a/anat/sub-1_ses-a_FLAIR.nii": nifti(np.ones((4, 5, 6), np.uint8), LPS),
        "sub-1/ses-b/dwi/sub-1_ses-b_dwi.nii": volume(1),
        "sub-2/anat/sub-2_T1w.nii": volume(2),
        "derivatives/sub-1/ses-a/sub-1_ses-a_msk.nii": mask(ONE),
        "derivatives/lesions/sub-2/anat/sub-2_space-orig_label-lesion_mask.nii": mask(TWO, shape=(9, 8, 4)),
    }
    scan = Scan(folder(tmp_path, files))
    assert boxes(scan) == {
        "sub-1/ses-a/dwi/sub-1_ses-a_dwi.nii": (2, 1, 1, 3, 6, 3),
        "sub-1/ses-a/anat/sub-1_ses-a_FLAIR.nii": None,
        "sub-1/ses-b/dwi/sub-1_ses-b_dwi.nii": None,
        "sub-2/anat/sub-2_T1w.nii": None,
    }
    assert {case.attributes.get("age") for case in scan.cases if case.patient == "sub-1"} == {"34"}
    assert [path for path, found in scan.rejected.items() if found.failed] == [
        "derivatives/lesions/sub-2/anat/sub-2_space-orig_label-lesion_mask.nii"
    ]
    scan.assert_each_file_reported_once()


def test_a_folder_of_that_name_may_hold_both_volumes_and_masks(tmp_path):
    place = folder(tmp_path / "of", {"lesions/a.nii": volume(), "lesions/a_mask.nii": mask(ONE)})
    assert boxes(Scan(place)) == {"lesions/a.nii": (2, 1, 1, 3, 6, 3)}


def test_folders_name_findings_unless_they_are_of_one_examination(tmp_path):
    files = {
        "benign/a.nii": volume(),
        "benign/b.nii": volume(1),
        "malignant/c.nii": volume(2),
        "case7/case7_flair.nii": volume(3),
        "images/d.nii": volume(4),
        "glioma/glioma_01.nii": volume(5),
        "anna/anna_t1.nii": volume(6),
    }
    findings = {"benign": 2, "malignant": 1, "glioma": 1, None: 3}
    assert Scan(folder(tmp_path, files)).findings == findings


def test_volumes_of_one_file_and_numbers_beside_a_header(tmp_path):
    voxels = np.random.default_rng(5).integers(0, 900, (9, 8, 5)).astype(np.int16)
    head, data = meta_image(voxels, LPS, "m.raw")
    files = {
        "four.nii": nifti(np.stack([voxels, voxels + 1], axis=-1), LPS),
        "m.mhd": head,
        "m.raw": data,
        "x.ome.tif": tiff(np.zeros((2, 3, 8, 9), np.uint8), ome=True, metadata={"axes": "CZYX"}),
        "notes.txt": b"DOE^JOHN",
    }
    scan = Scan(folder(tmp_path, files))
    assert [case.key for case in scan.cases] == [
        "four.nii#1",
        "four.nii#2",
        "m.mhd",
        "x.ome.tif#1",
        "x.ome.tif#2",
    ]
    assert [case.frame for case in scan.cases] == [0, 1, None, None, None]
    assert scan.cases[4].slices == (("x.ome.tif", 3), ("x.ome.tif", 4), ("x.ome.tif", 5))
    scan.assert_each_file_reported_once()


def test_an_imported_library_has_the_volumes_and_no_name(tmp_path):
    voxels = np.random.default_rng(5).integers(0, 900, (9, 8, 5)).astype(np.int16)
    files = {
        "sub-1/sub-1_T1w.nii": nifti(voxels, LPS, descrip=b"DOE^JOHN", aux_file=b"DOE^JOHN"),
        "sub-1/sub-1_mask.nii": mask(ONE, TWO),
        "sub-2/sub-2_T1w.nii": volume(9)[:-40],
    }
    library = tmp_path / "lib.semblance"
    report = import_source(folder(tmp_path / "bids", files), library)
    assert [found["path"] for found in report.failed] == ["sub-2/sub-2_T1w.nii"]
    with open_library(library) as opened:
        cases = opened.catalogue.details([1, 2, 3]).values()
    assert [(case.depth, case.width, case.height, case.patient) for case in cases] == [(5, 9, 8, "sub-1")] * 3
    assert not [path for path in library.rglob("*") if path.is_file() and b"DOE" in path.read_bytes()]


def test_a_change_of_the_voxels_beside_a_header_is_seen(tmp_path):
    first, second = (
        np.random.default_rng(seed).integers(0, 900, (9, 8, 5)).astype(np.int16) for seed in (1, 2)
    )
    header, numbers = meta_image(first, LPS, "a.raw")
    other = meta_image(second, LPS, "a.raw")[1]
    place = folder(tmp_path / "all", {"a.mhd": header, "a.raw": numbers, "b.nii": volume()})
    for number, source in enumerate((place, place / "a.mhd")):
        library = tmp_path / f"{number}.semblance"
        import_source(source, library)
        assert import_source(source, library).updated == 0
        (place / "a.raw").write_bytes(other)
        problems = verify_library(library).findings
        assert [problem.files for problem in problems] == [("a.mhd" if source == place else "",)]
        assert import_source(source, library).updated == 1
        (place / "a.raw").write_bytes(numbers)
