"""A query in the coordinates of a metric: its features, its patient's cases in the library, and copies of its image.

Recognised by, in this order: the patient's id with its issuer, the study and its accession number, the bytes
of the file, the pixels, and pixels that are nearly the same, as same-lesion groups are found. Nothing but the query is
decoded, except where a library image has the same thumbnail.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.features.extractor import Extractor
from semblance.core.features.fusion import clinical_columns, imported_sets
from semblance.core.features.imported import cannot_measure
from semblance.core.features.registry import stored_extractor
from semblance.core.files import make_folder, write_file
from semblance.core.imaging import Image, ImageAddress, ImageReader, open_image
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.imaging.dicom.patient_identity import TAGS, PatientKeys, patient_keys
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, sniff
from semblance.core.imaging.same_image import (
    OUTLINE_CORRELATION,
    OUTLINE_NUMBERS,
    ComparableImage,
    Pixels,
    is_same_image,
    mirrored,
    outlines,
)
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.language import tr_lazy
from semblance.core.library.content_hashes import content_hash_of_stream
from semblance.core.library.importers.vector_file import checked_vector
from semblance.core.library.location import LibraryLocation, lasting_folder
from semblance.core.library.pseudonyms import known_pseudonyms
from semblance.core.library.records import PASTED, FeatureSet
from semblance.core.library.same_patient import cases_of_file, cases_of_other_issuers, cases_of_study
from semblance.core.limits import MAX_PIXELS
from semblance.core.metrics.distance import Matrix
from semblance.core.retrieval.index import CaseRow, Position, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.searches.query import Query
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.loaded_metric import LoadedMetric

#: Images from outside, and regions of cases, that one loaded metric caches.
_MAX_CACHED = 64

#: Number of images with equal thumbnails that are decoded to compare their pixels.
_DECODED = 4
#: Numbers of cases closest in outline, compared as copies, and nearest under the metric, compared as crops.
_BY_OUTLINE, _BY_METRIC = 8, 5


def embed_query(loaded: LoadedMetric, query: Query) -> EmbeddedQuery:
    """The query in the metric's coordinates, with its patient and its copies among the cases.

    Raises:
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    check_not_sealed(loaded, query)
    if query.case is None:
        if query.image is None:
            return EmbeddedQuery(*_embed(loaded, given_vector(loaded, query)))
        return _outside_image(loaded, query).embedded
    row = loaded.cases.row_of(query.case)
    place = loaded.position_of(row)
    if query.region is None and query.vector is None and place is not None:
        return loaded.case_query(place)
    vector, tie = _embed(loaded, query_features(loaded, query))
    return EmbeddedQuery(vector, tie, place, loaded.query_patient(row), loaded.cases.lesion_of(row))


