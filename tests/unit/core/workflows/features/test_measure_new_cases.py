"""Cases that were added get the numbers that the cases before them have."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features import measure_new_cases as module
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.measure_new_cases import measure_new_cases
from semblance.core.workflows.library.import_source import import_source
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
