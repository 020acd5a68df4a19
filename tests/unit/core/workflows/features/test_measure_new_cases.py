"""Cases that were added get the numbers that the cases before them have."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments
from semblance.core.features.places import PLACES
from semblance.core.library.open_library import open_library
from semblance.core.library.schema import feature_chunks, feature_sets
from semblance.core.workflows.features import measure_new_cases as module
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.measure_new_cases import measure_new_cases, measure_places
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.images import striped_folder
from tests.helpers.tables import table_library


def test_only_the_cases_that_lack_numbers_are_measured_with_the_same_settings(tmp_path, monkeypatch):
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "first", n=6), library)
    extract_features(library, "pixels", settings={"size": 12}, name="mine")
    import_source(striped_folder(tmp_path / "second", n=4, seed=5), library)
    measure_new_cases(library, "mine")
    with open_library(library) as opened:
        (feature_set,) = opened.features.all()
        assert (len(feature_set.columns), len(opened.features.cases_of(feature_set))) == (144, 10)
    monkeypatch.setattr(module, "extract_features", lambda *_args, **_options: pytest.fail("measured again"))
    measure_new_cases(library, "mine")


def test_an_unknown_feature_set_is_refused(tmp_path):
    with pytest.raises(BadArguments, match="nothing"):
        measure_new_cases(table_library(tmp_path / "lib"), "nothing")


def test_places_are_measured_with_the_encoder_that_the_library_has(tmp_path, monkeypatch):
    """As for a library made before there were places; one without an encoder gets the shipped one."""
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "images", n=4), library)
    extract_features(library, "pixels")
    made = []
    monkeypatch.setattr(
        module, "extract_features", lambda *given, **more: made.append((given[1], more.get("name")))
    )
    measure_places(library)
    monkeypatch.undo()
    extract_features(library, "encoder", settings={"weights": "random"}, name="mine", workers=1)
    with open_library(library) as opened:
        (places,) = [one for one in opened.features.every() if one.part == PLACES]
        # A library of before had none.
        with opened.catalogue.transaction() as connection:
            connection.execute(feature_chunks.delete().where(feature_chunks.c.feature_set == places.id))
            connection.execute(feature_sets.delete().where(feature_sets.c.id == places.id))
    assert not read_snapshot(library).has_places
    measure_places(library, workers=1)
    assert read_snapshot(library).has_places
    with open_library(library) as opened:
        assert {one.extractor for one in opened.features.every()} == {"pixels", "encoder"}
        assert [one.name for one in opened.features.all() if not one.part] == ["pixels", "mine"]
    assert made == [("encoder", None)]
