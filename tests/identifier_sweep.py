"""Plant names and ids in every place of DICOM files, de-identify them, and search what is written for what is left.

``python -m tests.identifier_sweep`` runs all character sets, transfer syntaxes and options, and says what it searched.
"""

from __future__ import annotations

import io
import itertools
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
from pydicom import Dataset, dcmread
from pydicom.encaps import encapsulate, generate_frames
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGLSLossless,
    RLELossless,
)

from semblance.core.imaging.deidentification.profile import Option
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.pseudonyms import KEY_BYTES, Pseudonyms
from semblance.core.workflows.imaging import deidentify_files as module
from semblance.core.workflows.imaging.deidentify_files import DeidentifiedFiles, deidentify_files
from tests.helpers.dicom_files import encoded
from tests.helpers.identifier_search import IdentifierSearch, Searched
from tests.helpers.planted_codestreams import planted_frames
from tests.helpers.planted_everywhere import (
    CHARACTER_SETS,
    Person,
    attributes,
    header,
    nested,
    plant,
    plant_private,
)

PLAIN = (ImplicitVRLittleEndian, ExplicitVRLittleEndian, ExplicitVRBigEndian, DeflatedExplicitVRLittleEndian)
PACKED = (RLELossless, JPEGLSLossless, JPEG2000Lossless)
#: Options that go together: each alone, and all that keep or clean instead of removing.
ALONE: tuple[tuple[Option, ...], ...] = tuple((one,) for one in Option if one is not Option.PIXELS)
MOST = tuple(one for one in Option if one not in (Option.PIXELS, Option.FULL_DATES))
_DEPTH = 4
#: A key of a project. UIDs are made from it: with a new key in each run, eight digits of a birth date stand within one
#: of thousands of new UIDs by chance about once in a thousand files.
_KEY = bytes(range(KEY_BYTES))


@dataclass
class Swept:
    """One file: how many places, what was found before and after, and the result."""

    places: int
    before: Searched
    after: Searched
    result: DeidentifiedFiles
    pixels_are_equal: bool = True
    kinds: list[str] = field(default_factory=list)


def sweep(
    folder: Path,
    options: Collection[Option] = (),
    character_set: str = "",
    syntax: str = ExplicitVRLittleEndian,
    every: int = 1,
) -> Swept:
    """De-identify one file with identifiers in each ``every``-th attribute of the standard, in private ones and nested
    ones, in the preamble, the file meta information, names of files and folders, and behind and within the pixels.
    """
    person = Person(name=CHARACTER_SETS[character_set]) if character_set else Person()
    dataset = header(person)
    if character_set:
        dataset.SpecificCharacterSet = character_set.split("\\")
    places = plant(dataset, person, itertools.islice(attributes(), 0, None, every))
    places += plant_private(dataset, person)
    dataset.AnatomicRegionSequence = [nested(person, _DEPTH)]
    places += sum(1 for _ in dataset.AnatomicRegionSequence[0].iterall())
    content, more = file_of(dataset, person, syntax)
    name = person.name.split("=", maxsplit=1)[0]
    source = folder / "in" / f"{name} {person.born}" / f"{person.patient}.dcm"
    source.parent.mkdir(parents=True)
    source.write_bytes(content)
    dates = not set(options) & {Option.FULL_DATES}
    words = person.words if dates else tuple(one for one in person.words if person.born[:4] not in one)
    before, after = IdentifierSearch(words, (778812993,)), IdentifierSearch(words, (778812993,))
    before.folder(folder / "in")
    with mock.patch.object(module, "project_pseudonyms", lambda _: Pseudonyms(_KEY)):
        result = deidentify_files(folder / "in", folder / "out", options, "sweep")
    after.folder(folder / "out")
    equal = [
        np.array_equal(_stored((folder / "out" / one).read_bytes()), _stored(content)) for one in result.files
    ]
    return Swept(places + more, before.searched, after.searched, result, all(equal) and len(equal) == 1)


def file_of(dataset: Dataset, person: Person, syntax: str) -> tuple[bytes, int]:
    """The bytes of a file with identifiers in all of it, and in how many places besides ``dataset``."""
    text = person.texts()[0].encode()
    places = 4
    plain = encoded(dataset, ExplicitVRLittleEndian if syntax in PACKED else syntax)
    read = dcmread(io.BytesIO(plain))
    if syntax in PACKED:
        read.compress(syntax, generate_instance_uid=False)
        for place, frame in planted_frames(
            next(generate_frames(read.PixelData, number_of_frames=1)), syntax, text
        ):
            if place in _TOGETHER:
                read.PixelData = encapsulate([frame])
                places += 1
        read["PixelData"].is_undefined_length = True
    else:
        read.PixelData += text + b"\0" * (len(text) % 2)
    meta = read.file_meta
    meta.SourceApplicationEntityTitle = person.patient
    meta.SendingApplicationEntityTitle = person.patient
    meta.PrivateInformationCreatorUID, meta.PrivateInformation = (
        "1.2.778812993.1",
        text + b"\0" * (len(text) % 2),
    )
    read.preamble = (text + b" " + person.patient.encode()).ljust(128)[:128]
    out = io.BytesIO()
    read.save_as(out, enforce_file_format=True)
    return out.getvalue(), places


#: One place of each compression; all are in the tests of codestreams.
_TOGETHER = frozenset(("comment", "before the first segment"))


def _stored(content: bytes) -> np.ndarray:
    return DicomImages(io.BytesIO(content), "a file").stored(0)[0]


def cases() -> Iterator[tuple[str, tuple[Option, ...], str, str]]:
    """(name, options, character set, transfer syntax) of the whole sweep."""
    for options in ((), *ALONE, MOST):
        yield f"options {', '.join(options) or 'none'}", options, "", ExplicitVRLittleEndian
    for character_set in CHARACTER_SETS:
        for options in ((), MOST):
            name = f"{character_set}, {'all' if options else 'no'} options"
            yield name, options, character_set, ExplicitVRLittleEndian
    for syntax in (*PLAIN, *PACKED):
        yield f"transfer syntax {syntax.name}", MOST, "", syntax


def main() -> int:
    """Run the whole sweep and print what was searched; 1 if anything was found."""
    places = left = 0
    for name, options, character_set, syntax in cases():
        with tempfile.TemporaryDirectory() as folder:
            swept = sweep(Path(folder), options, character_set, syntax)
        places += swept.places
        left += len(swept.after.found) + len(swept.result.failed) + (not swept.pixels_are_equal)
        print(
            f"{name}: {swept.places:,} places; before: {len(swept.before.found):,} hits; {swept.after.report()}"
        )
        for file, kind, word, encoding in swept.after.found:
            print(f"  {file}: {kind}: {word} ({encoding})")
    print(f"{places:,} places in all; left: {left}")
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
