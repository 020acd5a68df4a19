from __future__ import annotations

import numpy as np
import pytest

from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.suitable_extractors import extractor_suitabilities, suitable_extractors
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.dicom_files import image, save
from tests.helpers.images import striped_folder


def test_others_are_reported_with_their_reason_and_published(tmp_path):
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "in", n=4), library)
    with open_library(library) as opened:
        fits = extractor_suitabilities(opened, opened.catalogue.case_rows())
    assert [fit.name for fit in fits if fit.is_suitable] == suitable_extractors(library)
    assert fits[0].name == "encoder"
    assert {fit.name: fit.reason for fit in fits if not fit.is_suitable} == {
        "polyp": "no case is a volume",
        "fusion": "it is made by naming several feature sets where a metric is trained",
        "raw": "no case comes from a table",
        "clinical": "no case has columns such as age or sex",
    }
    assert read_snapshot(library).extractors == fits


def test_a_table_has_no_images(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,x\n3,4,y\n")
    import_source(tmp_path / "t.csv", tmp_path / "lib")
    with open_library(tmp_path / "lib") as opened:
        reasons = {
            fit.name: fit.reason for fit in extractor_suitabilities(opened, opened.catalogue.case_rows())
        }
    assert reasons.pop("raw") == ""
    assert reasons.pop("clinical") == "no case has columns such as age or sex"
    assert set(reasons.values()) == {"the cases are rows of a table"}


@pytest.mark.parametrize(
    ("modality", "refused"),
    [
        ("CT", {"mass": "the images are CT, and no region is marked in them"}),
        ("MG", {"lung_texture": "no image is CT"}),
        ("", {}),
    ],
)
def test_masses_are_not_sought_in_ct_and_lungs_in_nothing_else(tmp_path, modality, refused):
    rng = np.random.default_rng(0)
    for number in range(2):
        dataset = image(rng.integers(0, 4000, (32, 32)).astype(np.uint16))
        dataset.Modality, dataset.PatientID = modality, f"P{number}"
        save(dataset, tmp_path / "in" / f"{number}.dcm")
    import_source(tmp_path / "in", tmp_path / "lib")
    with open_library(tmp_path / "lib") as opened:
        reasons = {
            fit.name: fit.reason for fit in extractor_suitabilities(opened, opened.catalogue.case_rows())
        }
    assert {name: reasons[name] for name in ("mass", "lung_texture") if reasons[name]} == refused
