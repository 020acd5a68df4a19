"""Queries with a region of a volume: the same numbers as when the library was extracted."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.colon_phantoms import SIDE, write_study
from tests.helpers.dicom_files import ct_slice, encoded


@pytest.fixture(scope="module")
def colon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colon")
    write_study(folder / "study", 2, seed=4)
    import_source(folder / "study", folder / "lib")
    extract_features(folder / "lib", "polyp", workers=1)
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder


def ranked(library, query):
    return [
        (one.case_id, pytest.approx(one.distance))
        for one in nearest_cases(library, "plain", query, k=8).ranked
    ]


def test_a_region_of_a_case_or_file_is_measured_in_the_volume(colon):
    with open_library(colon / "lib") as opened:
        rows = [row.id for row in opened.catalogue.all_cases()]
        case = opened.catalogue.details(rows)[rows[3]]
    region = case.region
    assert region.z is not None
    whole = ranked(colon / "lib", Query(case.case_id))
    assert whole
    assert ranked(colon / "lib", Query(case.case_id, region=region)) == whole
    # Drawn on the slice that is shown, without saying which.
    middle = Region(region.x + region.width // 2, region.y + region.height // 2, 1, 1)
    assert ranked(colon / "lib", Query(case.case_id, region=middle)) == whole


def test_a_region_of_a_file_is_measured_in_its_volume(colon, tmp_path):
    with open_library(colon / "lib") as opened:
        rows = [row.id for row in opened.catalogue.all_cases()]
        case = opened.catalogue.details(rows)[rows[0]]
    region = case.region
    with ImageReader() as reader, reader.stack(case.address) as stack:
        voxels = stack.volume().voxels
    dataset = ct_slice(voxels, SpacingBetweenSlices=1.0)
    dataset.RescaleIntercept, dataset.PixelSpacing = 0, [1, 1]
    del dataset.ImagePositionPatient
    file = tmp_path / "scan.dcm"
    file.write_bytes(encoded(dataset))
    query = Query(image=file, region=region)
    found = nearest_cases(colon / "lib", "plain", query, k=3, hide_same_patient=False)
    # The very candidate is in the library: it is recognised as a copy, and the others are as far from it.
    assert found.near_duplicates == 1
    of_case = nearest_cases(colon / "lib", "plain", Query(case.case_id), k=3, hide_same_patient=False)
    assert [(one.case_id, pytest.approx(one.distance)) for one in of_case.ranked] == [
        (one.case_id, one.distance) for one in found.ranked
    ]
    with pytest.raises(BadInput, match="wall"):
        nearest_cases(colon / "lib", "plain", Query(image=file, region=Region(23, 23, 1, 1, None, SIDE // 2)))
