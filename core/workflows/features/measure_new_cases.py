"""Measure the cases that were added to a library with the extractor that a metric needs."""

from __future__ import annotations

from semblance.core.features.fusion import Fusion, fused_sets
from semblance.core.features.registry import extractor_class
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.fuse_features import fused_features


def measure_new_cases(
    library: LibraryLocation, features: str, *, workers: int | None = None, reporter: Reporter = SILENT
) -> None:
    """Measure the cases that lack the feature set ``features``; for a fused set also those that lack the sets it
    combines.

    Raises:
        BadArguments: no such feature set, or the set or one it is made of was made by another version.
        SemblanceError: the extractor cannot run, or the library cannot be written to.
    """
    with open_library(library) as opened:
        feature_set = opened.features.get(features)
        is_fused = feature_set.extractor == Fusion.name
        names = [one.name for one in fused_sets(feature_set.settings)] if is_fused else [features]
        sets = [opened.features.get(name) for name in names]
        lacking = []
        for one in sets:
            # What belongs to another set is measured in its pass.
            whole, parts = opened.features.whole(one), [one.part] if one.part else []
            images = extractor_class(one.extractor).measures_images()
            rows = opened.features.cases_to_extract(whole, images=images, parts=parts)
            if len(rows) and whole not in lacking:
                lacking.append(whole)
    for one in lacking:
        extract_features(
            library, one.extractor, settings=one.settings, name=one.name, workers=workers, reporter=reporter
        )
    if is_fused:
        fused_features(library, features, reporter)
