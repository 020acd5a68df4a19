"""De-identify one DICOM object in memory by a profile of PS3.15; pixels are cleaned elsewhere."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.imaging.deidentification.kept_values import BYTES, REMOVED, TEXTS, KeptValues, values_of
from semblance.core.imaging.deidentification.profile import (
    BASIC,
    EDITION,
    Option,
    Profile,
    Rule,
    is_safe_private,
)
from semblance.core.imaging.deidentification.repack_pixels import PIXELS
from semblance.core.imaging.dicom.attributes import MAX_DEPTH, text
from semblance.core.imaging.dicom.descriptions import clean_description
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.patient_identity import patient_of
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pydicom import Dataset
    from pydicom.dataelem import DataElement
    from pydicom.tag import BaseTag

_OLDEST = 89
_DATE, _TIME = "19000101", "000000"
_DUMMIES: dict[str, Any] = {
    "DA": _DATE,
    "TM": _TIME,
    "DT": f"{_DATE}{_TIME}",
    "AS": "000Y",
    "IS": "0",
    "DS": "0",
}
_NUMBERS = frozenset(("FL", "FD", "SL", "SS", "UL", "US", "SV", "UV"))
#: Unlisted attributes of these kinds may hold whatever somebody typed.
_FREE = frozenset(("LT", "ST", "UT", "UC", "UR", "PN", "UN"))
_DATES = frozenset(("DA", "DT"))
_STANDARD_UID = "1.2.840.10008."
_CONTENT_VALUES = frozenset(("TextValue", "PersonName", "UID", "Date", "Time", "DateTime"))
_ENCAPSULATED = "EncapsulatedDocument"
#: Kinds of objects that are not written, by the beginning of their SOP class UID.
_REFUSED = {
    "1.2.840.10008.5.1.4.1.1.104.": tr_lazy("a document, such as a PDF"),
    "1.2.840.10008.5.1.4.1.1.9.4.": tr_lazy("a recording of a voice"),
    "1.2.840.10008.5.1.4.1.1.66": tr_lazy("raw data of a device"),
    "1.2.840.10008.5.1.4.1.1.131": tr_lazy("a layout of a screen with its texts"),
    "1.2.840.10008.5.1.4.38.": tr_lazy("a layout of a screen with its texts"),
}
_OVERLAYS, _OVERLAY_DATA = 0x60, 0x3000
#: Where the receipt counts what no table lists.
PRIVATE, NAMES, UNLISTED, UNREADABLE = (
    "private attribute",
    "names a person",
    "unlisted attribute",
    "unreadable",
)


@dataclass
class DeidentificationChanges:
    """How often each attribute was changed: (attribute, what was done, rule) -> number. It holds no values."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, attribute: str, done: str, rule: str) -> None:
        """Count one change."""
        self.counts[attribute, done, rule] += 1

    def to_json(self) -> list[dict[str, Any]]:
        """One entry for each attribute and rule, by attribute."""
        return [
            {"attribute": attribute, "action": done, "rule": rule, "count": count}
            for (attribute, done, rule), count in sorted(self.counts.items())
        ]


def deidentify(
    dataset: Dataset, profile: Profile, pseudonyms: Pseudonyms, changes: DeidentificationChanges
) -> None:
    """Remove from ``dataset``, in place, what identifies persons, as ``profile`` says; count it in ``changes``.

    The same ``pseudonyms`` give the same patients, UIDs and date shifts again. The file meta information is not
    touched.

    Raises:
        BadInput: the object holds what cannot be cleaned: a document, a voice, raw data, a layout of a screen.
    """
    check_kind(dataset)
    _Deidentifier(dataset, profile, pseudonyms, changes).run()


def check_kind(dataset: Dataset) -> None:
    """
    Raises:
        BadInput: an object of a kind that cannot be de-identified; the message names it.
    """
    kind = text(dataset, "SOPClassUID")
    for beginning, what in _REFUSED.items():
        if kind == beginning or (beginning.endswith(".") and kind.startswith(beginning)):
            raise BadInput(
                tr_lazy("It holds {what}, which cannot be de-identified.", what=what), "Leave it out."
            )
    if _ENCAPSULATED in dataset:
        raise BadInput(
            tr_lazy(
                "It holds {what}, which cannot be de-identified.", what=tr_lazy("a document, such as a PDF")
            ),
            "Leave it out.",
        )


