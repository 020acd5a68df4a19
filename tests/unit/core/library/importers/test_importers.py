"""Every file of a source becomes cases or is reported with a reason, whatever the kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.importers.corel import CATEGORIES
from semblance.core.library.importers.registry import get_importer, importers, recognise
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Cancelled, Reporter
from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.importer_scan import Scan

PNG = encoded(pattern())


def zipped(tmp_path: Path, *names: str, labels: str = "", name: str = "x.zip") -> Path:
    files = dict.fromkeys(names, PNG)
    if labels:
        files["labels.csv"] = labels.encode()
    return write_zip(tmp_path / name, files)


# --- folders ------------------------------------------------------------------------------------------


def test_sub_folders_are_findings(tmp_path):
    scan = Scan(zipped(tmp_path, "benign/1.png", "benign/2.png", "malignant/1.png", "3.png"))
    assert scan.kind == "folder"
    assert scan.findings == {"benign": 2, "malignant": 1, None: 1}
    assert [case.key for case in scan.cases] == ["3.png", "benign/1.png", "benign/2.png", "malignant/1.png"]
    scan.assert_each_file_reported_once()


@pytest.mark.parametrize(
    ("paths", "findings"),
    [
        (["top/benign/1.png", "top/malignant/2.png"], ["benign", "malignant"]),
        (["top/benign/1.png", "top/2.png"], [None, "benign"]),
        (["benign/1.png", "benign/2.png"], ["benign", "benign"]),
        (["top/benign/1.png"], ["benign"]),
        (["x/1.png", "x/2.png"], [None, None]),
        (["1.png"], [None]),
        (["train/benign/1.png", "test/malignant/2.png"], ["malignant", "benign"]),
        (["train/1.png", "test/2.png"], [None, None]),
        (["./a/1.png", "./b/2.png"], ["a", "b"]),
    ],
)
def test_names_of_wrapping_folders_and_parts_are_not_taken_as_findings(tmp_path, paths, findings):
    scan = Scan(zipped(tmp_path, *paths))
    assert [case.finding for case in scan.cases] == findings


def test_parts_become_an_attribute(tmp_path):
    scan = Scan(zipped(tmp_path, "Train/a/1.png", "valid/a/2.png", "c/a/3.png"))
    assert [case.attributes for case in scan.cases] == [{}, {"split": "train"}, {"split": "val"}]


def test_files_that_are_no_images_are_reported(tmp_path):
    path = write_zip(
        tmp_path / "x.zip",
        {
            "a/1.png": PNG,
            "a/disguised.dat": PNG,
            "a/nameless": PNG,
            "a/notes.txt": b"text",
            "a/table.csv": b"x,y\n",
            "a/scan.dcm": bytes(128) + b"DICM",
            "a/empty.png": b"",
            "a/empty": b"",
            ".DS_Store": b"x",
        },
    )
    scan = Scan(path)
    assert {case.path for case in scan.cases} == {"a/1.png", "a/disguised.dat", "a/nameless"}
    assert {name: item.failed for name, item in scan.rejected.items()} == {
        ".DS_Store": False,
        "a/notes.txt": False,
        "a/table.csv": False,
        "a/scan.dcm": False,
        "a/empty.png": True,
        "a/empty": False,
    }
    scan.assert_each_file_reported_once()


def test_one_image(tmp_path):
    (tmp_path / "one.png").write_bytes(PNG)
    [case] = Scan(tmp_path / "one.png").cases
    assert (case.key, case.path, case.finding) == ("one.png", "", None)


def test_labels_beside_the_images(tmp_path):
    labels = (
        "file,label,patient,side\n"
        "a/1.png,benign,p1,left\n"
        "A/2.PNG,,p2,\n"
        "3.png,malignant,,right\n"
        "gone.png,benign,p9,\n"
        "ragged\n"
    )
    scan = Scan(zipped(tmp_path, "a/1.png", "a/2.png", "b/3.png", "b/4.png", labels=labels))
    cases = {case.path: (case.finding, case.patient, dict(case.attributes)) for case in scan.cases}
    assert cases == {
        "a/1.png": ("benign", "p1", {"side": "left"}),
        "a/2.png": (None, "p2", {}),
        "b/3.png": ("malignant", None, {"side": "right"}),
        "b/4.png": ("b", None, {}),
    }
    assert {name: item.failed for name, item in scan.rejected.items()} == {
        "labels.csv": False,
        "labels.csv:5": True,
        "labels.csv:6": True,
    }
    assert "'gone.png', which does not exist" in scan.rejected["labels.csv:5"].reason
    scan.assert_each_file_reported_once()


def test_labels_without_findings_leave_them_to_the_folders(tmp_path):
    scan = Scan(zipped(tmp_path, "a/1.png", "b/2.png", labels="path,patient_id\na/1.png,p1\nb/2.png,p2\n"))
    assert [(case.finding, case.patient) for case in scan.cases] == [("a", "p1"), ("b", "p2")]


def test_labels_in_a_sub_folder_apply_to_that_folder(tmp_path):
    files = {
        "s/1.png": PNG,
        "t/1.png": PNG,
        "s/labels.csv": b"image,finding\n1,x\n",
        "t/LABELS.CSV": b"file,label\n1.png,y\n",
    }
    scan = Scan(write_zip(tmp_path / "x.zip", files))
    assert [case.finding for case in scan.cases] == ["x", "y"]


def test_several_lines_of_one_image_are_several_cases(tmp_path):
    labels = "file,label,x\nm.png,benign,3\nm.png,malignant,4\nn.png,normal,\n"
    scan = Scan(zipped(tmp_path, "m.png", "n.png", labels=labels))
    assert [(case.key, case.finding) for case in scan.cases] == [
        ("m.png", "benign"),
        ("m.png#2", "malignant"),
        ("n.png", "normal"),
    ]


def test_case_ids_of_the_user(tmp_path):
    labels = "file,case_id,label\n1.png,k1,a\n2.png,k1,b\n3.png,,c\n"
    scan = Scan(zipped(tmp_path, "1.png", "2.png", "3.png", labels=labels))
    assert [case.key for case in scan.cases] == ["k1", "3.png"]
    assert scan.rejected["2.png"].failed
    scan.assert_each_file_reported_once()


def test_masks_named_by_labels_are_ignored(tmp_path):
    labels = "image,masks,label\n1.png,1_mask.png;1_mask_1.png,benign\n"
    scan = Scan(zipped(tmp_path, "1.png", "1_mask.png", "1_mask_1.png", labels=labels), "folder")
    assert [case.path for case in scan.cases] == ["1.png"]
    assert "belonging to '1.png'" in scan.rejected["1_mask_1.png"].reason
    scan.assert_each_file_reported_once()


@pytest.mark.parametrize("labels", ["a,b\n1,2\n", "\xff", "file,file\n"])
def test_unusable_labels_are_reported_and_folders_give_the_findings(tmp_path, labels):
    path = write_zip(tmp_path / "x.zip", {"a/1.png": PNG, "labels.csv": labels.encode("latin-1")})
    scan = Scan(path)
    assert scan.findings == {"a": 1}
    assert scan.rejected["labels.csv"].failed


def test_scanning_can_be_cancelled(tmp_path):
    class Impatient(Reporter):
        def check_cancelled(self):
            raise Cancelled

    for path in (zipped(tmp_path, "1.png"), tmp_path / "t.csv"):
        if path.suffix == ".csv":
            path.write_text("a,label\n1,x\n")
        with Source.open(path) as source, pytest.raises(Cancelled):
            list(recognise(source)[0][0].scan(source, Impatient()))


# --- Corel --------------------------------------------------------------------------------------------


def corel_zip(
    tmp_path: Path, numbers: list[int], size: tuple[int, int] = (256, 384), folder: str = ""
) -> Path:
    image = encoded(pattern(*size, 3), "JPEG", quality=30)
    return write_zip(tmp_path / "c.zip", {f"{folder}{number}.jpg": image for number in numbers})


def test_corel_numbers_give_the_category(tmp_path):
    scan = Scan(corel_zip(tmp_path, [0, 99, 100, 555, 950, 999]))
    assert scan.kind == "corel"
    assert [case.finding for case in scan.cases] == ["africa", "africa", "beach", "elephants", "food", "food"]
    assert CATEGORIES[7] == "horses"


def test_corel_beyond_a_thousand_leaves_it_to_the_folders(tmp_path):
    scan = Scan(corel_zip(tmp_path, [1000, 10_400, 5, 7], folder="top/kites/"))
    assert scan.kind == "corel"
    assert scan.findings == {"kites": 4}


@pytest.mark.parametrize("size", [(256, 256), (384, 384)])
def test_numbered_images_of_other_sizes_are_not_corel(tmp_path, size):
    assert Scan(corel_zip(tmp_path, [0, 1, 2, 3], size)).kind == "folder"


def test_a_broken_image_does_not_hide_corel(tmp_path):
    good = encoded(pattern(256, 384, 3), "JPEG", quality=30)
    files = {"0.jpg": b"broken"} | {f"{number}.jpg": good for number in range(1, 8)}
    assert Scan(write_zip(tmp_path / "c.zip", files)).kind == "corel"


# --- tables -------------------------------------------------------------------------------------------


def test_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("case_id,a,b,site,patient_id,label\nk1,1,,left,p1,x\n,2,5,,,y\nk3,oops,6,right,p3,y\n")
    scan = Scan(path)
    assert scan.kind == "table"
    first, second = scan.cases
    assert (first.key, first.path, first.finding, first.patient) == ("k1", "", "x", "p1")
    assert first.columns == ("a", "b")
    assert first.values is not None
    assert first.values[0] == 1
    assert np.isnan(first.values[1])
    assert first.attributes == {"site": "left"}
    assert (second.key, second.patient, second.attributes) == ("row2", None, {})
    assert scan.rejected["t.csv:4"].failed
    assert "Line 4: 'oops' in the column 'a'" in scan.rejected["t.csv:4"].reason


def test_tables_in_a_zip(tmp_path):
    files = {
        "1.csv": b"a,label\n1,x\n",
        "2.csv": b"a,label\n2,y\n",
        "3.csv": b"b,label\n2,y\n",
        "4.csv": b"",
        "readme.md": b"hello",
    }
    scan = Scan(write_zip(tmp_path / "t.zip", files))
    assert scan.kind == "table"
    assert [(case.key, case.path) for case in scan.cases] == [
        ("1.csv/row1", "1.csv"),
        ("2.csv/row1", "2.csv"),
    ]
    assert {name: item.failed for name, item in scan.rejected.items()} == {
        "3.csv": True,
        "4.csv": True,
        "readme.md": False,
    }
    scan.assert_each_file_reported_once()


def test_a_bad_table_alone_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n0.5,1.5\n")
    with pytest.raises(BadInput, match=r"'t\.csv' has no finding"):
        Scan(tmp_path / "t.csv")


# --- all of them --------------------------------------------------------------------------------------


def test_importer_registry_finds_kinds_and_refuses_unknown_ones():
    kinds = [importer.kind for importer in importers()]
    assert {"folder", "table", "corel", "medmnist", "mammograms", "ultrasound", "imageclef"} <= set(kinds)
    assert all(importer.title and importer.summary for importer in importers())
    assert get_importer("corel").kind == "corel"
    with pytest.raises(BadArguments, match="'movies'") as error:
        get_importer("movies")
    assert all(kind in error.value.hint for kind in kinds)


@pytest.mark.parametrize("files", [{}, {"notes.txt": b"text"}, {".hidden.png": PNG}, {"../up.png": PNG}])
def test_a_source_of_no_kind(tmp_path, files):
    with Source.open(write_zip(tmp_path / "x.zip", files)) as source, pytest.raises(BadInput) as error:
        recognise(source)
    assert "x.zip" in error.value.message
    assert "MedMNIST" in error.value.hint


def test_a_file_of_no_kind(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear doctor")
    with Source.open(tmp_path / "letter.txt") as source, pytest.raises(BadInput, match=r"letter\.txt"):
        recognise(source)


def test_explanations_are_for_people(tmp_path):
    with Source.open(zipped(tmp_path, "a/1.png", "b/2.png")) as source:
        [(_, found)] = recognise(source)
    assert found.explanation == "2 images in 2 sub-folders taken as findings: a, b."


@pytest.mark.parametrize(
    ("name", "kind", "findings"),
    [
        ("medical_mnist_a.zip", "folder", [300] * 6),
        ("corel1k_a.zip", "corel", [50] * 10),
        ("busi_256.zip", "folder", [100, 100]),
        ("pneumoniamnist.npz", "medmnist", [1583, 1583]),
    ],
)
def test_real_sources(data, name, kind, findings):
    scan = Scan(data / "images" / name)
    assert scan.kind == kind
    assert sorted(scan.findings.values()) == findings
    assert not any(item.failed for item in scan.rejected.values())
    scan.assert_each_file_reported_once()


def test_corel_as_folders_gives_the_same(data):
    path = data / "images" / "corel1k_a.zip"
    assert Scan(path).cases == Scan(path, kind="folder").cases
