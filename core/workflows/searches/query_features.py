"""The features of a query: read for a case of the library, measured on an image from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.features.fusion import clinical_columns
from semblance.core.features.registry import extractor_class, make_extractor
from semblance.core.imaging import Image, ImageAddress, ImageReader
from semblance.core.language import tr_lazy
from semblance.core.library.records import FeatureSet
from semblance.core.metrics.distance import Matrix
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.query_identity import identify_image

#: Keys of images from outside and of regions of cases in the cache of a loaded metric, and their number.
_OUTSIDE, _REGIONS, _MAX_CACHED = "outside images", "regions", 64


def embed_query(loaded: LoadedMetric, query: Query) -> EmbeddedQuery:
    """The query in the metric's coordinates, with its patient and its copies among the cases.

    Raises:
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    check_not_sealed(loaded, query)
    if query.case is None:
        return _outside_image(loaded, query).embedded
    row = loaded.cases.row_of(query.case)
    place = loaded.place_of(row)
    if query.region is None and place is not None:
        return loaded.case_query(place)
    vector, tie = _embed(loaded, query_features(loaded, query))
    return EmbeddedQuery(vector, tie, place, loaded.query_patient(row), loaded.cases.lesion_of(row))


def query_features(loaded: LoadedMetric, query: Query) -> Matrix:
    """(d,) features of the query as extracted, float64.

    Raises:
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    check_not_sealed(loaded, query)
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
    known: dict[Query, Matrix] = loaded.cache.setdefault(_REGIONS, {})
    if query not in known:
        features = _measure(loaded, query, loaded.feature_set)[0]
        if len(known) == _MAX_CACHED:
            known.clear()
        known[query] = features
    return known[query]


def _is_unmeasured(loaded: LoadedMetric, case: str) -> bool:
    """Whether the case has an image that is not measured yet while its library is being prepared."""
    row = loaded.cases.row_of(case)
    if loaded.place_of(row) is not None:
        return False
    details = loaded.details([row]).get(row)
    if details is None or details.address is None:
        return False
    if not extractor_class(loaded.feature_set.extractor).needs_image:
        return False
    return case not in dict(loaded.library.features.failures(loaded.feature_set))


@dataclass(frozen=True, eq=False)
class _OutsideImage:
    """An image from outside: its features (d,), its file and its identity."""

    features: Matrix
    embedded: EmbeddedQuery


def _outside_image(loaded: LoadedMetric, query: Query) -> _OutsideImage:
    """Cached as long as the file stays the same, because every mark needs it again."""
    assert query.image is not None
    known: dict[object, _OutsideImage] = loaded.cache.setdefault(_OUTSIDE, {})
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


def _measure(loaded: LoadedMetric, query: Query, feature_set: FeatureSet) -> tuple[Matrix, Image | None]:
    """(d,) features measured on the query's image or region, and the image if it is from outside."""
    extractor = make_extractor(feature_set.extractor, **feature_set.settings)
    if extractor.version != feature_set.version:
        raise SemblanceError(
            tr_lazy(
                "The features '{feature_set}' were made by another version of {title}.",
                feature_set=feature_set.name,
                title=extractor.title,
            ),
            "Extract them again, then train again.",
        )
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
