"""Identify a query from outside: its patient's cases in the library, and copies of its image.

Recognised by, in this order: the patient's id with its issuer, the study and its accession number, the bytes
of the file, the pixels, and pixels that are nearly the same, as same-lesion groups are found. Nothing but the query is
decoded, except where a library image has the same thumbnail.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import Image, open_image
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.imaging.dicom.patient_identity import TAGS, PatientKeys, patient_keys
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, sniff
from semblance.core.imaging.same_image import (
    OUTLINE_CORRELATION,
    OUTLINE_NUMBERS,
    ComparedImage,
    Pixels,
    is_same_image,
    mirrored,
    outlines,
)
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.library.content_hashes import content_hash_of_stream
from semblance.core.library.pseudonyms import known_pseudonyms
from semblance.core.library.same_patient import cases_of_file, cases_of_other_issuers, cases_of_study
from semblance.core.retrieval.index import Rows
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.workflows.searches.loaded_metric import LoadedMetric

#: Number of images with equal thumbnails that are decoded to compare their pixels.
_DECODED = 4
#: Numbers of cases closest in outline, compared as copies, and nearest under the metric, compared as crops.
_BY_OUTLINE, _BY_METRIC = 8, 5
_OUTLINES = "outlines"


@dataclass(frozen=True, eq=False)
class QueryIdentity:
    """Positions of the cases of the query's patient, and of other near-duplicates of its image."""

    same_patient: Rows
    near_duplicates: Rows


def identify_image(loaded: LoadedMetric, path: Path, image: Image, embedded: EmbeddedQuery) -> QueryIdentity:
    """Identify the file ``path``; ``image``: its content; ``embedded``: its coordinates under the metric.

    Equal ids are of one patient unless both issuers are known and differ.
    """
    own, other_patients = _cases_by_header(loaded, path)
    with path.open("rb") as file:
        own |= cases_of_file(loaded.library.catalogue, content_hash_of_stream(file))
    copies: set[int] = set()
    encoded = thumbnail(image)
    compared = ComparedImage(encoded)
    found = outlines(compared)
    # A uniform image has the pixels of many others, and no outline.
    if len(found):
        equal, copies = _cases_by_pixels(loaded, image, encoded)
        own |= equal
        copies |= _cases_by_detail(loaded, compared, found, embedded)
    patients = {patient for row in own if (patient := loaded.cases.patient_of(row))}
    own |= loaded.cases.rows_of_patients(patients) - other_patients
    same_patient = loaded.places_of(own)
    near = loaded.places_of(copies)
    # A copy of a case belongs to the lesion of the case.
    near |= set(np.flatnonzero(np.isin(loaded.keys, loaded.keys[sorted(near)])).tolist())
    near_duplicates = near - same_patient
    return QueryIdentity(_sorted(same_patient), _sorted(near_duplicates))


def _sorted(places: set[int]) -> Rows:
    return np.array(sorted(places), dtype=np.int64)


def _keys_of_file(path: Path) -> PatientKeys:
    """The identifiers in a DICOM header; none for other files."""
    with path.open("rb") as file:
        if sniff(file.read(HEAD_BYTES)) != DICOM:
            return PatientKeys()
        try:
            return patient_keys(open_dicom(file, path.name, TAGS).dataset)
        except BadInput:
            # An image without a usable header is still recognised by its pixels.
            return PatientKeys()


def _cases_by_header(loaded: LoadedMetric, path: Path) -> tuple[set[int], set[int]]:
    """Row ids of the cases of the file's patient or study, and of cases with an equal patient id of another issuer,
    in sources imported with and without ids."""
    catalogue, keys = loaded.library.catalogue, _keys_of_file(path)
    pseudonyms = known_pseudonyms(catalogue)
    own: set[int] = set()
    others: set[int] = set()
    for named in (keys, keys.replaced(pseudonyms)) if pseudonyms is not None else (keys,):
        rows = loaded.cases.rows_of_patients({named.patient})
        others |= cases_of_other_issuers(catalogue, rows, named.issuer)
        own |= rows | cases_of_study(catalogue, named)
    return own - others, others


def _cases_by_pixels(loaded: LoadedMetric, image: Image, encoded: bytes) -> tuple[set[int], set[int]]:
    """Row ids of the cases that show exactly the pixels of ``image``, and of others with an equal thumbnail."""
    rows = loaded.cases.rows_of_contents(loaded.library.thumbnails.contents_of(encoded))
    details = loaded.library.catalogue.details(sorted(rows))
    by_address: dict[str, set[int]] = {}
    for row, case in details.items():
        by_address.setdefault(str(case.address), set()).add(row)
    equal: set[int] = set()
    for number, there in enumerate(by_address.values()):
        case = details[min(there)]
        if number == _DECODED or case.address is None:
            break
        try:
            shown = open_image(case.address, case.region)
        except SemblanceError:
            # The file may be missing; the equal thumbnail is enough.
            continue
        if np.array_equal(shown.pixels, image.pixels):
            equal |= there
    return equal, rows - equal


def _cases_by_detail(
    loaded: LoadedMetric, query: ComparedImage, found: Pixels, embedded: EmbeddedQuery
) -> set[int]:
    """Row ids of the cases whose image is that of the query saved again, windowed, mirrored, annotated or cropped."""
    near = loaded.search_index().search(embedded.embedded, _BY_METRIC, tie_query=embedded.tie_break)
    by_metric = {int(row) for row in loaded.rows[near.rows]}
    rows = by_metric | loaded.cases.rows_of_contents(_close_in_outline(loaded, found))
    details = loaded.details(sorted(rows))
    thumbnails = loaded.library.thumbnails.get(sorted({case.content for case in details.values()}))
    copies: set[int] = set()
    for row, case in details.items():
        encoded = thumbnails.get(case.content)
        if case.address is None or encoded is None:
            continue
        try:
            other = ComparedImage(encoded)
        except (OSError, ValueError):
            # A damaged thumbnail is made again when it is shown; until then its case is compared with no other.
            continue
        if is_same_image(query, other, parts=row in by_metric and case.region is None):
            copies.add(row)
    return copies


def _close_in_outline(loaded: LoadedMetric, found: Pixels) -> list[str]:
    """The contents of the images that are closest in outline (1 or 2, 144), in any mirrored form."""
    if _OUTLINES not in loaded.cache:
        known = {key: value for key, value in loaded.library.thumbnails.outlines().items() if value}
        values = np.frombuffer(b"".join(known.values()), dtype=np.float16).reshape(-1, OUTLINE_NUMBERS)
        several = {
            content: len(value) // (OUTLINE_NUMBERS * values.itemsize) for content, value in known.items()
        }
        contents = [content for content, count in several.items() for _ in range(count)]
        loaded.cache[_OUTLINES] = _Outlines(contents, values)
    stored: _Outlines = loaded.cache[_OUTLINES]
    if not stored.contents:
        return []
    products = (stored.values @ np.concatenate(mirrored(found)).T).max(axis=1)
    closest = np.argsort(-products, kind="stable")[:_BY_OUTLINE]
    return [stored.contents[at] for at in closest.tolist() if products[at] >= OUTLINE_CORRELATION]


@dataclass(frozen=True, eq=False)
class _Outlines:
    """The outlines (n, 144) of the library's images, 1 or 2 each, and their ``contents``."""

    contents: list[str]
    values: npt.NDArray[np.float16]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes
