"""Clinical columns: which are used and which would give the finding or the patient away, and a metric on them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.fuse_features import fused_features
from semblance.core.workflows.features.measure_new_cases import measure_new_cases
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.metric_cards import metric_card
from semblance.core.workflows.searches.explain_distance import explain_distance
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.dicom_files import encoded, image
from tests.helpers.images import striped_folder

N = 60
BOTH = "colour_edge_texture,clinical"


def columns_of(rng, number, upright):
    """Columns of a case; those after ``site`` must not be used."""
    return {
        "age": f"{rng.integers(30, 80)}" if number % 7 else "",
        "sex": "F" if rng.random() < (0.8 if upright else 0.3) else "M",
        "site": ("north", "South", "east")[number % 3],
        "birads": str((4, 5)[number % 2] if upright else (2, 3)[number % 2]),
        "subtype": ("cyst", "ductal")[number % 2] if upright else ("lobular", "other")[number % 2],
        "diameter": f"{rng.random():.2f}" if upright else "",
        "score": f"{rng.random() + upright:.3f}",
        "serial": str(5000 + number),
        "remark": f"remark {number}",
        "patient_note": "seen",
        "scanner": "X",
    }


def folder_with_columns(folder, seed=0, n=N, **changed):
    striped_folder(folder, n=n, seed=seed)
    rng = np.random.default_rng(seed)
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    lines = [
        line | columns_of(rng, number, line["label"] == "upright") | changed
        for number, line in enumerate(lines)
    ]
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinical")
    import_source(folder_with_columns(folder / "images"), folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture", workers=1)
    extract_features(folder / "lib", "clinical")
    train_metric(folder / "lib", TrainRequest("euclidean", "both", features=BOTH))
    return folder


def rows_of(library, name="clinical"):
    with open_library(library) as opened:
        feature_set = opened.features.get(name)
        return feature_set, *opened.features.read(feature_set)


def test_only_columns_that_give_nothing_away_are_used(made, tmp_path):
    library = tmp_path / "lib"
    import_source(made / "images", library)
    result = extract_features(library, "clinical")
    feature_set, _, values = rows_of(library)
    assert [name for name, _ in feature_set.columns] == [
        "age",
        "sex: F",
        "sex: M",
        "site: east",
        "site: north",
        "site: South",
    ]
    assert feature_set.groups == ("age", "sex", "sex", "site", "site", "site")
    left_out = {one["column"]: one["reason"] for one in result.left_out}
    tells = "it separates the finding 'level' from all others, so it would reveal it"
    assert left_out == {
        "birads": tells,
        "subtype": tells,
        "diameter": tells,
        "score": tells,
        "serial": "it identifies patients",
        "remark": "it has 60 different texts, and at most 12 are allowed",
        "patient_note": "it identifies cases, is a text, or says how the library was made",
        "scanner": "it is the same for all cases",
    }
    unknown_age = np.isnan(values[:, 0])
    assert unknown_age.sum() == len(range(0, N, 7))
    assert not np.isnan(values[:, 1:]).any()
    np.testing.assert_array_equal(values[:, 1:3].sum(axis=1), 1.0)


def test_named_columns_are_checked_too(made, tmp_path):
    library = made / "lib"
    with pytest.raises(BadArguments, match="'birads' cannot be used: it separates the finding"):
        extract_features(library, "clinical", settings={"columns": "age, birads"}, name="other")
    with pytest.raises(BadArguments, match="No case has a column 'weight'"):
        extract_features(library, "clinical", settings={"columns": "weight"}, name="other")
    assert extract_features(library, "clinical", settings={"columns": "age"}, name="age").n_features == 1
    import_source(striped_folder(tmp_path / "plain", n=6), tmp_path / "lib")
    with pytest.raises(BadInput, match="no clinical columns"):
        extract_features(tmp_path / "lib", "clinical")


def test_the_columns_of_a_set_stay_when_cases_are_added_and_follow_changed_values(made, tmp_path):
    library, images = tmp_path / "lib", folder_with_columns(tmp_path / "images", n=20)
    import_source(images, library)
    for name in ("colour_edge_texture", "clinical"):
        extract_features(library, name, workers=1)
    fused_features(library, BOTH)
    folder_with_columns(tmp_path / "images", n=20, site="west")
    import_source(images, library)
    import_source(folder_with_columns(tmp_path / "more", seed=3, n=6), library)
    assert len(rows_of(library)[1]) == 0
    measure_new_cases(library, BOTH)
    feature_set, ids, values = rows_of(library)
    assert len(ids) == 26
    site = [place for place, group in enumerate(feature_set.groups) if group == "site"]
    assert (values[:20, site] == 0.0).all()
    assert (values[20:, site].sum(axis=1) == 1.0).all()
    _, fused_ids, fused = rows_of(library, BOTH)
    assert fused_ids.tolist() == ids.tolist()
    np.testing.assert_allclose(fused[:, 36:], values, rtol=1e-6)


def test_a_metric_on_image_and_columns_is_explained_per_column_and_says_so_on_its_card(made):
    library = made / "lib"
    document = metric_card(library, "both")
    facts = {fact.label: fact.value for section in document.sections for fact in section.facts}
    assert facts["Clinical columns"] == "age, sex, site"
    assert facts["Missing values"].endswith("filled with training medians")
    query = Query(case="images/level/p000.png")
    found = rank_cases(library, Search("both", query)).result
    why = explain_distance(library, Search("both", query), found.ranked[0].case_id)
    assert {"age", "sex", "site"} <= {part.name for part in why.groups}
    assert sum(part.amount for part in why.groups) == pytest.approx(found.ranked[0].distance)
    assert found.warnings == ()


def test_an_image_from_outside_has_only_what_its_header_says(made, tmp_path):
    library = made / "lib"
    plain = next((made / "images" / "level").glob("*.png"))
    outside = tmp_path / "outside.png"
    outside.write_bytes(plain.read_bytes() + b"\0")
    (warning,) = rank_cases(library, Search("both", Query(image=outside))).result.warnings
    assert warning.startswith("Not known for this image: age, sex, site.")
    dicom = tmp_path / "outside.dcm"
    pixels = np.random.default_rng(5).integers(0, 256, (48, 48), dtype=np.uint8)
    dicom.write_bytes(encoded(image(pixels, PatientAge="045Y", PatientSex="F")))
    (warning,) = rank_cases(library, Search("both", Query(image=dicom))).result.warnings
    assert warning.startswith("Not known for this image: site.")