def query_features(loaded: LoadedMetric, query: Query) -> Matrix:
    """(d,) features of the query as extracted, float64.

    Raises:
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    check_not_sealed(loaded, query)
    if query.vector is not None:
        return given_vector(loaded, query)
    if query.case is None:
        return _outside_image(loaded, query).features
    if query.region is not None:
        return _region_features(loaded, query)
    if _is_unmeasured(loaded, query.case):
        return _measure(loaded, query, loaded.feature_set)[0]
    return case_features(loaded, query.case, loaded.feature_set)


def features_in(loaded: LoadedMetric, query: Query, feature_set: FeatureSet) -> Matrix:
    """(d,) features of the query in any ``feature_set`` of the library.

    Raises:
        BadInput: as :func:`query_features`.
    """
    check_not_sealed(loaded, query)
    if feature_set.id == loaded.feature_set.id:
        return query_features(loaded, query)
    if query.case is not None and query.region is None:
        return case_features(loaded, query.case, feature_set)
    return _measure(loaded, query, feature_set)[0]


def given_vector(loaded: LoadedMetric, query: Query) -> Matrix:
    """(d,) the vector of a query that brings one.

    Raises:
        BadInput: it has not the width of the features, or a number is not finite.
    """
    assert query.vector is not None
    return checked_vector(query.vector, tr_lazy("The vector"), len(loaded.feature_set.columns))


def check_not_sealed(loaded: LoadedMetric, query: Query) -> None:
    """Refuse a query of the sealed test vault, because its results could influence the choice of a metric.

    Raises:
        BadInput: the case is sealed.
    """
    if loaded.sealed and query.case is not None and loaded.cases.row_of(query.case) in loaded.sealed:
        raise BadInput(
            tr_lazy("The case {case} is in the sealed test vault.", case=query.case),
            "Search with another case. The vault is opened once, to test a finished metric: Research > Test vault…",
        )


def unknown_columns(loaded: LoadedMetric, query: Query) -> list[str]:
    """The clinical columns without a value for the query.

    Raises:
        BadInput: as :func:`query_features`.
    """
    feature_set = loaded.feature_set
    columns = clinical_columns(feature_set.extractor, feature_set.settings)
    if not columns:
        return []
    missing = np.isnan(query_features(loaded, query))
    unknown = {group for group, lacks in zip(feature_set.groups, missing, strict=True) if lacks}
    return [name for name in columns if name in unknown]


def _region_features(loaded: LoadedMetric, query: Query) -> Matrix:
    """(d,) features of a region of a case; cached, because every mark needs them again."""
    known = loaded.cache.or_made(_Regions, _Regions)
    if query not in known:
        features = _measure(loaded, query, loaded.feature_set)[0]
        if len(known) == _MAX_CACHED:
            known.clear()
        known[query] = features
    return known[query]


def _is_unmeasured(loaded: LoadedMetric, case: str) -> bool:
    """Whether the case has an image that is not measured yet while its library is being prepared."""
    row = loaded.cases.row_of(case)
    if loaded.position_of(row) is not None:
        return False
    details = loaded.details([row]).get(row)
    if details is None or details.address is None:
        return False
    feature_set = loaded.feature_set
    if (
        imported_sets(feature_set.name, feature_set.extractor, feature_set.settings)
        or not stored_extractor(feature_set.extractor).needs_image
    ):
        return False
    return case not in dict(loaded.library.features.failures(loaded.feature_set))


class _Regions(dict[Query, Matrix]):
    """(d,) features of regions of cases."""


@dataclass(frozen=True, eq=False)
class _OutsideImage:
    """An image from outside: its features (d,), its file and its identity."""

    features: Matrix
    embedded: EmbeddedQuery


class _OutsideImages(dict[object, _OutsideImage]):
    """The last images from outside, by query and file."""


def _outside_image(loaded: LoadedMetric, query: Query) -> _OutsideImage:
    """Cached as long as the file stays the same, because every mark needs it again."""
    assert query.image is not None
    known = loaded.cache.or_made(_OutsideImages, _OutsideImages)
    key = (query, file_stamp(query.image))
    if key not in known:
        features, image = _measure(loaded, query, loaded.feature_set)
        assert image is not None
        vector, tie = _embed(loaded, features)
        identity = identify_image(loaded, query.image, image, EmbeddedQuery(vector, tie))
        embedded = EmbeddedQuery(
            vector, tie, same_patient=identity.same_patient, copies=identity.near_duplicates
        )
        if len(known) == _MAX_CACHED:
            known.clear()
        known[key] = _OutsideImage(features, embedded)
    return known[key]


def file_stamp(file: Path | None) -> tuple[int, int] | None:
    """Size and time of the last change of ``file``; ``None`` for no file or a missing one."""
    if file is None:
        return None
    try:
        facts = file.stat()
    except OSError:
        # Opening it raises the error.
        return None
    return facts.st_size, facts.st_mtime_ns


def _embed(loaded: LoadedMetric, features: Matrix) -> tuple[Matrix, Matrix | None]:
    rows = features[np.newaxis]
    tie = loaded.metric.tie_break(rows)
    return loaded.metric.coordinates(rows)[0], None if tie is None else tie[0]


def extractor_of(feature_set: FeatureSet) -> Extractor:
    """The extractor that made ``feature_set``.

    Raises:
        SemblanceError: that was another version of it, or its file is missing.
    """
    extractor = stored_extractor(feature_set.extractor, feature_set.package)(**feature_set.extractor_settings)
    if extractor.version != feature_set.version:
        raise SemblanceError(
            tr_lazy(
                "The features '{feature_set}' were made by another version of {title}.",
                feature_set=feature_set.name,
                title=extractor.title,
            ),
            "Extract them again, then train again.",
        )
    return extractor


def _measure(loaded: LoadedMetric, query: Query, feature_set: FeatureSet) -> tuple[Matrix, Image | None]:
    """(d,) features measured on the query's image or region, and the image if it is from outside."""
    if query.image is not None and query.vector is not None and feature_set.id == loaded.feature_set.id:
        with ImageReader() as reader:
            return given_vector(loaded, query), reader.open(ImageAddress(query.image), query.region)
    if query.case is None and query.image is None:
        raise BadInput("A vector has no image that could be measured.", "Search with the image too.")
    imported = imported_sets(feature_set.name, feature_set.extractor, feature_set.settings)
    if imported:
        raise cannot_measure(imported[0])
    extractor = extractor_of(feature_set)
    case = None
    if query.case is not None:
        details = loaded.library.catalogue.details([loaded.cases.row_of(query.case)])
        case = next(iter(details.values()))
        if case.address is None:
            raise BadInput(
                tr_lazy("The case {case} has no image.", case=query.case),
                "Search with the whole case instead.",
            )
        address, shown = case.address, case.region
    else:
        assert query.image is not None
        if extractor.needs_table:
            raise BadInput(
                tr_lazy(
                    "An image cannot be compared by '{feature_set}': these are a table's own columns.",
                    feature_set=feature_set.name,
                ),
                "Search with --case, or choose a metric on image features.",
            )
        address, shown = ImageAddress(query.image), None
    region = query.region or shown
    with ImageReader() as reader:
        if extractor.volumes and reader.is_stack(address):
            if region is not None and region.z is None and shown is not None:
                # A region without a slice is on the slice shown by default.
                region = replace(region, z=shown.middle_slice)
            with reader.stack(address) as stack:
                prepared = extractor.prepare_stack(stack, region)
                image = stack.image(stack.middle(region)) if case is None else None
            numbers = extractor.measure([prepared])[0]
        else:
            image = reader.open(address, region)
            numbers = extractor.extract(image, region)
    if case is not None:
        return extractor.with_attributes(numbers, case.attributes), image
    assert image is not None
    numbers = extractor.with_attributes(numbers, image.attributes)
    if np.isnan(numbers).all():
        raise BadInput(
            tr_lazy(
                "{image} has none of the columns of '{feature_set}'.",
                image=image.name,
                feature_set=feature_set.name,
            ),
            "Search with --case, or choose a metric on image features.",
        )
    return numbers, image


