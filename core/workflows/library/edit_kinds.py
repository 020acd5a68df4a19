"""The kinds of edits, and a line of text that describes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from semblance.core.language import tr_lazy, tr_lazy_n


class EditKind(Enum):
    """What an edit changes."""

    FINDING = "finding"
    PATIENT = "patient"
    LABELS_FILE = "labels file"
    FINDING_RULE = "finding rule"
    REMOVE_CASES = "remove cases"
    REVIEW = "data review"
    JOIN_LESIONS = "join lesions"
    SPLIT_LESIONS = "split lesions"
    ADD_FINDING = "add finding"
    RENAME_FINDING = "rename finding"
    MERGE_FINDINGS = "merge findings"
    RECOLOUR_FINDING = "recolour finding"
    ORDER_FINDINGS = "order findings"
    DELETE_FINDING = "delete finding"
    RENAME_METRIC = "rename metric"
    DUPLICATE_METRIC = "duplicate metric"
    DELETE_METRIC = "delete metric"
    RENAME_FEATURES = "rename feature set"
    DUPLICATE_FEATURES = "duplicate feature set"
    DELETE_FEATURES = "delete feature set"


def describe_edit(kind: str, summary: Mapping[str, Any]) -> str:
    """One line on an edit of the log, such as "Label 12 cases malignant"."""
    try:
        return _DESCRIPTIONS[EditKind(kind)](summary)
    except (KeyError, ValueError, TypeError):
        # Made by a newer version of the program.
        return kind


def _label(summary: Mapping[str, Any]) -> str:
    if summary["finding"] is None:
        return tr_lazy_n("Remove the finding of {n} case", "Remove the finding of {n} cases", summary["n"])
    return tr_lazy_n(
        "Label {n} case {finding}", "Label {n} cases {finding}", summary["n"], finding=summary["finding"]
    )


def _patient(summary: Mapping[str, Any]) -> str:
    if summary["patient"] is None:
        return tr_lazy_n("Remove the patient of {n} case", "Remove the patient of {n} cases", summary["n"])
    return tr_lazy_n(
        "Set the patient of {n} case to {patient}",
        "Set the patient of {n} cases to {patient}",
        summary["n"],
        patient=summary["patient"],
    )


def _rule(summary: Mapping[str, Any]) -> str:
    rule = ", ".join(f"{name}={summary[name]}" for name in ("several", "uncertain") if name in summary)
    return tr_lazy_n(
        "Choose the finding of {n} case by {rule}",
        "Choose the findings of {n} cases by {rule}",
        summary["n"],
        rule=rule,
    )


def _review(summary: Mapping[str, Any]) -> str:
    if summary["finding"] is None:
        return tr_lazy_n(
            "Keep {n} doubtful case as it is", "Keep {n} doubtful cases as they are", summary["n"]
        )
    return _label(summary)


_DESCRIPTIONS: dict[EditKind, Callable[[Mapping[str, Any]], str]] = {
    EditKind.FINDING: _label,
    EditKind.REVIEW: _review,
    EditKind.PATIENT: _patient,
    EditKind.LABELS_FILE: lambda s: tr_lazy_n(
        "Label {n} case from {file}", "Label {n} cases from {file}", s["n"], file=s["file"]
    ),
    EditKind.FINDING_RULE: _rule,
    EditKind.REMOVE_CASES: lambda s: tr_lazy_n("Remove {n} case", "Remove {n} cases", s["n"]),
    EditKind.JOIN_LESIONS: lambda s: tr_lazy_n(
        "Mark {n} case as one lesion", "Mark {n} cases as one lesion", s["n"]
    ),
    EditKind.SPLIT_LESIONS: lambda s: tr_lazy_n(
        "Mark {n} case as another lesion", "Mark {n} cases as other lesions", s["n"]
    ),
    EditKind.ADD_FINDING: lambda s: tr_lazy("Add the finding {name}", name=s["name"]),
    EditKind.RENAME_FINDING: lambda s: tr_lazy(
        "Rename the finding {old} to {new}", old=s["old"], new=s["new"]
    ),
    EditKind.MERGE_FINDINGS: lambda s: tr_lazy(
        "Merge the findings {names} into {into}", names=", ".join(s["names"]), into=s["into"]
    ),
    EditKind.RECOLOUR_FINDING: lambda s: tr_lazy("Recolour the finding {name}", name=s["name"]),
    EditKind.ORDER_FINDINGS: lambda _s: tr_lazy("Order the findings"),
    EditKind.DELETE_FINDING: lambda s: tr_lazy("Delete the finding {name}", name=s["name"]),
    EditKind.RENAME_METRIC: lambda s: tr_lazy("Rename the metric {old} to {new}", old=s["old"], new=s["new"]),
    EditKind.DUPLICATE_METRIC: lambda s: tr_lazy(
        "Duplicate the metric {old} as {new}", old=s["old"], new=s["new"]
    ),
    EditKind.DELETE_METRIC: lambda s: tr_lazy("Delete the metric {name}", name=s["name"]),
    EditKind.RENAME_FEATURES: lambda s: tr_lazy(
        "Rename the feature set {old} to {new}", old=s["old"], new=s["new"]
    ),
    EditKind.DUPLICATE_FEATURES: lambda s: tr_lazy(
        "Duplicate the feature set {old} as {new}", old=s["old"], new=s["new"]
    ),
    EditKind.DELETE_FEATURES: lambda s: tr_lazy("Delete the feature set {name}", name=s["name"]),
}
