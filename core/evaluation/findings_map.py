"""Merging and dropping findings: ``1,2=low;4,5=high;3=-``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.normal_text import normal_text

DROPPED = "-"
_HINT = tr_lazy("Write it like 1,2=low;4,5=high;3=- (merge 1 and 2, merge 4 and 5, leave 3 out).")


def parse_findings_map(text: str) -> dict[str, str]:
    """From each finding named in ``text`` to its new name, or to ``-`` where its cases are left out.

    Raises:
        BadArguments: not of the form ``OLD[,OLD...]=NEW[;...]``, or a finding named twice.
    """
    renamed: dict[str, str] = {}
    for rule in text.split(";"):
        if not rule.strip():
            continue
        olds, equals, new = rule.rpartition("=")
        names = [normal_text(old) for old in olds.split(",")]
        if not equals or not new.strip() or not all(names):
            raise BadArguments(
                tr_lazy("'{rule}' does not say which findings become which.", rule=rule.strip()), _HINT
            )
        for name in names:
            if name in renamed:
                raise BadArguments(
                    tr_lazy("The finding '{name}' is named twice in '{value}'.", name=name, value=text), _HINT
                )
            renamed[name] = normal_text(new)
    if not renamed:
        raise BadArguments("The map of findings is empty.", _HINT)
    return renamed


def check_findings_map(renamed: Mapping[str, str], present: Iterable[str]) -> None:
    """Refuse a map that names findings no case has.

    Raises:
        BadArguments: naming the unknown findings and the known ones.
    """
    known = sorted(set(present))
    unknown = [name for name in renamed if name not in known]
    if unknown:
        raise BadArguments(
            tr_lazy("No case has the finding {those}.", those=", ".join(repr(name) for name in unknown)),
            tr_lazy("The findings are: {known}.", known=", ".join(known)),
        )