def _remedy(loaded: LoadedMetric, row: int, feature_set: FeatureSet) -> str:
    """What the user can do about a case, given by its row id, that has no features in ``feature_set``."""
    library = loaded.library
    sets = {one.id for one in library.features.all() if row in library.features.read(one, np.array([row]))[0]}
    metrics = [record.name for record in library.metrics() if record.feature_set in sets]
    if metrics:
        return tr_lazy("Choose a metric on features that it has: {metrics}.", metrics=", ".join(metrics))
    if imported_sets(feature_set.name, feature_set.extractor, feature_set.settings):
        return tr_lazy(
            "Its features were not in the file that was imported: import a file that has them, or give --vector FILE."
        )
    return tr_lazy(
        "Extract them: semblance features LIB --extractor {extractor}.", extractor=feature_set.extractor
    )


def case_features(loaded: LoadedMetric, case: str, feature_set: FeatureSet) -> Matrix:
    """(d,) features of a case in ``feature_set`` as extracted, float64.

    Raises:
        BadInput: no such case, or no features for it.
    """
    found: Matrix = features_of_cases(loaded, [case], feature_set)[0]
    return found


def features_of_cases(loaded: LoadedMetric, cases: Sequence[str], feature_set: FeatureSet) -> Matrix:
    """(n, d) features of some ``cases`` in ``feature_set`` as extracted, float64, read at once.

    Raises:
        BadInput: no such case, or no features for it.
    """
    rows = [loaded.cases.row_of(case) for case in cases]
    ids, values = loaded.library.features.read(feature_set, np.array(rows, dtype=np.int64))
    for case in (case for case, row in zip(cases, rows, strict=True) if row not in ids):
        raise BadInput(
            tr_lazy(
                "The case {case} has no numbers in the feature set '{feature_set}'.",
                case=case,
                feature_set=feature_set.name,
            ),
            _remedy(loaded, loaded.cases.row_of(case), feature_set),
        )
    found: Matrix = values[np.searchsorted(ids, rows)].astype(np.float64)
    return found


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
        own |= set(map(CaseRow, cases_of_file(loaded.library.catalogue, content_hash_of_stream(file))))
    copies: set[CaseRow] = set()
    encoded = thumbnail(image)
    compared = ComparableImage(encoded)
    found = outlines(compared)
    # A uniform image has the pixels of many others, and no outline.
    if len(found):
        equal, copies = _cases_by_pixels(loaded, image, encoded)
        own |= equal
        copies |= _cases_by_detail(loaded, compared, found, embedded)
    patients = {patient for row in own if (patient := loaded.cases.patient_of(row))}
    own |= loaded.cases.rows_of_patients(patients) - other_patients
    same_patient = loaded.positions_of(own)
    near = loaded.positions_of(copies)
    # A copy of a case belongs to the lesion of the case.
    near |= set(map(Position, np.flatnonzero(np.isin(loaded.keys, loaded.keys[sorted(near)])).tolist()))
    near_duplicates = near - same_patient
    return QueryIdentity(_sorted(same_patient), _sorted(near_duplicates))


def _sorted(places: set[Position]) -> Rows:
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


