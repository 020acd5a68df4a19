"""COCO and YOLO: a case for each box, polygon or mask; what cannot be used is listed with its reason."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import Polygon
from semblance.core.library.importers.drawn_regions import _unpacked, read_coco, yolo_names
from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.registry import recognise, with_settings
from semblance.core.tasks import SILENT
from tests.helpers.bad_images import encoded
from tests.unit.core.library.importers.test_image_lists import FilesInMemory


class Scan:
    def __init__(self, files, images, *settings):
        texts = {name: one if isinstance(one, str) else json.dumps(one) for name, one in files.items()}
        self.source = FilesInMemory(texts, images)
        importer, self.recognition = recognise(self.source)[0]
        self.kind = importer.kind
        found = list(with_settings(importer, settings).scan(self.source, SILENT))
        self.cases = {item.key: item for item in found if isinstance(item, FoundCase)}
        self.rejected = {item.path: item for item in found if isinstance(item, RejectedFile)}
        self.notes = " ".join(map(str, self.source.notes))
        assert {case.path for case in self.cases.values()} | set(self.rejected) >= set(self.source.files)


def annotation(number, image=1, category=1, **values):
    return {"id": number, "image_id": image, "category_id": category, **values}


COCO = {
    "info": {},
    "images": [
        {"id": 1, "file_name": "a.png", "width": 32, "height": 24},
        {"id": 2, "file_name": "b.png", "width": 32, "height": 24, "patient_id": "P7"},
        {"id": 3, "file_name": "gone.png", "width": 32, "height": 24},
        {"id": 4, "file_name": "d.png", "width": 24, "height": 32},
    ],
    "categories": [
        {"id": 1, "name": "nodule", "supercategory": "lesion"},
        {"id": 2, "name": "mass", "supercategory": "none"},
    ],
    "annotations": [
        annotation(11, bbox=[2, 3, 10, 8]),
        annotation(12, bbox=[25.5, 20, 10, 10], category=2, attributes={"margin": "spiculated"}),
        annotation(13, bbox=[4, 4, 0, 5]),
        annotation(14, bbox=[40, 4, 5, 5]),
        annotation(15, image=9, bbox=[1, 1, 2, 2]),
        annotation(16, category=5, bbox=[1, 1, 2, 2]),
        annotation(17, image=4, bbox=[1, 1, 5, 5]),
        annotation(18, segmentation=[[2, 2, 10, 2, 10, 12]]),
        annotation(19, segmentation=[[2, 2, 6, 2, 6, 6, 2, 6], [10, 10, 14, 10, 14, 14]]),
        annotation(20, iscrowd=1, segmentation={"size": [24, 32], "counts": [24 * 3 + 4, 5, 24 * 29 - 9]}),
        annotation(21),
    ],
}


def test_coco_boxes_outlines_and_masks():
    scan = Scan(
        {"annotations/instances_train.json": COCO}, ["img/a.png", "img/b.png", "img/c.png", "img/d.png"]
    )
    assert scan.kind == "boxes"
    assert list(scan.cases) == [
        *(f"img/a.png#{n}" for n in (11, 12, 18, 19, 20)),
        "img/b.png",
        "img/c.png",
        "img/d.png",
    ]
    box, cut, polygon, two, mask, *whole = scan.cases.values()
    assert (box.finding, box.region.box, box.patient) == ("nodule", (2, 3, 12, 11), "img/a.png")
    assert box.attributes == {"part": "train", "group": "lesion"}
    assert (cut.finding, cut.region.box) == ("mass", (25, 20, 32, 24))
    assert cut.attributes == {"part": "train", "margin": "spiculated"}
    assert (polygon.region.box, polygon.region.outline) == (
        (2, 2, 10, 12),
        Polygon(((0, 0), (8, 0), (8, 10))),
    )
    assert two.region.mask(24, 32)[:6, :6].sum() == 16
    rows, columns = np.nonzero(mask.region.mask(24, 32))
    assert (set(columns), rows.tolist(), mask.attributes["crowd"]) == ({3}, [4, 5, 6, 7, 8], "yes")
    assert [(case.finding, case.patient) for case in whole] == [
        (None, "P7"), (None, "img/c.png"), (None, "img/d.png"),
    ]  # fmt: skip
    reasons = {path.rpartition(":")[2]: str(item.reason) for path, item in scan.rejected.items()}
    for number, part in {
        "13": "empty", "14": "outside", "15": "image 9", "16": "category 5", "17": "24 x 32 pixels, and 'img/d.png'",
        "21": "neither", "gone.png": "does not exist",
    }.items():  # fmt: skip
        assert part in reasons[number], number
    assert "1 box reached beyond" in scan.notes
    assert "1 image is named by no annotation file: img/c.png" in scan.notes


@pytest.mark.parametrize(
    ("rule", "finding"), [("background", "background"), ("skip", "left out"), ("none", None)]
)
def test_images_without_a_box(rule, finding):
    scan = Scan({"_annotations.coco.json": COCO}, ["a.png", "b.png"], f"without_box={rule}")
    assert (scan.cases["b.png"].finding if "b.png" in scan.cases else "left out") == finding


def test_each_folder_of_roboflow_has_its_own_file():
    files = {f"{part}/_annotations.coco.json": COCO for part in ("train", "valid")}
    scan = Scan(files, ["train/a.png", "valid/a.png"])
    assert {case.attributes["split"] for case in scan.cases.values()} == {"train", "val"}
    assert len(scan.cases) == 10


def test_run_lengths_packed_as_text():
    def packed(runs):
        """As pycocotools writes them (rleToString)."""
        letters = ""
        for place, run in enumerate(runs):
            value = run - runs[place - 2] if place > 2 else run
            while True:
                code, value = value & 0x1F, value >> 5
                more = value != (-1 if code & 0x10 else 0)
                letters += chr((code | (0x20 if more else 0)) + 48)
                if not more:
                    break
        return letters

    assert packed([76, 5, 687]) == "\\25_e0"
    for runs in ([76, 5, 687], [0, 700, 3, 1, 64], np.random.default_rng(0).integers(0, 99999, 50).tolist()):
        assert _unpacked(packed(runs)) == runs


def test_an_image_turned_by_its_exif_is_measured_as_it_is_shown():
    turned = Image.new("L", (32, 24))
    exif = turned.getexif()
    exif[0x0112] = 6
    scan_files = {"data.yaml": "names: [mass]", "labels/a.txt": "0 0.5 0.25 0.5 0.5\n"}
    source = FilesInMemory(scan_files, [])
    source.files["images/a.jpg"] = encoded(turned, "JPEG", exif=exif.tobytes())
    (case,) = [one for one in recognise(source)[0][0].scan(source, SILENT) if isinstance(one, FoundCase)]
    assert case.region.box == (6, 0, 18, 16)


def test_yolo_boxes_and_outlines():
    files = {
        "data.yaml": "path: ../x\nnames:\n  0: nodule\n  1: 'mass, spiculated'\n",
        "train/labels/a.txt": "0 0.5 0.5 0.25 0.5\r\n1 0.1 0.1 0.5 0.1 0.5 0.5\r\n7 0.5 0.5 0.1 0.1\n"
        "x y\n0 0.5 0.5 0 0.1\n",
        "train/labels/b.txt": "",
        "train/labels/orphan.txt": "0 0.5 0.5 0.25 0.5\n",
    }
    images = ["train/images/a.png", "train/images/b.png", "valid/images/c.png"]
    scan = Scan(files, images, "without_box=background")
    assert scan.kind == "boxes"
    box, outline, *without = scan.cases.values()
    assert (box.key, box.finding) == ("train/images/a.png#50000,50000,25000,50000", "nodule")
    assert (box.region.box, box.attributes) == ((12, 6, 20, 18), {"split": "train"})
    assert (outline.finding, outline.region.box) == ("mass, spiculated", (3, 2, 16, 12))
    assert [(case.key, case.finding) for case in without] == [(path, "background") for path in images[1:]]
    failed = {path: str(item.reason) for path, item in scan.rejected.items() if item.failed}
    assert list(failed) == [f"train/labels/a.txt:{line}" for line in (3, 4, 5)]
    assert "Class 7" in failed["train/labels/a.txt:3"]
    assert "train/labels/orphan.txt" in scan.rejected


@pytest.mark.parametrize(
    "text",
    [
        "names: ['a b', \"c\", d]",
        "nc: 3\nnames: [a b,\n  c, d]\n",
        "names:\n- a b\n- c\n- d\nnc: 3",
        "names:\n  0: a b\n  1: c  # comment\n  2: 'd'\nother: 4",
        "names: {0: a b, 1: c, 2: d}",
    ],
)
def test_names_of_classes_however_they_are_written(text):
    assert yolo_names(text) == {0: "a b", 1: "c", 2: "d"}


def test_patients_of_a_labels_csv_count():
    files = {"a.json": COCO, "labels.csv": "file,patient_id\na.png,P1\n"}
    scan = Scan(files, ["a.png"])
    assert {case.patient for case in scan.cases.values()} == {"P1"}
    assert "No patients are known" not in scan.notes


def test_damaged_files_are_refused():
    for data in (
        b"{",
        b"[]",
        b'{"images": 3, "annotations": []}',
        b'{"images": [], "annotations": 1}',
        b"\xff{}",
    ):
        with pytest.raises(BadInput):
            read_coco(data, "x.json")
    scan = Scan({"a.json": '{"images": [1, 2], "annotations": []}'}, ["a.png"])
    assert scan.rejected["a.json"].failed
