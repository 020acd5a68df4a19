"""Generated studies with planted identifiers, de-identified, and the shares of what should have happened to them: the
actions of the MIDI-B challenge (Medical Image De-Identification Benchmark, 2024)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import numpy as np
from pydicom import Dataset, dcmread
from pydicom.datadict import dictionary_keyword
from pydicom.uid import ExplicitVRLittleEndian, JPEG2000Lossless, JPEGLSLossless, RLELossless

from semblance import resources
from semblance.core.imaging.deidentification.profile import Option
from semblance.core.imaging.text_detector import TextBox
from semblance.core.workflows.imaging.deidentify_files import DeidentifiedFiles, deidentify_files
from tests.helpers.burnt_in_words import LEFT, BurntInImage, burnt_in_image, covered_by
from tests.helpers.dicom_files import save
from tests.helpers.planted_identifiers import Planted, planted_object

ACTIONS = (
    "date_shifted",
    "patid_consistent",
    "pixels_hidden",
    "pixels_retained",
    "tag_retained",
    "text_notnull",
    "text_removed",
    "text_retained",
    "uid_changed",
    "uid_consistent",
)
#: Attributes that no rule changes, with values that must stay.
KEPT = {
    "Manufacturer": "ACME Imaging",
    "BodyPartExamined": "BREAST",
    "ViewPosition": "CC",
    "PixelSpacing": [0.1, 0.2],
    "ImageType": ["ORIGINAL", "PRIMARY"],
    "LossyImageCompression": "00",
}
_STRUCTURE = (
    "SOPClassUID",
    "Modality",
    "Rows",
    "Columns",
    "BitsStored",
    "PhotometricInterpretation",
    "InstanceNumber",
)
_DATES = ("StudyDate", "SeriesDate", "AcquisitionDate", "ContentDate")
_SYNTAXES = (ExplicitVRLittleEndian, RLELossless, JPEGLSLossless, JPEG2000Lossless)
#: Words of the images: those of the goal.
_SHAPE, _WORDS = (256, 320), 5


@dataclass
class PlantedFile:
    """A file, what is planted in its attributes, and its image."""

    planted: Planted
    image: BurntInImage
    patient: int
    name: str


@dataclass
class Counted:
    """How often each action was needed and how often it was right."""

    needed: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    #: What was planted in attributes, private ones, sequences, UIDs, dates and names of files, and how much is left.
    planted: int = 0
    left: int = 0

    def add(self, action: str, is_right: bool) -> None:
        self.needed[action] += 1
        self.right[action] += is_right

    def share(self, action: str) -> float:
        return self.right[action] / self.needed[action]


def planted_studies(folder: Path, patients: int, seed: int) -> list[PlantedFile]:
    """Two ultrasound images in two studies of each patient, with words burnt in, in several transfer syntaxes."""
    out = []
    for patient in range(patients):
        for instance in (0, 1):
            number = 2 * patient + instance
            planted = planted_object(patient + 1, instance=instance)
            image = burnt_in_image(seed + number, shape=_SHAPE, size=(12, 28), words=_WORDS)
            dataset = planted.dataset
            dataset.Rows, dataset.Columns = _SHAPE
            dataset.PixelData = image.pixels.tobytes()
            dataset.InstanceNumber = number + 1
            for keyword, value in KEPT.items():
                setattr(dataset, keyword, value)
            for place, keyword in enumerate(_DATES):
                day = f"17{patient % 90 + 10:02d}0{1 + place}1{instance}"
                setattr(dataset, keyword, day)
                planted.dates[f"{dataset[keyword].tag:08X}"] = day
            dataset.FrameOfReferenceUID = f"{dataset.StudyInstanceUID}.4"
            planted.uids[f"{dataset['FrameOfReferenceUID'].tag:08X}"] = str(dataset.FrameOfReferenceUID)
            name = f"Quixley{patient + 1:03d}_{instance}_MRN{patient + 1:06d}Q.dcm"
            syntax = _SYNTAXES[number % len(_SYNTAXES)]
            plain = save(dataset, folder / f"Quixley{patient + 1:03d}" / name)
            if syntax != ExplicitVRLittleEndian:
                packed = dcmread(plain)
                packed.compress(syntax, generate_instance_uid=False)
                packed.save_as(plain)
            out.append(PlantedFile(planted, image, patient, name))
    return out


def deidentified_and_counted(folder: Path, patients: int, seed: int) -> tuple[Counted, DeidentifiedFiles]:
    """De-identify generated studies in ``folder`` with cleaned pixels and moved dates, and count what is right."""
    files = planted_studies(folder / "in", patients, seed)
    result = deidentify_files(
        folder / "in", folder / "out", [Option.PIXELS, Option.MODIFIED_DATES], f"planted-{seed}"
    )
    counted = Counted()
    by_number = {}
    for name in result.files:
        dataset = dcmread(folder / "out" / name)
        by_number[int(dataset.InstanceNumber)] = (name, dataset)
    days: dict[int, set[int]] = {}
    codes: dict[int, set[str]] = {}
    uids: dict[str, set[str]] = {}
    for number, one in enumerate(files, 1):
        name, after = by_number.get(number, ("", None))
        if after is None:
            raise AssertionError(f"{one.name} was not written: {result.failed}")
        _count(counted, one, after, (folder / "out" / name).read_bytes(), name, result.boxes[name][0])
        moved = days.setdefault(one.patient, set())
        for keyword in _DATES:
            moved.add(
                (_day(str(after[keyword].value)) - _day(one.planted.dates[f"{after[keyword].tag:08X}"])).days
            )
        codes.setdefault(one.patient, set()).add(str(after.PatientID))
        for before, now in _uid_pairs(one.planted.dataset, after):
            uids.setdefault(before, set()).add(now)
    for moved in days.values():
        counted.add("date_shifted", len(moved) == 1 and moved != {0})
    for of_patient in codes.values():
        counted.add("patid_consistent", len(of_patient) == 1)
    counted.add("patid_consistent", len(set.union(*codes.values())) == patients)
    for now in uids.values():
        counted.add("uid_consistent", len(now) == 1)
    return counted, result


def _count(
    counted: Counted, one: PlantedFile, after: Dataset, content: bytes, name: str, boxes: list[TextBox]
) -> None:
    planted = one.planted
    for value in planted.texts.values():
        counted.add("text_removed", value.encode() not in content and value not in name)
    for value in planted.uids.values():
        counted.add("uid_changed", value.encode() not in content)
    # A moved date may be by chance what another attribute had. It is left where an attribute still has its own.
    moved = [
        str(element.value)
        for element in after.iterall()
        if element.VR in ("DA", "DT") and str(element.value) != planted.dates.get(f"{element.tag:08X}")
    ]
    dates = {tag: value for tag, value in planted.dates.items() if not any(value in other for other in moved)}
    everything = {**planted.texts, **planted.uids, **dates, "file name": one.name.split("_", 1)[0]}
    counted.planted += len(everything)
    counted.left += sum(value.encode() in content or value in name for value in everything.values())
    for keyword in (*KEPT, *_STRUCTURE):
        counted.add("tag_retained", keyword in after)
    for keyword, value in KEPT.items():
        counted.add("text_retained", after.get(keyword) == value)
    for keyword in _required():
        if keyword in planted.dataset:
            counted.add("text_notnull", bool(str(after.get(keyword, "") or "")))
    pixels, before = after.pixel_array, one.image.pixels
    outside = np.ones(before.shape, bool)
    changed = pixels != before
    hidden = covered_by(boxes, before.shape) & (pixels == pixels.min())
    for word in one.image.words:
        counted.add("pixels_hidden", word.left(hidden) <= LEFT)
        height, width = word.ink.shape
        more = word.size // 2
        outside[
            max(0, word.y - more) : word.y + height + more, max(0, word.x - more) : word.x + width + more
        ] = False
    counted.needed["pixels_retained"] += int(outside.sum())
    counted.right["pixels_retained"] += int((outside & ~changed).sum())


def _required() -> Iterator[str]:
    """Attributes that the profile replaces with a value because objects need one."""
    with resources.path("deidentification/attributes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["basic"] == "D" and "x" not in row["tag"]:
                yield dictionary_keyword(int(row["tag"], 16))


def _uid_pairs(before: Dataset, after: Dataset) -> Iterator[tuple[str, str]]:
    for element in before:
        if (
            element.VR == "UI"
            and element.tag in after
            and not str(element.value).startswith("1.2.840.10008.")
        ):
            yield str(element.value), str(after[element.tag].value)


def _day(text: str) -> date:
    return datetime.strptime(text[:8], "%Y%m%d").date()
