"""Generated DICOM objects with identifiers planted everywhere, each once, so that those left can be counted."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field

import numpy as np
from pydicom import Dataset, Sequence
from pydicom.datadict import dictionary_VR, keyword_for_tag
from pydicom.tag import Tag

from semblance import resources
from tests.helpers.dicom_files import ROOT, image

ULTRASOUND = "1.2.840.10008.5.1.4.1.1.6.1"
_TEXTS = ("LO", "SH", "LT", "ST", "UT", "UC", "PN", "UR")
#: Of groups that are not in image objects.
_SKIPPED = ("00420011", "0040A730")


@dataclass
class Planted:
    """An object and what is planted in it: texts of persons, UIDs and dates."""

    dataset: Dataset
    texts: dict[str, str] = field(default_factory=dict)
    uids: dict[str, str] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)

    def left_in(self, content: bytes) -> list[str]:
        """Where what is still in ``content`` was planted."""
        planted = {**self.texts, **self.uids}
        left = [place for place, value in planted.items() if value.encode() in content]
        # Not within a UID, which may have any digits.
        dates = {day: re.compile(rb"(?<![\d.])" + day.encode()) for day in set(self.dates.values())}
        return left + [place for place, day in self.dates.items() if dates[day].search(content)]


def planted_object(number: int, *, patient: str = "", instance: int = 0) -> Planted:
    """An ultrasound image of patient ``number`` with a planted value in every attribute that the Basic Profile
    removes, in private ones, in sequences, in attributes of no table, in an overlay's comment and in long texts."""
    rng = np.random.default_rng([number, instance])
    dataset = image(rng.integers(0, 200, (32, 48)).astype(np.uint8), SOPClassUID=ULTRASOUND, Modality="US")
    out = Planted(dataset)
    mark = f"{number:03d}{instance:02d}"
    identifier = patient or f"MRN{number:06d}Q"
    name = f"Quixley{number:03d}^Zebedee{number:03d}"
    with resources.path("deidentification/attributes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if "x" in row["tag"] or row["tag"] in _SKIPPED or row["tag"] < "0008":
            continue
        tag = Tag(int(row["tag"], 16))
        vr = dictionary_VR(tag) if keyword_for_tag(tag) else ""
        if vr in _TEXTS:
            kind, value = out.texts, f"Zq{row['tag']}{mark}"
        elif vr == "UI":
            kind, value = out.uids, f"{ROOT}.77.{number}.{instance}.{tag.group}.{tag.element}"
        elif vr in ("DA", "DT"):
            # Of a century that no other value has.
            day = f"{1700 + number % 100:04d}0{1 + rng.integers(9)}1{rng.integers(9)}"
            kind, value = out.dates, day if vr == "DA" else f"{day}101500"
        else:
            continue
        kind[row["tag"]] = value
        dataset.add_new(tag, vr, value)
    dataset.PatientName, dataset.PatientID = name, identifier
    dataset.StudyInstanceUID = f"{ROOT}.78.{number}"
    dataset.SeriesInstanceUID = f"{ROOT}.79.{number}"
    dataset.SOPInstanceUID = f"{ROOT}.80.{number}.{instance}"
    out.texts |= {"00100010": name.split("^", maxsplit=1)[0], "00100020": identifier}
    for tag in ("0020000D", "0020000E", "00080018"):
        out.uids[tag] = str(dataset[int(tag, 16)].value)
    _plant_elsewhere(out, mark, name, identifier)
    return out


def _plant_elsewhere(out: Planted, mark: str, name: str, identifier: str) -> None:
    dataset = out.dataset
    last = name.split("^", maxsplit=1)[0]
    # In attributes that the table keeps: a name within a text.
    dataset.SequenceName = f"US {last}"
    dataset.ManufacturerModelName = f"Scan {identifier}"
    private = dataset.private_block(0x0029, "ACME 1.1", create=True)
    for number, vr in enumerate(("LO", "UT", "OB", "UN", "PN")):
        place = f"private {vr}"
        value = out.texts[place] = f"Pv{number}{mark}x"
        private.add_new(number, vr, value.encode() if vr in ("OB", "UN") else value)
    nested = Dataset()
    inner = Dataset()
    inner.PatientComments = out.texts["nested comment"] = f"Nc{mark}x"
    inner.RequestingPhysician = out.texts["nested physician"] = f"Np{mark}x"
    inner.add_new(0x00091010, "LO", f"Ni{mark}x")
    inner.add_new(0x00090010, "LO", "ACME 1.1")
    out.texts["nested private"] = f"Ni{mark}x"
    nested.ReferencedSeriesSequence = Sequence([inner])
    dataset.AnatomicRegionSequence = Sequence([nested])
    dataset.add_new(0x60000010, "US", 4)
    dataset.add_new(0x60000011, "US", 4)
    dataset.add_new(0x60000040, "CS", "G")
    dataset.add_new(0x60000022, "LO", f"Od{mark}x")
    dataset.add_new(0x60003000, "OW", b"\1\0")
    dataset.add_new(0x60004000, "LT", f"Oc{mark}x")
    out.texts |= {"overlay description": f"Od{mark}x", "overlay comments": f"Oc{mark}x"}
    dataset.add_new(0x50000005, "US", 1)
    dataset.add_new(0x50002500, "LO", f"Cu{mark}x")
    out.texts["curve label"] = f"Cu{mark}x"
    # An attribute that no dictionary knows, and one of a kind for texts that no table lists.
    dataset.add_new(0x00091234, "LO", f"Un{mark}x")
    dataset.add_new(0x00186FFE, "LO", f"Uk{mark}x")
    out.texts |= {"unknown private": f"Un{mark}x", "unknown": f"Uk{mark}x"}
