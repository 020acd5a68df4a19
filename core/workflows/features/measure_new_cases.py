"""Measure what cases lack: those that were added to a library, with the extractor that a metric needs; places."""

from __future__ import annotations

from semblance.core.features.fusion import Fusion, fused_sets, imported_sets
from semblance.core.features.places import PLACES
from semblance.core.features.registry import AbsentExtractor, stored_extractor
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.extract_features import ExtractResult, extract_features
from semblance.core.workflows.features.fuse_features import fused_features
from semblance.core.workflows.features.suitable_extractors import OF_IMAGES


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
        # Nothing here can measure imported features: their cases come with another file.
        for one in (one for one in sets if stored_extractor(one.extractor).can_measure):
            # What belongs to another set is measured in its pass.
            whole, parts = opened.features.whole(one), [one.part] if one.part else []
            images = stored_extractor(one.extractor).measures_images()
            rows = opened.features.cases_to_extract(whole, images=images, parts=parts)
            if len(rows) and whole not in lacking:
                lacking.append(whole)
    for one in lacking:
        settings = one.extractor_settings
        # It says what is missing.
        stored_extractor(one.extractor, one.package)(**settings)
        extract_features(
            library, one.extractor, settings=settings, name=one.name, workers=workers, reporter=reporter
        )
    if is_fused:
        fused_features(library, features, reporter)


def measure_places(
    library: LibraryLocation, *, workers: int | None = None, reporter: Reporter = SILENT
) -> ExtractResult:
    """Describe the places of all images of ``library`` that have none yet, in the pass of the first feature set whose
    encoder gives some; that of the shipped one is made if there is none.

    Raises:
        BadArguments: the feature set was made by another version.
        SemblanceError: the encoder cannot run, or the library cannot be written to.
    """
    with open_library(library) as opened:
        own = [one for one in opened.features.all() if not one.part]
    for one in own:
        made_by = stored_extractor(one.extractor)
        if issubclass(made_by, AbsentExtractor) or imported_sets(one.name, one.extractor, one.settings):
            continue
        if PLACES in made_by(**one.extractor_settings).parts:
            return extract_features(
                library,
                one.extractor,
                settings=one.extractor_settings,
                name=one.name,
                workers=workers,
                reporter=reporter,
            )
    return extract_features(library, OF_IMAGES, workers=workers, reporter=reporter)
