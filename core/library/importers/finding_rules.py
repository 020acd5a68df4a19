"""Several findings of a case, and the rule by which one of them is the finding that it is searched and measured by.

All findings of a case stay in its attributes :data:`FINDINGS` and :data:`UNCERTAIN_FINDINGS`, so that the rule can be
changed without another import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from semblance.core.errors import BadArguments
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.normal_text import normal_text
from semblance.core.parameters import Parameter, Value

#: Attributes of a case: its findings, and those that its list calls uncertain, separated by :data:`SEPARATOR`.
FINDINGS, UNCERTAIN_FINDINGS = "findings", "findings_uncertain"
SEPARATOR = "|"
#: The finding of a case whose list denies every finding.
NO_FINDING = "No Finding"
#: How lists write it.
_NO_FINDING_NAMES = frozenset(
    ("no finding", "no findings", "no_finding", "nofinding", "normal", "none", "healthy", "no abnormality")
)

AUTO, FIRST, COMBINATION, SINGLE = "auto", "first", "combination", "single"
IGNORE, POSITIVE, NEGATIVE, OWN = "ignore", "positive", "negative", "own"
#: Different combinations up to which ``auto`` keeps them as findings of their own.
MOST_COMBINATIONS = 20
_BETWEEN = " + "

SEVERAL_PARAMETER = Parameter(
    "several",
    AUTO,
    "The finding of a case with several: first (in the order of the list), combination (all of them together), single "
    "(none: only cases with one finding have a finding), or the name of one finding, which is compared with its "
    f"absence. auto: combination where there are at most {MOST_COMBINATIONS} different ones, else first.",
)
UNCERTAIN_PARAMETER = Parameter(
    "uncertain",
    IGNORE,
    "What a finding counts as that a list calls uncertain (-1): ignore (nothing is known), positive, negative, or own "
    "(a finding of its own).",
    choices=(IGNORE, POSITIVE, NEGATIVE, OWN),
)


@dataclass(frozen=True)
class StatedFindings:
    """What a list says about a case: the findings that are ``present``, and those that are ``uncertain``."""

    present: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> Self | None:
        """Those of a case in the catalogue; ``None`` where its source names one finding at most."""
        if FINDINGS not in attributes and UNCERTAIN_FINDINGS not in attributes:
            return None
        return cls(_divided(attributes.get(FINDINGS, "")), _divided(attributes.get(UNCERTAIN_FINDINGS, "")))

    def attributes(self) -> dict[str, str]:
        """The attributes that keep them."""
        kept = {FINDINGS: SEPARATOR.join(self.present), UNCERTAIN_FINDINGS: SEPARATOR.join(self.uncertain)}
        return {name: text for name, text in kept.items() if text}


@dataclass(frozen=True)
class FindingRule(JsonDocument):
    """Which finding a case has. ``several`` and ``uncertain``: as their parameters say; ``chosen``: the rule that
    ``auto`` came to, "" before it was asked."""

    JSON_KEYS = ("several", "uncertain", "chosen")

    several: str = AUTO
    uncertain: str = IGNORE
    chosen: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Value], earlier: Mapping[str, Any] | None = None) -> Self:
        """The rule of settings, and where they say nothing of an ``earlier`` import of the same source."""
        known = earlier or {}

        def value(parameter: Parameter) -> str:
            given = values.get(parameter.name, parameter.default)
            return str(known.get(parameter.name, given) if given == parameter.default else given)

        uncertain = value(UNCERTAIN_PARAMETER)
        return cls(value(SEVERAL_PARAMETER).strip() or AUTO, str(UNCERTAIN_PARAMETER.check(uncertain)))

    def resolved(self, stated: Iterable[StatedFindings]) -> Self:
        """The rule for these cases: ``auto`` becomes what it says.

        Raises:
            BadArguments: none of the cases has the finding that the rule names.
        """
        kinds = Counter(stated)
        if self.several == AUTO:
            combinations = {frozenset(self._counted(one)) for one in kinds} - {frozenset[str]()}
            chosen = COMBINATION if len(combinations) <= MOST_COMBINATIONS else FIRST
            return replace(self, chosen=chosen)
        if self.several in (FIRST, COMBINATION, SINGLE):
            return replace(self, chosen=self.several)
        names = dict.fromkeys(name for one in kinds for name in (*one.present, *one.uncertain))
        same = [name for name in names if _folded(name) == _folded(self.several)]
        if not same:
            raise BadArguments(
                tr_lazy("No case of the list has the finding '{name}'.", name=self.several),
                tr_lazy(
                    "Use several=first, combination or single, or one of: {names}.",
                    names=", ".join(sorted(names)[:30]),
                ),
            )
        return replace(self, several=same[0], chosen=same[0])

    def finding(self, stated: StatedFindings) -> str | None:
        """The finding of a case by this rule, once it is :meth:`resolved`; ``None`` for none."""
        if self.chosen not in (FIRST, COMBINATION, SINGLE):
            return self._one(stated)
        counted = self._counted(stated)
        if not counted:
            denied = stated.uncertain and self.uncertain == NEGATIVE
            return NO_FINDING if denied else None
        if len(counted) == 1 or self.chosen == FIRST:
            return counted[0]
        return None if self.chosen == SINGLE else _BETWEEN.join(sorted(counted, key=str.casefold))

    def _one(self, stated: StatedFindings) -> str | None:
        """The one finding of the rule, or its absence."""
        name = self.chosen
        if name in stated.present:
            return name
        if name in stated.uncertain:
            if self.uncertain == POSITIVE:
                return name
            if self.uncertain == OWN:
                return _uncertain(name)
            if self.uncertain == IGNORE:
                return None
        return f"No {name}" if stated.present or stated.uncertain else None

    def _counted(self, stated: StatedFindings) -> tuple[str, ...]:
        """The findings that count, in the order of the list."""
        found = stated.present
        if self.uncertain == POSITIVE:
            found = tuple(dict.fromkeys((*found, *stated.uncertain)))
        elif self.uncertain == OWN:
            found = (*found, *map(_uncertain, stated.uncertain))
        others = tuple(name for name in found if not is_no_finding(name))
        # "No Finding" counts alone: CheXpert gives it beside support devices.
        return others or found[:1]


@dataclass
class ListReport(JsonDocument):
    """How a list of images was read: its ``files``, what its ``columns`` were taken as, the ``rule``, and what did
    not match: counts, and the first images."""

    JSON_KEYS = (
        "layout",
        "files",
        "columns",
        "rule",
        "cases_with_several",
        "cases_with_uncertain",
        "images_without_row",
        "first_images_without_row",
        "rows_without_image",
    )

    layout: str = ""
    files: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    rule: dict[str, str] = field(default_factory=dict)
    cases_with_several: int = 0
    cases_with_uncertain: int = 0
    images_without_row: int = 0
    first_images_without_row: list[str] = field(default_factory=list)
    rows_without_image: int = 0


def is_no_finding(name: str) -> bool:
    """Whether a finding says that there is none."""
    return _folded(name) in _NO_FINDING_NAMES


def joined(names: Iterable[str]) -> tuple[str, ...]:
    """Names of findings in the form in which they are kept, each once, in their order."""
    return tuple(dict.fromkeys(filter(None, (normal_text(name).replace(SEPARATOR, "/") for name in names))))


def _divided(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(SEPARATOR) if part)


def _folded(name: str) -> str:
    return normal_text(name).casefold()


def _uncertain(name: str) -> str:
    return f"{name} (uncertain)"
