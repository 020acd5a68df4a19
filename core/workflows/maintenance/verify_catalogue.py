"""Verify the catalogue of a library: its structure, its rows, and the references between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.language import join_texts, tr_lazy
from semblance.core.library.records import CATALOGUE
from semblance.core.workflows.maintenance.problems import Problem, VerificationResult

if TYPE_CHECKING:
    from semblance.core.workflows.maintenance.repair_library import Repairer


def verify_catalogue(library: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    """Whether the catalogue can be used, possibly after a repair. Otherwise nothing else can be verified.

    Raises:
        BadInput: it was made by another version.
    """
    result.checked["catalogues"] = 1
    file = library / CATALOGUE
    return (
        _verify_structure(file, result, repairer)
        and _verify_readable(file, result, repairer)
        and _verify_references(file, result, repairer)
    )


def _verify_structure(file: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    from semblance.core.library.catalogue_damage import (
        integrity_errors,
        missing_columns,
        refuse_other_version,
    )

    refuse_other_version(file)
    if not (wrong := integrity_errors(file) or missing_columns(file)):
        return True
    finding = Problem(
        tr_lazy("catalogue"),
        CATALOGUE,
        tr_lazy("The catalogue is damaged: {wrong}.", wrong=wrong[0]),
        tr_lazy(
            "Restore a backup (semblance restore), or recover the readable part: semblance doctor"
            " LIB --repair."
        ),
    )
    done = repairer.recover_catalogue() if repairer is not None else ""
    if repairer is not None and not done:
        remedy = tr_lazy(
            "Nothing could be recovered. Restore a backup, or import the images into a new library."
        )
        finding = replace(finding, remedy=remedy)
    result.add(finding, done)
    return bool(done)


def _verify_readable(file: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    from semblance.core.library.catalogue_damage import unreadable_rows

    if not (unreadable := unreadable_rows(file)):
        return True
    finding = Problem(
        tr_lazy("catalogue rows"),
        CATALOGUE,
        tr_lazy("Rows of the catalogue cannot be read: {rows}.", rows=_row_counts_text(unreadable)),
        tr_lazy("Repair (--repair) recovers their readable part. A backup has them completely."),
    )
    done, all_repaired = repairer.repair_rows(unreadable) if repairer is not None else ("", False)
    if done and not all_repaired:
        finding = replace(finding, remedy=join_texts([done, finding.remedy], " "))
    result.add(finding, done if all_repaired else "")
    return all_repaired


def _verify_references(file: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    from semblance.core.library.catalogue_damage import orphan_rows

    if not (lost := orphan_rows(file)):
        return True
    rows = _row_counts_text({table: range(count) for table, count in lost.items()})
    finding = Problem(
        tr_lazy("catalogue rows"),
        CATALOGUE,
        tr_lazy("Rows refer to others that are missing: {rows}.", rows=rows),
        tr_lazy("Repair (--repair) removes them."),
    )
    result.add(finding, repairer.remove_orphans() if repairer is not None else "")
    return bool(result.findings[-1].repaired)


def _row_counts_text(rows: Mapping[str, Sequence[int]]) -> str:
    return join_texts(
        tr_lazy("{count:,} of {table}", count=len(found), table=table)
        for table, found in sorted(rows.items())
    )
