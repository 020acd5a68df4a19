"""Combine several feature sets of a library into one, for a metric that uses all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.errors import BadArguments
from semblance.core.features.fusion import FusedSet, Fusion, fusion_settings
from semblance.core.features.registry import stored_extractor
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CHUNK, FeatureSet
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library


def can_be_fused(extractor: str) -> bool:
    """Whether sets of this extractor have one row of numbers for each case and can be combined with others.

    Raises:
        BadArguments: no such extractor.
    """
    made_by = stored_extractor(extractor)
    return made_by.local is None and not made_by.needs_table and made_by is not Fusion


def fused_features(library: LibraryLocation, features: str | None, reporter: Reporter = SILENT) -> str | None:
    """``features`` itself if it names one set or none; for ``a,b`` the name of their fused set, after updating it.

    Raises:
        BadArguments: a set that does not exist, is named twice or cannot be fused.
    """
    if features is None or "," not in features:
        return features
    with open_library(library, writable=True) as opened:
        if any(one.name == features and one.extractor != Fusion.name for one in opened.features.all()):
            return features
        names = [name.strip() for name in features.split(",")]
        return _fuse(opened, names, reporter).name


def _fuse(library: Library, names: Sequence[str], reporter: Reporter) -> FeatureSet:
    sets = [library.features.get(name) for name in names]
    for number, one in enumerate(sets):
        if one.name in names[:number]:
            raise BadArguments(
                tr_lazy("The feature set '{name}' is named twice.", name=one.name), "Name each set once."
            )
        if not can_be_fused(one.extractor):
            raise BadArguments(
                tr_lazy("The feature set '{name}' cannot be fused with others.", name=one.name),
                "Fuse sets that give each image one row of numbers, such as encoder and mass.",
            )
    settings = fusion_settings(
        [
            FusedSet(one.name, one.extractor, one.version, len(one.columns), one.extractor_settings)
            for one in sets
        ]
    )
    made = Fusion(**settings)
    fused = library.features.make(
        ",".join(names),
        made.name,
        made.version,
        made.settings,
        [(feature.name, feature.group) for feature in made.feature_names],
        dtype="float32",
    )
    _fill(library, fused, sets, reporter)
    return fused


def _fill(library: Library, fused: FeatureSet, sets: Sequence[FeatureSet], reporter: Reporter) -> None:
    """Copy the features of the cases that all ``sets`` have and ``fused`` lacks."""
    missing_rows = library.features.cases_to_extract(fused, images=True)
    for one in sets:
        missing_rows = np.intersect1d(missing_rows, library.features.cases_of(one))
    for start in range(0, len(missing_rows), CHUNK):
        reporter.check_cancelled()
        reporter.progress(start, len(missing_rows), tr_lazy("Fusing {feature_set}", feature_set=fused.name))
        rows = missing_rows[start : start + CHUNK]
        details = library.catalogue.details(rows.tolist())
        parts = []
        for one in sets:
            found, values = library.features.read(one, rows)
            place = {row: number for number, row in enumerate(found.tolist())}
            parts.append(values[[place[row] for row in rows.tolist()]])
        contents = [details[row].content for row in rows.tolist()]
        library.features.write_chunk(fused, rows, np.concatenate(parts, axis=1), (), contents)