def _cases_by_header(loaded: LoadedMetric, path: Path) -> tuple[set[CaseRow], set[CaseRow]]:
    """Row ids of the cases of the file's patient or study, and of cases with an equal patient id of another issuer,
    in sources imported with and without ids."""
    catalogue, keys = loaded.library.catalogue, _keys_of_file(path)
    pseudonyms = known_pseudonyms(catalogue)
    own: set[CaseRow] = set()
    others: set[CaseRow] = set()
    for named in (keys, keys.replaced(pseudonyms)) if pseudonyms is not None else (keys,):
        rows = loaded.cases.rows_of_patients({named.patient})
        others |= set(map(CaseRow, cases_of_other_issuers(catalogue, rows, named.issuer)))
        own |= rows | set(map(CaseRow, cases_of_study(catalogue, named)))
    return own - others, others


def _cases_by_pixels(loaded: LoadedMetric, image: Image, encoded: bytes) -> tuple[set[CaseRow], set[CaseRow]]:
    """Row ids of the cases that show exactly the pixels of ``image``, and of others with an equal thumbnail."""
    rows = loaded.cases.rows_of_contents(loaded.library.thumbnails.contents_of(encoded))
    details = loaded.library.catalogue.details(sorted(rows))
    by_address: dict[str, set[CaseRow]] = {}
    for row, case in details.items():
        by_address.setdefault(str(case.address), set()).add(CaseRow(row))
    equal: set[CaseRow] = set()
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
    loaded: LoadedMetric, query: ComparableImage, found: Pixels, embedded: EmbeddedQuery
) -> set[CaseRow]:
    """Row ids of the cases whose image is that of the query saved again, windowed, mirrored, annotated or cropped."""
    near = loaded.search_index().search(embedded.embedded, _BY_METRIC, tie_query=embedded.tie_break)
    by_metric = {int(row) for row in loaded.rows[near.rows]}
    rows = by_metric | loaded.cases.rows_of_contents(_close_in_outline(loaded, found))
    details = loaded.details(sorted(rows))
    thumbnails = loaded.library.thumbnails.get(sorted({case.content for case in details.values()}))
    copies: set[CaseRow] = set()
    for row, case in details.items():
        encoded = thumbnails.get(case.content)
        if case.address is None or encoded is None:
            continue
        try:
            other = ComparableImage(encoded)
        except (OSError, ValueError):
            # A damaged thumbnail is made again when it is shown; until then its case is compared with no other.
            continue
        if is_same_image(query, other, parts=row in by_metric and case.region is None):
            copies.add(CaseRow(row))
    return copies


def _close_in_outline(loaded: LoadedMetric, found: Pixels) -> list[str]:
    """The contents of the images that are closest in outline (1 or 2, 144), in any mirrored form."""
    stored = loaded.cache.or_made(_Outlines, lambda: _Outlines.of(loaded))
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

    @classmethod
    def of(cls, loaded: LoadedMetric) -> _Outlines:
        """Those of all images that have outlines."""
        known = {key: value for key, value in loaded.library.thumbnails.outlines().items() if value}
        values = np.frombuffer(b"".join(known.values()), dtype=np.float16).reshape(-1, OUTLINE_NUMBERS)
        several = {
            content: len(value) // (OUTLINE_NUMBERS * values.itemsize) for content, value in known.items()
        }
        contents = [content for content, count in several.items() for _ in range(count)]
        return cls(contents, values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


def save_pasted_image(
    library: LibraryLocation, pixels: npt.NDArray[np.uint8], *, reporter: Reporter = SILENT
) -> Path:
    """:func:`write_query_image` into the library's lasting folder, for a search that may be saved."""
    return write_query_image(lasting_folder(library) / PASTED, pixels)


def write_query_image(folder: Path, pixels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]) -> Path:
    """Write ``pixels``, (h, w) grey or (h, w, 3) RGB, as a PNG into ``folder``; returns its path.

    The name is made of the content: writing the same image again gives the same file.

    Raises:
        BadInput: no pixels, or more than an image may have.
        SemblanceError: the folder cannot be written to.
    """
    from PIL import Image

    height, width = pixels.shape[:2]
    if not 0 < height * width <= MAX_PIXELS:
        raise BadInput(
            tr_lazy("The image has {width:,} x {height:,} pixels.", width=width, height=height),
            "Search with a smaller part of it.",
        )
    digest = hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest()[:16]
    path = folder / f"pasted-{digest}.png"
    if not path.exists():
        written = io.BytesIO()
        Image.fromarray(pixels).save(written, "PNG", compress_level=1)
        make_folder(folder)
        write_file(path, written.getvalue())
    return path
