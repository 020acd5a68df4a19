"""The names and ids in a header by which persons can be recognised, to be found in texts and in bytes."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from semblance.core.imaging.dicom.attributes import MAX_DEPTH, tag_of

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.dataelem import DataElement

#: Names and ids at the top of a header: what :meth:`Identity.of_patient` reads.
NAMING = (
    "PatientName",
    "PatientID",
    "OtherPatientNames",
    "OtherPatientIDs",
    "PatientBirthName",
    "PatientMotherBirthName",
    "PatientBirthDate",
    "PatientAddress",
    "PatientTelephoneNumbers",
    "AccessionNumber",
    "MedicalRecordLocator",
    "ReferringPhysicianName",
    "ResponsiblePerson",
)
_IDS = frozenset(NAMING) | frozenset(
    (
        "AdmissionID",
        "StudyID",
        "RequestedProcedureID",
        "ScheduledProcedureStepID",
        "PerformedProcedureStepID",
        "PlacerOrderNumberImagingServiceRequest",
        "FillerOrderNumberImagingServiceRequest",
        "MilitaryRank",
        "ServiceEpisodeID",
        "PatientTelecomInformation",
    )
)
_DATES = frozenset(("PatientBirthDate",))
#: Shorter parts of names, and shorter numbers, occur in too many words.
_SHORTEST, _SHORTEST_NUMBER, _SHORTEST_INSIDE = 3, 5, 6
#: Chinese, Japanese and Korean names are as long as this.
_SHORTEST_IDEOGRAPHIC = 2
#: Numbers of fewer digits are counts and measures as often as ids.
_SHORTEST_ID_NUMBER, _SMALLEST_ID = 6, 100_000
#: Digits of a number, which are as many as those of a part of a UID. Python refuses to read one of thousands.
LONGEST_NUMBER = 39
#: Bytes in which words of fewer than :data:`_SHORTEST_IN_BYTES` letters are found too. In more, chance writes them.
_FEW_BYTES, _SHORTEST_IN_BYTES = 4096, 5
_GROUP_OR_PART = re.compile(r"[\^=,\s\\]+")
_IDEOGRAPHIC = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
#: The words of ``GTVSmith2``.
_CAMEL_CASE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ENCODINGS = (
    "utf-8", "utf-16-le", "utf-16-be", "latin-1", "iso8859_2", "iso8859_3", "iso8859_4", "iso8859_5", "iso8859_6",
    "iso8859_7", "iso8859_8", "iso8859_9", "shift_jis", "euc_jp", "euc_kr", "gb18030", "tis_620", "cp1252",
)  # fmt: skip
#: A short word stands alone where no more of its own kind is beside it: Kim in 99KIM, 12345 in A12345.
_NEIGHBOURS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (str.isalpha, r"[^\W\d_]"),
    (str.isdigit, r"\d"),
    (lambda _: True, r"[^\W_]"),
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae", "ß": "ss"})


def elements(dataset: Dataset, depth: int = 0) -> Iterator[DataElement]:
    """Every element that can be read, those within sequences too."""
    for tag in sorted(dataset.keys()):
        try:
            element = dataset[tag]
        except Exception:  # noqa: BLE001 - a damaged value is parsed here, and may fail in any way
            continue
        yield element
        if element.VR == "SQ" and depth < MAX_DEPTH:
            for item in element.value or ():
                yield from elements(item, depth + 1)


class Identity:
    """Names of persons and ids of one object. Letter case, accents and the order of names do not matter."""

    def __init__(self, found: Iterable[DataElement]) -> None:
        words: set[str] = set()
        for element in found:
            if element.VR == "PN" or element.keyword in _IDS:
                words.update(_words(element))
        self._written = frozenset(unicodedata.normalize("NFC", word.strip()) for word in words)
        #: In all forms in which a text is searched.
        self._words = frozenset(form for word in words for form in _forms(word))
        runs = (run for word in words for run in re.findall(r"[0-9]+", word) if len(run) <= LONGEST_NUMBER)
        self._numbers = frozenset(number for number in map(int, runs) if number >= _SMALLEST_ID)

    @classmethod
    def of(cls, dataset: Dataset) -> Self:
        """Of everybody whom ``dataset`` names at any depth."""
        return cls(elements(dataset))

    @classmethod
    def of_patient(cls, dataset: Dataset) -> Self:
        """Of those whom the header ``dataset`` names at its top: quick, for headers with thousands of items."""

        def top() -> Iterator[DataElement]:
            for keyword in NAMING:
                tag = tag_of(keyword)
                if tag in dataset.keys():  # noqa: SIM118 - its own test converts the tag
                    try:
                        yield dataset[tag]
                    except Exception:  # noqa: BLE001 - as in elements()
                        continue

        return cls(top())

    def is_in(self, text: str) -> bool:
        """Whether ``text`` has a name or an id of the object in it."""
        if self._pattern is None:
            return False
        if any(self._pattern.search(form) for form in _texts(text)):
            return True
        # ScanKim: a short name is a word only where its letter case says so.
        tokens = (token.casefold() for token in _CAMEL_CASE.findall(text))
        return any(len(token) >= _SHORTEST and token in self._names for token in tokens)

    def is_word_of(self, code: str) -> bool:
        """Whether a word of the short text ``code`` is a name, however short, or has a name or an id in it."""
        written = code.replace("\0", "")
        tokens = {*re.findall(r"[^\W_]+", written), *_CAMEL_CASE.findall(written)}
        return any(len(token) >= 2 and token.casefold() in self._words for token in tokens) or self.is_in(
            code
        )

    def has_number(self, value: int) -> bool:
        """Whether ``value``, of six digits or more, is the number of an id."""
        return value in self._numbers

    def is_in_bytes(self, data: bytes, *, compressed: bool = False) -> bool:
        """Whether ``data`` have a name or an id in them in any of the usual encodings. ``compressed``: only words that
        are no coincidence in bytes of any value."""
        few = len(data) <= _FEW_BYTES and not compressed
        pattern = self._few_bytes if few else self._many_bytes
        # Both in small letters: with re.IGNORECASE a megabyte takes seconds.
        return pattern is not None and pattern.search(data.lower()) is not None

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        words = [word for word in self._words if len(word) >= _shortest(word)]
        long = [re.escape(word) for word in words if _is_found_inside(word)]
        patterns = [rf"(?:{'|'.join(sorted(long, reverse=True))})"] if long else []
        short = sorted(word for word in words if not _is_found_inside(word))
        for of_kind, neighbour in _NEIGHBOURS:
            alike = [re.escape(word) for word in short if of_kind(word)]
            short = [word for word in short if not of_kind(word)]
            patterns += [rf"(?<!{neighbour})(?:{'|'.join(alike)})(?!{neighbour})"] if alike else []
        return re.compile("|".join(patterns)) if patterns else None

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(word for word in self._words if word.isalpha())

    @functools.cached_property
    def _many_bytes(self) -> re.Pattern[bytes] | None:
        return self._bytes_pattern(_SHORTEST_IN_BYTES)

    @functools.cached_property
    def _few_bytes(self) -> re.Pattern[bytes] | None:
        return self._bytes_pattern(_SHORTEST)

    def _bytes_pattern(self, shortest: int) -> re.Pattern[bytes] | None:
        found: set[bytes] = set()
        for word in self._words | self._written:
            if len(word) < _shortest(word):
                continue
            for form in {word, word.upper(), word.lower(), word.title()} if not word.isascii() else {word}:
                for encoding in _ENCODINGS:
                    try:
                        encoded = form.encode(encoding)
                    except UnicodeEncodeError:
                        continue
                    if len(encoded) >= shortest:
                        found.add(_bytes_of(encoded.lower(), shortest))
        return re.compile(b"|".join(sorted(found, reverse=True))) if found else None


def _bytes_of(encoded: bytes, shortest: int) -> bytes:
    """A pattern for a word: a short one stands alone, as within a longer one it may be anything."""
    escaped = re.escape(encoded)
    if (
        shortest == _SHORTEST
        and len(encoded) < _SHORTEST_INSIDE
        and encoded.isascii()
        and b"\0" not in encoded
    ):
        return rb"(?<![A-Za-z0-9])" + escaped + rb"(?![A-Za-z0-9])"
    return escaped


def _shortest(word: str) -> int:
    if _IDEOGRAPHIC.search(word):
        return _SHORTEST_IDEOGRAPHIC
    return _SHORTEST_NUMBER if word.isdigit() else _SHORTEST


def _is_found_inside(word: str) -> bool:
    """Whether the word tells a person even within a longer word."""
    return len(word) >= _SHORTEST_INSIDE or _IDEOGRAPHIC.search(word) is not None


def _words(element: DataElement) -> Iterator[str]:
    value: Any = element.value
    many = value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]
    for one in many:
        text = str(one or "").strip()
        if element.VR == "PN":
            yield from _names(text)
        elif element.keyword in _DATES:
            yield from _written_dates(text)
        elif text and (element.keyword in NAMING or any(one.isdigit() for one in text)):
            # A study that is called Head is not the only one.
            yield text
            yield from (
                line.strip() for line in re.split(r"[,;\n\r^]", text) if len(line.strip()) >= _SHORTEST_INSIDE
            )
            # HOSP-778812 may be written HOSP 778812, or without the hospital.
            yield from (run for run in re.findall(r"[0-9]+", text) if len(run) >= _SHORTEST_ID_NUMBER)
            joined = re.sub(r"[\W_]", "", text)
            if len(joined) >= _SHORTEST_INSIDE:
                yield joined


def _names(written: str) -> Iterator[str]:
    for group in written.split("="):
        parts = [part for part in _GROUP_OR_PART.split(group) if part]
        for part in parts:
            yield part
            # O'Brien, Meier-Schmidt.
            pieces = [piece for piece in re.split(r"[\W_]+", part) if piece]
            yield from (piece for piece in (*pieces, "".join(pieces)) if len(piece) > _SHORTEST)
        for first, second in itertools.permutations(parts[:3], 2):
            # 山^太郎 is written 山太郎, and Li^Wei in one field LI WEI.
            for mark in ("", "^", " ", "_", ", ", ","):
                joined = f"{first}{mark}{second}"
                if len(joined) >= _SHORTEST_IN_BYTES or _IDEOGRAPHIC.search(joined):
                    yield joined


def _written_dates(text: str) -> Iterator[str]:
    digits = re.sub(r"[.:-]", "", text)
    if not re.fullmatch(r"[0-9]{8}", digits):
        return
    year, month, day = digits[:4], digits[4:6], digits[6:]
    yield digits
    for mark in ".-/ ":
        yield from (
            mark.join(parts) for parts in ((year, month, day), (day, month, year), (month, day, year))
        )
    yield from (f"{day}{month}{year}", f"{month}{day}{year}")


def _forms(word: str) -> Iterator[str]:
    """A word as it is written with and without accents."""
    folded = unicodedata.normalize("NFC", word.strip()).casefold()
    yield folded
    yield _without_accents(folded)
    yield folded.translate(_UMLAUTS)


def _texts(text: str) -> Iterator[str]:
    # Text in UTF-16, whose every second byte is zero, is taken for a text of one byte a letter.
    folded = unicodedata.normalize("NFC", text.replace("\0", "")).casefold()
    yield folded
    if not folded.isascii():
        yield _without_accents(folded)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    kept = "".join(part for part in parts if not "\u0300" <= part <= "\u036f")
    return unicodedata.normalize("NFC", kept)
