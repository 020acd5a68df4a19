"""Objects with names and ids in every place that an attribute can be, made from the dictionary of the standard."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydicom import Dataset, Sequence
from pydicom.datadict import DicomDictionary, RepeatersDictionary
from pydicom.tag import Tag

from tests.helpers.dicom_files import ROOT, image

#: What an object is read by: a text there makes another object, or none.
_STRUCTURE = frozenset(
    (
        "SOPClassUID", "SpecificCharacterSet", "PixelData", "FloatPixelData", "DoubleFloatPixelData", "Rows", "Columns",
        "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation", "SamplesPerPixel", "PlanarConfiguration",
        "PhotometricInterpretation", "NumberOfFrames", "EncapsulatedDocument", "DirectoryRecordSequence",
        "ExtendedOffsetTable", "ExtendedOffsetTableLengths", "CommandGroupLength",
    )
)  # fmt: skip
#: Writing systems: character set -> (family, given) of the alphabetic, ideographic and phonetic groups.
CHARACTER_SETS: dict[str, str] = {
    "ISO_IR 100": "Müßig-Quixley^Zébédée",
    "ISO_IR 101": "Łukasiewicz^Zdzisław",
    "ISO_IR 126": "Παπαδόπουλος^Ζήνων",
    "ISO_IR 144": "Люксембург^Зинаида",
    "ISO 2022 IR 13\\ISO 2022 IR 87": "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎=やまだ^たろう",
    "\\ISO 2022 IR 149": "Hong^Gildong=洪^吉洞=홍^길동",
    "ISO_IR 192": "Ouyang^XiaoDong=歐陽^小東",
    "GB18030": "Ouyang^XiaoDong=欧阳^小东",
}


@dataclass(frozen=True)
class Person:
    """Somebody in every header, and how their name and ids are written elsewhere."""

    name: str = "Quixley^Zebedee^Ottokar"
    patient: str = "HOSP-778812993"
    accession: str = "ACC-991277315"
    born: str = "19530417"

    @property
    def words(self) -> tuple[str, ...]:
        """What must not be found. Words of one letter or syllable are in others."""
        parts = {part for group in self.name.split("=") for part in group.split("^")}
        long = {part for part in parts if len(part) >= (4 if part.isascii() else 2)}
        day = self.born
        dates = (day, f"{day[:4]}-{day[4:6]}-{day[6:]}", f"{day[6:]}.{day[4:6]}.{day[:4]}")
        return (*sorted(long), "778812993", "991277315", *dates)

    def texts(self) -> tuple[str, ...]:
        """The name and the ids as people write them into a header."""
        groups = self.name.split("=")
        parts = [part for part in groups[-1].split("^") if part]
        return (
            self.name.split("=")[0],
            " ".join(reversed(parts)),
            f"Mr. {parts[0].upper()}, {parts[1].lower()}",
            f"{parts[1]}_{parts[0]}2".swapcase() if self.name.isascii() else "".join(parts),
            f"pat. {self.patient}",
            f"no. {self.patient.lower().replace('-', ' ')}",
            f"born {self.born[6:]}.{self.born[4:6]}.{self.born[:4]}",
            f"{self.accession} chest",
        )


def header(person: Person, **more: Any) -> Dataset:
    """An ultrasound image of ``person`` without a text anywhere else."""
    pixels = np.random.default_rng(1).integers(0, 200, (40, 48)).astype(np.uint8)
    dataset = image(pixels, SOPClassUID="1.2.840.10008.5.1.4.1.1.6.1", Modality="US", **more)
    identify(dataset, person)
    return dataset


def identify(dataset: Dataset, person: Person) -> None:
    """Make ``dataset`` one of ``person``."""
    dataset.PatientName, dataset.PatientID = person.name, person.patient
    dataset.AccessionNumber, dataset.PatientBirthDate = person.accession, person.born
    for keyword in ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID"):
        if keyword not in dataset or keyword == "SOPInstanceUID":
            setattr(dataset, keyword, f"{ROOT}.778812993.{len(keyword)}")


def attributes() -> Iterator[tuple[int, str]]:
    """(tag, VR) of all attributes of data sets that the standard has or had, of repeating groups their first two."""
    for tag, (representations, _, _, _, keyword) in DicomDictionary.items():
        if tag >> 16 > 0x0004 and keyword not in _STRUCTURE and tag & 0xFFFF and tag >> 16 < 0xFFFC:
            yield tag, representations.split(" or ")[-1]
    for pattern, (representations, *_) in RepeatersDictionary.items():
        for digits in ("00", "02", "1E"):
            tag = int(
                pattern.replace("xxxx", f"00{digits}")
                .replace("xxx", f"0{digits}")
                .replace("xx", digits)
                .replace("x", digits[1]),
                16,
            )
            if tag >> 16 != 0x7F00:
                yield tag, representations.split(" or ")[-1]


def values(representation: str, person: Person, number: int) -> Any:
    """A value of a VR with something of ``person`` in it, another for each ``number``; ``None`` for AT and times."""
    texts = person.texts()
    text = texts[number % len(texts)]
    family = person.name.split("=")[0].split("^")[0]
    encoded = (
        text.encode("utf-8"),
        text.encode("utf-16-le"),
        text.encode("utf-16-be"),
        b"\1\2" + text.encode() + b"\0",
    )
    content = encoded[number // len(texts) % 4]
    code = family.upper() if family.isascii() else person.patient.replace("-", " ")
    found: dict[str, Any] = {
        "AE": (family if family.isascii() else person.patient)[:16],
        "CS": (code, f"{code}_CHEST", f"X {code}")[number % 3][:16],
        "DA": person.born,
        "DT": f"{person.born}101500",
        "DS": "778812993",
        "IS": "778812993",
        "PN": person.name,
        "SH": text[:16] if number % 2 or not family.isascii() else family[:16],
        "LO": text[:64],
        "UI": f"{ROOT}.778812993.{number}",
        "UR": f"https://pacs.example/{person.patient}/{number}",
        "UL": 778812993,
        "SL": 778812993,
        "UV": 778812993,
        "SV": 778812993,
        "FD": struct.unpack("<d", (code + "^" * 8)[:8].encode())[0],
    }
    packed = (code + "^" * 8)[:8].encode()
    found |= {
        "FL": list(struct.unpack("<2f", packed)),
        "US": list(struct.unpack("<4H", packed)),
        "SS": list(struct.unpack("<4h", packed)),
    }
    if representation in ("OB", "OW", "OF", "OD", "OL", "OV", "UN"):
        return content + b"\0" * (-len(content) % 8)
    if representation in ("LT", "ST", "UT", "UC"):
        return text
    return found.get(representation)


def plant(dataset: Dataset, person: Person, tags: Iterator[tuple[int, str]] | list[tuple[int, str]]) -> int:
    """Plant something of ``person`` in each of ``tags`` that ``dataset`` lacks, or in an item there; how many."""
    count = 0
    for number, (tag, representation) in enumerate(tags):
        if tag in dataset:
            continue
        if representation == "SQ":
            item = Dataset()
            for place, (inner, kind) in enumerate(_INSIDE):
                item.add_new(inner, kind, values(kind, person, number + place))
            dataset.add_new(tag, "SQ", Sequence([item]))
            count += len(_INSIDE)
            continue
        value = values(representation, person, number)
        if value is not None:
            dataset.add_new(tag, representation, value)
            count += 1
    return count


#: In items of every sequence: a kept code, a text, a name, bytes, a UID.
_INSIDE = (
    (0x00080104, "LO"), (0x00080100, "SH"), (0x00400310, "ST"), (0x00081070, "PN"), (0x00283006, "OW"),
    (0x00081155, "UI"), (0x00180015, "CS"), (0x00200013, "IS"),
)  # fmt: skip


def plant_private(dataset: Dataset, person: Person) -> int:
    """Plant in private elements of each VR, of an unknown and of a listed creator, and in the creators; how many."""
    count = 0
    for group, creator in (
        (0x0029, "ACME 1.1"),
        (0x0019, "SIEMENS MR HEADER"),
        (0x0033, person.texts()[0][:60]),
    ):
        block = dataset.private_block(group, creator, create=True)
        for number, representation in enumerate(
            ("AE", "CS", "DS", "FD", "FL", "IS", "LO", "LT", "OB", "OD", "OF", "OL", "OV", "OW", "PN", "SH", "SL", "ST",
             "UC", "UI", "UL", "UN", "UR", "UT", "UV")
        ):  # fmt: skip
            block.add_new(number, representation, values(representation, person, number))
            count += 1
        inner = Dataset()
        inner.PatientComments, inner.OperatorsName = person.texts()[1], person.name
        block.add_new(0xF0, "SQ", Sequence([inner]))
        count += 2
    return count


def nested(person: Person, depth: int) -> Dataset:
    """An item with another in it, ``depth`` deep, each with every attribute of a text."""
    item = Dataset()
    texts = [(tag, kind) for tag, kind in attributes() if kind in ("LO", "SH", "CS", "UT", "OB", "UI")][
        depth::7
    ]
    plant(item, person, texts)
    plant_private(item, person)
    if depth:
        item.add_new(Tag(0x0008, 0x2218), "SQ", Sequence([nested(person, depth - 1)]))
    return item
