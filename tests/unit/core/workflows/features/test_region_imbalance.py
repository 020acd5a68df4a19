"""Findings that are separated by having a region or none."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.library.library import Library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.region_imbalance import region_imbalance_warning
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder
from tests.helpers.libraries import raw
from tests.helpers.tables import table_library

REGION = '{"kind": "rectangle", "x": 2, "y": 2, "width": 12, "height": 12}'


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "lib.semblance"
    import_source(striped_folder(tmp_path / "images", n=24), path)
    extract_features(path, "colour_edge_texture")
    return path


def outline(library, finding: str) -> None:
    """Give every case of ``finding`` a region, or all cases with ``%``."""
    with raw(library) as connection:
        connection.execute("UPDATE cases SET region=? WHERE finding LIKE ?", (REGION, finding))


def imbalance_text(path) -> str:
    with Library.open(path, writable=False) as opened:
        cases = opened.catalogue.all_cases()
        rows = np.array([row.id for row in cases])
        return region_imbalance_warning(
            opened, opened.features.all()[0], rows, [row.finding for row in cases]
        )


def test_regions_of_one_finding_only_are_warned_of_and_the_card_says_so(library):
    with Library.open(library, writable=False) as opened:
        first, second = sorted({row.finding for row in opened.catalogue.all_cases()})[:2]
    outline(library, first)
    assert f"Most cases of '{first}' are measured in a region, most cases of '{second}'" in imbalance_text(
        library
    )
    result = train_metric(library, TrainRequest("euclidean", "plain"))
    assert "scores may be too high" in result.warning
    with Library.open(library, writable=False) as opened:
        assert result.warning in opened.metric("plain").card["notes"]


@pytest.mark.parametrize("regions", [None, "%"], ids=["none", "all"])
def test_equal_extraction_reports_no_imbalance(library, regions):
    if regions:
        outline(library, regions)
    assert imbalance_text(library) == ""
    assert train_metric(library, TrainRequest("euclidean", "plain")).warning == ""


def test_a_table_has_no_regions(tmp_path):
    assert imbalance_text(table_library(tmp_path)) == ""
