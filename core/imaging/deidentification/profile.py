"""The Basic Application Level Confidentiality Profile of PS3.15 and its options: the action of each for an attribute.

The tables E.1-1 (attributes), E.3.4-1 (content items) and E.3.10-1 (safe private attributes) of the edition
:data:`EDITION` are data files of the program.
"""

from __future__ import annotations

import csv
import enum
import functools
from collections.abc import Collection
from dataclasses import dataclass

from semblance import resources
from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy

#: Edition of PS3.15 that the tables are from.
EDITION = "2026d"
#: (code, meaning) of the Basic Profile in CID 7050.
BASIC = ("113100", "Basic Application Confidentiality Profile")


class Option(enum.StrEnum):
    """An option of the profile, by the name that commands have for it."""

    PIXELS = "pixels"
    GRAPHICS = "graphics"
    STRUCTURED = "structured"
    DESCRIPTORS = "descriptors"
    FULL_DATES = "full-dates"
    MODIFIED_DATES = "modified-dates"
    PATIENT = "patient"
    DEVICE = "device"
    UIDS = "uids"
    SAFE_PRIVATE = "safe-private"
    INSTITUTION = "institution"


#: Code and meaning of each option in CID 7050.
CODES: dict[Option, tuple[str, str]] = {
    Option.PIXELS: ("113101", "Clean Pixel Data Option"),
    Option.GRAPHICS: ("113103", "Clean Graphics Option"),
    Option.STRUCTURED: ("113104", "Clean Structured Content Option"),
    Option.DESCRIPTORS: ("113105", "Clean Descriptors Option"),
    Option.FULL_DATES: ("113106", "Retain Longitudinal Temporal Information Full Dates Option"),
    Option.MODIFIED_DATES: ("113107", "Retain Longitudinal Temporal Information Modified Dates Option"),
    Option.PATIENT: ("113108", "Retain Patient Characteristics Option"),
    Option.DEVICE: ("113109", "Retain Device Identity Option"),
    Option.UIDS: ("113110", "Retain UIDs Option"),
    Option.SAFE_PRIVATE: ("113111", "Retain Safe Private Option"),
    Option.INSTITUTION: ("113112", "Retain Institution Identity Option"),
}
#: Options that clean what would be removed, and options that keep it.
CLEANING = (Option.PIXELS, Option.GRAPHICS, Option.STRUCTURED, Option.DESCRIPTORS)
RETAINING = tuple(option for option in Option if option not in CLEANING)
_COLUMNS = tuple(option for option in Option if option is not Option.PIXELS)


@dataclass(frozen=True)
class Rule:
    """What to do with an attribute: ``action`` is K, C, X, Z, D, U or a choice of them such as X/Z/D; ``source`` is
    the code of CID 7050 that says so."""

    action: str
    source: str


@dataclass(frozen=True)
class Profile:
    """The Basic Profile with ``options``.

    Raises:
        BadArguments: both full and modified dates.
    """

    options: frozenset[Option] = frozenset()

    def __post_init__(self) -> None:
        if {Option.FULL_DATES, Option.MODIFIED_DATES} <= self.options:
            raise BadArguments(
                "Dates are either retained in full or modified.", "Leave out full-dates or modified-dates."
            )

    def rule(self, group: int, element: int) -> Rule | None:
        """The actions for a standard attribute, ``None`` if the table does not list it."""
        return self._rule_of(_row(group, element))

    def content_rule(self, code: str, scheme: str) -> Rule | None:
        """The actions of table E.3.4-1 for a content item with this concept name."""
        return self._rule_of(_content_items().get((code, scheme)))

    def codes(self) -> list[tuple[str, str]]:
        """(code, meaning) of the profile and its options in CID 7050."""
        return [BASIC, *(CODES[option] for option in Option if option in self.options)]

    def _rule_of(self, row: dict[str, str] | None) -> Rule | None:
        if row is None:
            return None
        stated = [(row.get(option, ""), option) for option in _COLUMNS if option in self.options]
        for wanted in ("K", "C"):
            for action, option in stated:
                if action == wanted:
                    return Rule(action, CODES[option][0])
        return Rule(row["basic"], BASIC[0])


def parse_options(names: Collection[str], allowed: Collection[Option]) -> frozenset[Option]:
    """The options called ``names``.

    Raises:
        BadArguments: a name that none of ``allowed`` has.
    """
    known = {str(option): option for option in allowed}
    for name in names:
        if name not in known:
            raise BadArguments(
                tr_lazy("There is no option '{name}'.", name=name),
                tr_lazy("Options: {value}.", value=", ".join(known)),
            )
    return frozenset(known[name] for name in names)


def is_safe_private(creator: str, group: int, element: int) -> bool:
    """Whether table E.3.10-1 lists the private attribute with the last two digits ``element``."""
    return (creator.strip(), f"{group:04X}", f"{element & 0xFF:02X}") in _safe_private()


def _row(group: int, element: int) -> dict[str, str] | None:
    tag, attributes = f"{group:04X}{element:04X}", _attributes()
    if tag in attributes:
        return attributes[tag]
    # Groups that repeat: curves and overlays.
    family = f"{tag[:2]}xx"
    return attributes.get(f"{family}{tag[4:]}") or attributes.get(f"{family}xxxx")


@functools.cache
def _attributes() -> dict[str, dict[str, str]]:
    return {row["tag"]: row for row in _rows("attributes")}


@functools.cache
def _content_items() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["code"], row["scheme"]): row for row in _rows("content_items")}


@functools.cache
def _safe_private() -> frozenset[tuple[str, str, str]]:
    return frozenset((row["creator"], row["group"], row["element"]) for row in _rows("safe_private"))


def _rows(name: str) -> list[dict[str, str]]:
    with resources.path(f"deidentification/{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
