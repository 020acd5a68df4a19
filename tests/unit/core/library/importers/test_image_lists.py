"""Published lists of images: their columns are recognised, one finding is chosen by a rule, and nothing is dropped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.registry import recognise, with_settings
from semblance.core.library.importers.source import Entry, Source
from semblance.core.tasks import SILENT
from tests.helpers.bad_images import encoded, pattern

PNG = encoded(pattern())

CHEST_XRAY14 = (
    "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    "OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],\n"
    "00000001_000.png,Cardiomegaly,0,1,058Y,M,PA,2682,2749,0.143,0.143,\n"
    "00000001_001.png,Cardiomegaly|Emphysema,1,1,58,M,PA,2894,2729,0.143,0.143,\n"
    "00000002_000.png,No Finding,0,2,81,F,AP,2500,2048,0.171,0.171,\n"
    "00000003_000.png,Hernia,0,3,81,F,PA,2500,2048,0.171,0.171,\n"
)
CHEXPERT = (
    "Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Cardiomegaly,Pneumonia,Support Devices\n"
    "CheXpert-v1.0-small/train/patient00001/study1/view1_frontal.jpg,Female,68,Frontal,AP,1.0,,,1.0\n"
    "CheXpert-v1.0-small/train/patient00002/study1/view1_frontal.jpg,Male,87,Frontal,PA,,-1.0,-1.0,\n"
    "CheXpert-v1.0-small/train/patient00002/study1/view2_lateral.jpg,Male,87,Lateral,,,1.0,-1.0,1.0\n"
    "CheXpert-v1.0-small/train/patient00003/study1/view1_frontal.jpg,Male,41,Frontal,AP,0,0,0,0\n"
)
CHEXPERT_IMAGES = [f"train/patient{name}.jpg" for name in (
    "00001/study1/view1_frontal", "00002/study1/view1_frontal", "00002/study1/view2_lateral",
    "00003/study1/view1_frontal",
)]  # fmt: skip


class FilesInMemory(Source):
    """Lists and images of 24 x 32 pixels."""

    kind = "folder"

    def __init__(self, lists: dict[str, str | bytes], images: list[str]) -> None:
        super().__init__(Path("/collection"))
        texts = {name: text.encode() if isinstance(text, str) else text for name, text in lists.items()}
        self.files = {**texts, **dict.fromkeys(images, PNG)}

    def _list(self):
        yield from (Entry(path, len(data), 1) for path, data in self.files.items())

    def read(self, path):
        return self.files[path]

    def head(self, path):
        return self.files[path][:136]

    def address(self, path, member="", frame=None):
        raise AssertionError("no image is decoded")


class Scan:
    def __init__(self, lists, images, *settings, earlier=None):
        self.source = FilesInMemory(lists, images)
        self.source.earlier_rule = earlier or {}
        importer, self.recognition = recognise(self.source)[0]
        assert importer.kind == "folder"
        found = list(with_settings(importer, settings).scan(self.source, SILENT))
        self.cases = {item.key: item for item in found if isinstance(item, FoundCase)}
        self.rejected = {item.path: item for item in found if isinstance(item, RejectedFile)}
        self.findings = [case.finding for case in self.cases.values()]
        self.notes = " ".join(map(str, self.source.notes))
        self.report = self.source.list_report
        reported = {case.path for case in self.cases.values()} | set(self.rejected)
        assert reported >= set(self.source.files)


def test_chest_xray14_with_its_split_and_boxes():
    folder = "images_001/images"
    scan = Scan(
        {
            "Data_Entry_2017.csv": CHEST_XRAY14,
            "BBox_List_2017.csv": "Image Index,Finding Label,Bbox [x,y,w,h],,,\n"
            "00000001_000.png,Cardiomegaly,2,3,10,12,,,\n",
            "train_val_list.txt": "00000001_000.png\r\n00000001_001.png\r\n",
            "test_list.txt": "00000002_000.png\n00000003_000.png\n",
        },
        [f"{folder}/0000000{name}.png" for name in ("1_000", "1_001", "2_000", "9_000")],
    )
    assert "ChestX-ray14" in scan.recognition.explanation
    first, both, none, unknown = scan.cases.values()
    assert (first.finding, first.patient) == ("Cardiomegaly", "1")
    assert first.attributes["age"], first.attributes["sex"] == ("58", "M")
    assert first.attributes["view"] == "PA"
    assert first.attributes["boxes"] == "Cardiomegaly 2,3,10,12"
    assert first.attributes["OriginalImage Height"] == "2749"
    assert [case.attributes.get("part") for case in scan.cases.values()] == ["train", "train", "test", None]
    assert both.attributes["findings"] == "Cardiomegaly|Emphysema"
    assert (none.finding, unknown.finding, unknown.patient) == ("No Finding", None, None)
    assert "00000003_000.png" in scan.rejected["Data_Entry_2017.csv:5"].reason
    assert "1 image has no row" in scan.notes
    assert (scan.report.images_without_row, scan.report.rows_without_image) == (1, 2)
    assert scan.report.rule["chosen"] == "combination"


@pytest.mark.parametrize(
    ("settings", "findings"),
    [
        ((), ["Support Devices", None, "Cardiomegaly + Support Devices", "No Finding"]),
        (("several=first",), ["Support Devices", None, "Cardiomegaly", "No Finding"]),
        (("several=single",), ["Support Devices", None, None, "No Finding"]),
        (
            ("several=first", "uncertain=own"),
            ["Support Devices", "Cardiomegaly (uncertain)", "Cardiomegaly", "No Finding"],
        ),
        (
            ("several=first", "uncertain=positive"),
            ["Support Devices", "Cardiomegaly", "Cardiomegaly", "No Finding"],
        ),
        (
            ("several=first", "uncertain=negative"),
            ["Support Devices", "No Finding", "Cardiomegaly", "No Finding"],
        ),
        (("several=pneumonia",), ["No Pneumonia", None, None, "No Pneumonia"]),
        (
            ("several=Pneumonia", "uncertain=positive"),
            ["No Pneumonia", "Pneumonia", "Pneumonia", "No Pneumonia"],
        ),
        (("finding=Cardiomegaly",), [None, None, "Cardiomegaly", "No Finding"]),
    ],
)
def test_chexpert_by_each_rule(settings, findings):
    scan = Scan({"train.csv": CHEXPERT}, CHEXPERT_IMAGES, *settings)
    assert scan.findings == findings
    assert [case.patient for case in scan.cases.values()] == [
        "patient00001",
        "patient00002",
        "patient00002",
        "patient00003",
    ]
    assert [case.attributes["view"] for case in scan.cases.values()] == ["AP", "PA", "LATERAL", "AP"]
    assert not [item for item in scan.rejected.values() if item.failed]


def test_a_part_of_a_collection_is_never_matched_with_the_rows_of_others():
    scan = Scan({"train.csv": CHEXPERT}, ["train/patient00002/study1/view2_lateral.jpg"])
    (case,) = scan.cases.values()
    assert case.attributes["findings"] == "Cardiomegaly|Support Devices"
    assert len(scan.rejected) == 4
    assert "3 rows of 4" in scan.notes


def test_mimic_joins_three_lists():
    scan = Scan(
        {
            "mimic-cxr-2.0.0-chexpert.csv": "subject_id,study_id,Atelectasis,Edema\n10000032,50414267,1.0,\n"
            "10000032,53189527,,1.0\n",
            "mimic-cxr-2.0.0-metadata.csv": "dicom_id,subject_id,study_id,ViewPosition\nd1,10000032,50414267,PA\n"
            "d2,10000032,53189527,LATERAL\n",
            "mimic-cxr-2.0.0-split.csv": "dicom_id,study_id,subject_id,split\nd1,50414267,10000032,train\n"
            "d2,53189527,10000032,validate\n",
        },
        ["files/p10/p10000032/s50414267/d1.jpg", "files/p10/p10000032/s53189527/d2.jpg"],
    )
    found = [(c.finding, c.patient, c.attributes["view"], c.attributes["part"]) for c in scan.cases.values()]
    assert found == [("Atelectasis", "10000032", "PA", "train"), ("Edema", "10000032", "LATERAL", "val")]
    assert "1 patient is in several official parts" in scan.notes


def test_boxes_of_several_readers_are_regions_and_images_of_one_patient():
    rows = (
        "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\n"
        "a1,No finding,14,R11,,,,\na1,No finding,14,R7,,,,\n"
        "a2,Cardiomegaly,3,R10,6,5,25,20\na2,Cardiomegaly,3,R9,6,6,26,20\n"
        "a2,Effusion,10,R9,16,6,36,30\na2,Effusion,10,R9,40,6,46,30\na2,Effusion,10,R9,5,5,5,9\n"
    )
    scan = Scan({"train.csv": rows}, ["png/a1.png", "png/a2.png"])
    assert list(scan.cases) == ["png/a1.png", "png/a2.png#6,5,19,15", "png/a2.png#16,6,16,18"]
    whole, heart, fluid = scan.cases.values()
    assert (whole.finding, whole.region, heart.finding, fluid.finding) == (
        "No finding", None, "Cardiomegaly", "Effusion",
    )  # fmt: skip
    assert heart.attributes["reader"] == "R10, R9"
    assert heart.patient == fluid.patient == "png/a2.png"
    assert "outside the image" in scan.rejected["train.csv:7"].reason
    assert "empty" in scan.rejected["train.csv:8"].reason
    assert "1 box reached beyond its image" in scan.notes
    whole_images = Scan({"train.csv": rows}, ["png/a1.png", "png/a2.png"], "boxes=whole")
    assert whole_images.findings == ["No finding", "Cardiomegaly + Effusion"]


def test_findings_in_a_text_column_with_codes():
    rows = (
        "ImageID,PatientID,PatientSex_DICOM,ViewPosition_DICOM,Labels,labelCUIS\n"
        "1.png,839860,F,POSTEROANTERIOR,\"['pleural effusion', 'cardiomegaly']\",\"['C0032227' 'C0018800']\"\n"
        "2.png,839861,M,ANTEROPOSTERIOR,['normal'],[]\n"
    )
    first, second = Scan({"PADCHEST.csv": rows}, ["0/1.png", "0/2.png"]).cases.values()
    assert first.finding == "cardiomegaly + pleural effusion"
    assert first.attributes["codes"] == "UMLS C0032227 (pleural effusion)|UMLS C0018800 (cardiomegaly)"
    assert (first.attributes["sex"], first.attributes["view"]) == ("F", "PA")
    assert second.finding == "normal"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_one_column_for_each_finding_however_it_is_written(mark, ending):
    rows = [["image", "MEL", "NV", "BCC"], ["ISIC_1", "1.0", "0.0", "0.0"], ["ISIC_2", "0.0", "1.0", "0.0"]]
    text = "\ufeff" + ending.join(mark.join(row) for row in rows)
    scan = Scan({"truth.csv": text}, ["i/ISIC_1.jpg", "i/ISIC_2.jpg", "i/ISIC_3.jpg"])
    assert scan.findings == ["MEL", "NV", None]


def test_one_name_in_two_folders_is_ambiguous_unless_the_path_says_which():
    images = ["a/1.png", "b/1.png", "b/2.png"]
    rows = "image,Finding Labels,patient_id\n1.png,Mass,p\n2.png,Nodule,p\n"
    scan = Scan({"list.csv": rows}, images)
    assert scan.findings == [None, None, "Nodule"]
    assert "several images" in scan.rejected["list.csv:2"].reason
    assert scan.rejected["list.csv:2"].failed
    assert Scan({"b/list.csv": rows}, images).findings == [None, "Mass", "Nodule"]
    assert Scan({"list.csv": rows.replace("1.png", "x/a/1.png")}, images).findings[:2] == ["Mass", None]


def test_a_table_of_measurements_beside_images_stays_what_it_was():
    scan = Scan(
        {"radiomics.csv": "image,area,entropy\n1.png,3.5,0.1\n2.png,4.5,0.2\n"}, ["x/1.png", "y/2.png"]
    )
    assert scan.findings == ["x", "y"]
    assert scan.report is None
    assert "import it separately" in scan.rejected["radiomics.csv"].reason


def test_unknown_columns_and_findings_are_named():
    with pytest.raises(BadArguments, match="No list has the column 'Labels'"):
        Scan({"train.csv": CHEXPERT}, CHEXPERT_IMAGES, "finding=Labels")
    with pytest.raises(BadArguments, match="No case of the list has the finding 'Hernia'"):
        Scan({"train.csv": CHEXPERT}, CHEXPERT_IMAGES, "several=Hernia")


def test_the_rule_of_an_earlier_import_holds_until_another_is_given():
    earlier = {"several": "first", "uncertain": "positive"}
    assert Scan({"t.csv": CHEXPERT}, CHEXPERT_IMAGES, earlier=earlier).findings[1:3] == ["Cardiomegaly"] * 2
    scan = Scan({"t.csv": CHEXPERT}, CHEXPERT_IMAGES, "several=single", earlier=earlier)
    assert scan.report.rule["several"] == "single"


def test_labels_csv_is_read_by_a_rule_only_when_it_is_asked_for():
    labels = {"labels.csv": "file,label\n1.png,Mass|Nodule\n2.png,Mass\n"}
    images = ["1.png", "2.png"]
    assert Scan(labels, images).findings == ["Mass|Nodule", "Mass"]
    assert Scan(labels, images, "several=first").findings == ["Mass", "Mass"]


def test_work_grows_with_the_rows_alone():
    """Paths of CheXpert, whose images have few different names: lines of Python run for a quarter and for the whole."""

    def lines(n: int) -> int:
        paths = [f"train/patient{i:05d}/study1/view1_frontal.jpg" for i in range(n)]
        head, *_ = CHEXPERT.splitlines()
        rows = "\n".join([head, *(f"CheXpert-v1.0/{path},Male,1,Frontal,AP,,1.0,,-1.0" for path in paths)])
        source = FilesInMemory({"train.csv": rows}, paths)
        count = 0

        def trace(*_: object) -> object:
            nonlocal count
            count += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            found = list(FolderImporter().scan(source, SILENT))
        finally:
            sys.settrace(before)
        assert sum(isinstance(one, FoundCase) for one in found) == n
        return count

    small, large = lines(100), lines(400)
    assert large < 4.5 * small