class _Deidentifier:
    def __init__(
        self, dataset: Dataset, profile: Profile, pseudonyms: Pseudonyms, changes: DeidentificationChanges
    ) -> None:
        self._root, self._profile, self._pseudonyms = dataset, profile, pseudonyms
        self._changes = changes
        self._identity = Identity.of(dataset)
        self._kept_values = KeptValues(self._identity, self._uid)
        #: Dates that were moved, by their data set and tag.
        self._moved: set[tuple[int, int]] = set()
        #: Content items whose values are cleaned already, as tables of attributes know of no content.
        self._cleaned: set[int] = set()
        self._patient = patient_of(dataset) or text(dataset, "SOPInstanceUID")
        self._actions: Mapping[str, Callable[[Dataset, DataElement, Rule], None]] = {
            "K": self._keep,
            "C": self._clean,
            "X": self._remove,
            "Z": self._empty,
            "D": self._replace,
            "U": self._map_uid,
        }

    def run(self) -> None:
        identifier = self._pseudonyms.patient(self._patient)
        self._walk(self._root, 0)
        self._root.PatientName = self._root.PatientID = identifier
        self._check_characters()
        self._record()

    def _walk(self, dataset: Dataset, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise BadInput("Its sequences are nested too deeply.", "Leave it out.")
        kept_private = self._remove_private(dataset)
        for tag in sorted(dataset.keys()):
            # A group of overlays goes as a whole.
            if tag not in dataset.keys() or tag in kept_private:  # noqa: SIM118 - its own test converts the tag
                continue
            element = self._read(dataset, tag)
            if element is not None:
                self._element(dataset, element, depth)

    def _read(self, dataset: Dataset, tag: BaseTag) -> DataElement | None:
        """The element at ``tag``, removed where its value cannot be read."""
        try:
            element = dataset[tag]
            _ = element.value
        except Exception:  # noqa: BLE001 - a damaged value is parsed here, and may fail in any way
            del dataset[tag]
            self._changes.add(_shown(tag), "removed", UNREADABLE)
            return None
        return element

    def _check_characters(self) -> None:
        """Name a character set that exists, by which texts are written."""
        from pydicom.charset import python_encoding

        named = self._root.get("SpecificCharacterSet") or []
        named = [named] if isinstance(named, str) else list(named)
        if any(one and one not in python_encoding for one in named):
            self._root.SpecificCharacterSet = "ISO_IR 192"

    def _element(self, dataset: Dataset, element: DataElement, depth: int) -> None:
        tag = element.tag
        if tag.group == 0x0000 or tag.element == 0:
            del dataset[tag]
            return
        if element.keyword in PIXELS and depth > 0:
            # Small images of others; the object's own are cleaned by what writes them.
            self._remove(dataset, element, Rule("X", BASIC[0]))
            return
        rule = self._profile.rule(tag.group, tag.element)
        if id(dataset) in self._cleaned and element.keyword in _CONTENT_VALUES:
            pass
        elif rule is None:
            self._unlisted(dataset, element)
        else:
            action = self._chosen(rule.action, element)
            self._actions[action](dataset, element, rule)
        if tag not in dataset:
            return
        if element.VR == "SQ":
            for item in element.value or ():
                if element.keyword == "ContentSequence":
                    self._content_item(item)
                self._walk(item, depth + 1)
            if element.keyword == "ContentSequence":
                element.value = [item for item in element.value if len(item)]
        else:
            self._check_value(dataset, element)

    def _chosen(self, action: str, element: DataElement) -> str:
        """One action of a choice: what keeps the object valid wherever the attribute is required."""
        if "U" in action:
            return "U"
        if "/" not in action:
            return action
        choices = action.split("/")
        if "D" in choices and self._needs_values():
            return "D"
        # An empty date with a time is refused by more kinds of objects than a missing one.
        return "X" if "X" in choices and element.VR == "DT" else "Z"

    def _needs_values(self) -> bool:
        """Whether the kind of object requires values that other kinds may leave empty: enhanced and structured ones."""
        return any(
            keyword in self._root
            for keyword in ("SharedFunctionalGroupsSequence", "ContentSequence", "WaveformSequence")
        )

    # --- actions ---------------------------------------------------------------------------------------

    def _keep(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        if element.keyword == "PatientAge":
            years = re.fullmatch(r"(\d{3})Y", str(element.value or ""))
            if years and int(years[1]) > _OLDEST:
                element.value = f"{_OLDEST + 1:03d}Y"
                self._count(element, "replaced", rule)

    def _remove(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        group = element.tag.group
        if group >> 8 == _OVERLAYS:
            for tag in [tag for tag in dataset.keys() if tag.group == group]:  # noqa: SIM118
                del dataset[tag]
        else:
            del dataset[element.tag]
        self._count(element, "removed", rule)

    def _empty(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        if not _has_value(element):
            return
        element.value = None if element.VR != "SQ" else []
        self._count(element, "emptied", rule)

    def _replace(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        if element.VR == "SQ":
            # Items are de-identified one by one; those that are codes have no meaning any more.
            for item in element.value or ():
                if "CodeValue" in item and element.keyword != "ContentSequence":
                    _empty_code(item)
        elif _has_value(element):
            element.value = self._dummy(element)
        else:
            return
        self._count(element, "replaced", rule)

    def _map_uid(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        if element.VR == "SQ" or not _has_value(element):
            return
        many = values_of(element)
        mapped = [self._uid(str(one)) for one in many]
        element.value = mapped if len(many) > 1 else mapped[0]
        self._count(element, "replaced", rule)

    def _clean(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        if element.VR in ("DA", "DT", "TM"):
            if element.VR != "TM" and _has_value(element):
                shifted = [self._shifted(str(one)) for one in values_of(element)]
                element.value = shifted if len(shifted) > 1 else shifted[0]
                self._moved.add((id(dataset), element.tag))
                self._count(element, "moved", rule)
        elif element.VR in TEXTS and element.VR != "PN":
            kept = [clean_description(str(one), self._identity) for one in values_of(element)]
            element.value = "\\".join(kept) if element.VR in ("LT", "ST", "UT") else kept
            self._count(element, "cleaned", rule)
        elif element.tag.group >> 8 == _OVERLAYS and element.tag.element == _OVERLAY_DATA:
            self._clean_overlay(dataset, element, rule)
        elif element.keyword == "GraphicAnnotationSequence":
            for item in element.value or ():
                if "TextObjectSequence" in item:
                    del item.TextObjectSequence
            self._count(element, "cleaned", rule)
        elif element.VR != "SQ":
            self._remove(dataset, element, rule)

    def _clean_overlay(self, dataset: Dataset, element: DataElement, rule: Rule) -> None:
        """Keep an overlay only where no text is drawn in it."""
        import numpy as np

        from semblance.core.imaging.drawn_text import drawn_text

        group = element.tag.group
        try:
            rows, columns = (int(dataset[group, place].value) for place in (0x10, 0x11))
            frames = int(dataset[group, 0x15].value or 1) if (group, 0x15) in dataset else 1
        except (KeyError, TypeError, ValueError):
            self._remove(dataset, element, rule)
            return
        size = rows * columns * frames
        bits = np.unpackbits(np.frombuffer(element.value or b"", np.uint8), bitorder="little")[:size]
        if len(bits) < size or not size:
            self._remove(dataset, element, rule)
            return
        planes = bits.reshape(-1, rows, columns)
        packed = np.packbits(bits, bitorder="little").tobytes()
        element.value = packed + b"\0" * (len(packed) % 2)
        if any(drawn_text(plane.astype(np.float32)) or self._has_text(plane) for plane in planes):
            self._remove(dataset, element, rule)

    def _has_text(self, plane: npt.NDArray[np.uint8]) -> bool:
        if Option.PIXELS not in self._profile.options:
            return False
        from semblance.core.imaging.image import Image
        from semblance.core.imaging.text_detector import text_detector

        return bool(text_detector().boxes(Image(255 * plane, 255.0)))

    # --- attributes of no table ------------------------------------------------------------------------

    def _remove_private(self, dataset: Dataset) -> set[BaseTag]:
        """Remove private attributes; returns those that are kept, with the names of their blocks."""
        from pydicom.tag import Tag

        kept: set[BaseTag] = set()
        for tag in sorted(tag for tag in dataset.keys() if tag.is_private):  # noqa: SIM118
            block = Tag(tag.group, tag.element >> 8)
            if tag.element < 0x100:
                continue
            creator = _text_of(dataset, block)
            if Option.SAFE_PRIVATE in self._profile.options and is_safe_private(
                creator, tag.group, tag.element
            ):
                kept.update((tag, block))
        for tag in sorted(tag for tag in dataset.keys() if tag.is_private):  # noqa: SIM118
            if tag not in kept:
                del dataset[tag]
                if tag.element >= 0x100:
                    self._changes.add(_shown(tag), "removed", PRIVATE)
        for tag in sorted(kept):
            if tag.element < 0x100:
                continue
            element = self._read(dataset, tag)
            if element is not None and element.VR == "SQ":
                for item in element.value or ():
                    self._walk(item, 1)
            elif element is not None:
                self._check_value(dataset, element)
        return kept

    def _unlisted(self, dataset: Dataset, element: DataElement) -> None:
        group = element.tag.group
        if group >> 8 == _OVERLAYS and (group, _OVERLAY_DATA) not in dataset:
            # It was drawn into the pixels, from which it is removed.
            self._remove(dataset, element, Rule("X", UNLISTED))
        elif group >> 8 == _OVERLAYS and element.VR in ("LO", "SH", "LT"):
            self._clean(dataset, element, Rule("C", UNLISTED))
        elif element.VR == "UI" and not _is_class(element):
            self._map_uid_unlisted(element)
        elif element.VR in _DATES and Option.FULL_DATES not in self._profile.options:
            if Option.MODIFIED_DATES in self._profile.options:
                self._clean(dataset, element, Rule("C", UNLISTED))
            else:
                self._empty(dataset, element, Rule("Z", UNLISTED))
        elif not _is_known(element) or (element.VR in _FREE and element.tag.group != 0x0040):
            self._remove(dataset, element, Rule("X", UNLISTED))
        elif element.VR in _FREE:
            self._replace(dataset, element, Rule("D", UNLISTED))

    def _map_uid_unlisted(self, element: DataElement) -> None:
        if Option.UIDS in self._profile.options:
            return
        many = [str(one) for one in values_of(element) if one]
        if any(not one.startswith(_STANDARD_UID) for one in many):
            mapped = [one if one.startswith(_STANDARD_UID) else self._uid(one) for one in many]
            element.value = mapped if len(mapped) > 1 else mapped[0]
            self._count(element, "replaced", Rule("U", UNLISTED))

    def _check_value(self, dataset: Dataset, element: DataElement) -> None:
        """Clean a value that was kept and has a name or an id of the object, or what its kind must not have, in it."""
        any_date = Option.FULL_DATES in self._profile.options or (id(dataset), element.tag) in self._moved
        if done := self._kept_values.clean(dataset, element, any_date=any_date):
            self._count(element, done, Rule("C", NAMES))

    # --- structured reports ----------------------------------------------------------------------------

    def _content_item(self, item: Dataset) -> None:
        """Clean the value of a content item, or leave nothing of it."""
        concept = (item.get("ConceptNameCodeSequence") or [None])[0]
        rule = Rule("D", "113100")
        if Option.STRUCTURED in self._profile.options:
            rule = Rule("C", "113104")
            if concept is not None:
                rule = (
                    self._profile.content_rule(
                        text(concept, "CodeValue"), text(concept, "CodingSchemeDesignator")
                    )
                    or rule
                )
        kind = text(item, "ValueType")
        if rule.action == "X":
            item.clear()
            self._changes.add(f"ContentSequence {kind}", "removed", rule.source)
            return
        if rule.action == "K":
            self._cleaned.add(id(item))
        elif kind == "TEXT" and "TextValue" in item:
            cleaned = clean_description(str(item.TextValue), self._identity) if rule.action == "C" else ""
            item.TextValue = cleaned or REMOVED
            self._cleaned.add(id(item))
            self._changes.add("ContentSequence TEXT", "cleaned" if cleaned else "replaced", rule.source)
        elif kind == "PNAME" and "PersonName" in item:
            item.PersonName = REMOVED
            self._cleaned.add(id(item))
            self._changes.add("ContentSequence PNAME", "replaced", rule.source)

    # --- values ----------------------------------------------------------------------------------------

    def _uid(self, uid: str) -> str:
        return self._pseudonyms.uid(uid)

    def _shifted(self, written: str) -> str:
        """A date, or a date with a time, moved by the days of the patient; empty where it is none."""
        digits = re.sub(r"^(\d{4})[.-](\d{2})[.-](\d{2})", r"\1\2\3", written.strip())
        try:
            found = datetime.datetime.strptime(digits[:8], "%Y%m%d").date()
        except ValueError:
            return ""
        return f"{self._pseudonyms.date(found, self._patient):%Y%m%d}{digits[8:]}"

    def _dummy(self, element: DataElement) -> Any:
        if element.VR == "UI":
            return self._uid(str(values_of(element)[0]))
        if element.VR in _NUMBERS:
            return 0
        if element.VR in BYTES:
            return b"\0\0"
        return _DUMMIES.get(element.VR, REMOVED)

    def _count(self, element: DataElement, done: str, rule: Rule) -> None:
        self._changes.add(f"{_shown(element.tag)} {element.keyword}".strip(), done, rule.source)

    def _record(self) -> None:
        """Say in the object what was done (PS3.15 E.1.1, PS3.3 C.7.1.1 and C.12.1)."""
        from pydicom import Dataset

        root, options = self._root, self._profile.options
        root.PatientIdentityRemoved = "YES"
        root.DeidentificationMethod = [f"PS3.15 {EDITION} Annex E by Semblance"]
        codes = []
        for value, meaning in self._profile.codes():
            code = Dataset()
            code.CodeValue, code.CodingSchemeDesignator, code.CodeMeaning = value, "DCM", meaning
            codes.append(code)
        root.DeidentificationMethodCodeSequence = codes
        dates = "REMOVED"
        if Option.FULL_DATES in options:
            dates = "UNMODIFIED"
        elif Option.MODIFIED_DATES in options:
            dates = "MODIFIED"
        root.LongitudinalTemporalInformationModified = dates


def _has_value(element: DataElement) -> bool:
    return element.value is not None and element.value not in ("", [])


def _is_known(element: DataElement) -> bool:
    """Whether the standard has the attribute; an element of a group that repeats has no keyword."""
    from pydicom.datadict import dictionary_has_tag, repeater_has_tag

    return dictionary_has_tag(element.tag) or repeater_has_tag(element.tag)


def _shown(tag: BaseTag) -> str:
    return f"({tag.group:04X},{tag.element:04X})"


def _is_class(element: DataElement) -> bool:
    """Whether a UID names a kind of thing that the standard defines, and not a thing."""
    return all(
        str(one).startswith(_STANDARD_UID) for one in values_of(element) if one
    ) or element.keyword.endswith(
        ("ClassUID", "TransferSyntaxUID", "CodingSchemeUID", "ContextUID", "MappingResourceUID")
    )


def _text_of(dataset: Dataset, tag: BaseTag) -> str:
    return str(dataset[tag].value) if tag in dataset else ""


def _empty_code(item: Dataset) -> None:
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = REMOVED, "99SEMBLANCE", "Removed"
