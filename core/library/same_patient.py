"""Catalogued cases of a given patient, study or file."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import sqlalchemy as sa

from semblance.core.library.database import in_batches
from semblance.core.library.schema import cases, files, json_text, slices

if TYPE_CHECKING:
    from semblance.core.imaging.dicom.patient_identity import PatientKeys
    from semblance.core.library.catalogue import Catalogue


def cases_of_file(catalogue: Catalogue, digest: str) -> set[int]:
    """Row ids of the cases of which a file or a slice has the content hash ``digest``."""
    found = sa.select(files.c.id).where(files.c.hash == digest)
    whole = catalogue.read(sa.select(cases.c.id).where(cases.c.file.in_(found)))
    part = catalogue.read(sa.select(slices.c.case).where(slices.c.file.in_(found)))
    return {int(row[0]) for row in (*whole, *part)}


def cases_of_study(catalogue: Catalogue, keys: PatientKeys) -> set[int]:
    """Row ids of the cases with the study or the accession number of ``keys``, written as in the library."""
    named = {"study": keys.study, "order": keys.accession}
    conditions = [json_text(cases.c.attributes, name) == key for name, key in named.items() if key]
    if not conditions:
        return set()
    return {int(row.id) for row in catalogue.read(sa.select(cases.c.id).where(sa.or_(*conditions)))}


def cases_of_other_issuers(catalogue: Catalogue, rows: Collection[int], issuer: str) -> set[int]:
    """Those of the row ids ``rows`` whose patient id is known to have another issuer than ``issuer``."""
    if not issuer:
        return set()
    named = json_text(cases.c.attributes, "issuer")
    out: set[int] = set()
    for part in in_batches(sorted(rows)):
        query = sa.select(cases.c.id).where(cases.c.id.in_(part), named.is_not(None), named != issuer)
        out |= {int(row.id) for row in catalogue.read(query)}
    return out


def shared_uids(catalogue: Catalogue) -> dict[tuple[str, str], list[str]]:
    """("series" or "study", UID) -> the cases, where several patients have it; a study only where no series of it is
    shared. Cases with a region are those of their image."""
    names = ("series", "study", "issuer")
    query = sa.select(
        cases.c.case_id, cases.c.patient, *(json_text(cases.c.attributes, name).label(name) for name in names)
    ).where(
        cases.c.patient.is_not(None),
        json_text(cases.c.attributes, "of").is_(None),
        json_text(cases.c.attributes, "study").is_not(None),
    )
    patients: dict[tuple[str, str], dict[str, set[str]]] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for r in catalogue.read(query.order_by(cases.c.id)):
        for uid in (("series", r.series), ("study", r.study)):
            if uid[1]:
                patients.setdefault(uid, {}).setdefault(r.patient, set()).add(r.issuer or "")
                found.setdefault(uid, []).append(r.case_id)
    out: dict[tuple[str, str], list[str]] = {}
    told: set[str] = set()
    for uid in sorted(patients):
        # One id of two issuers is two patients.
        several = len(patients[uid]) > 1 or any(len(one - {""}) > 1 for one in patients[uid].values())
        if several and not told.issuperset(found[uid]):
            out[uid] = found[uid]
            told.update(found[uid])
    return out
