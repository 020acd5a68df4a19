from __future__ import annotations

import json

import numpy as np

from semblance.core.evaluation.shortcuts import stored_probes
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.feature_sets import FeatureSets
from semblance.core.library.library import Library
from semblance.core.workflows.metrics.score_metric import score_metric
from tests.helpers.libraries import raw
from tests.helpers.tables import PLAIN, table_library


def test_the_metric_is_probed_for_what_is_known_of_the_cases(tmp_path):
    """The scanner follows the finding, which the metric finds; the station is drawn by patient."""
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    with raw(library) as connection:
        for row, patient in connection.execute("SELECT id, patient FROM cases").fetchall():
            number = int(patient[1:])
            attributes = {"manufacturer": f"M{number % 2}", "station": f"S{number * 7919 % 5 % 2}"}
            region = json.dumps({"x": 0, "y": 0, "width": 10 * (number % 3 + 1), "height": 10})
            connection.execute(
                "UPDATE cases SET attributes = ?, region = ?, width = 100, height = 50 WHERE id = ?",
                (json.dumps(attributes), region, row),
            )
    scores = score_metric(library, "plain")
    probes = {one.attribute: one for one in stored_probes(scores)}
    assert set(probes) == {"manufacturer", "station", "crop_scale"}
    assert probes["manufacturer"].is_beyond_chance
    assert probes["manufacturer"].finding_accuracy == 1.0
    assert not probes["station"].is_beyond_chance
    assert probes["crop_scale"].groups == 3
    with Library.open(library) as opened:
        extent = next(iter(opened.catalogue.extents().values()))
    assert (extent.image_size, extent.crop_scale) == (5000.0, 0.02)


def test_cases_removed_meanwhile_are_left_out(tmp_path, monkeypatch):
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    expected = score_metric(library, "plain")["n_test"]
    read, extents = FeatureSets.read, Catalogue.extents

    def with_one_more(features, feature_set, case_rows=None):
        rows, numbers = read(features, feature_set, case_rows)
        return np.append(rows, 9999), np.vstack([numbers, numbers[:1]])

    monkeypatch.setattr(FeatureSets, "read", with_one_more)
    monkeypatch.setattr(Catalogue, "extents", lambda catalogue: dict(list(extents(catalogue).items())[1:]))
    assert score_metric(library, "plain")["n_test"] == expected


def test_files_that_state_no_burnt_in_text_are_a_group(tmp_path):
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    with raw(library) as connection:
        for row in range(1, 241):
            attributes = {"modality": "US"} | ({"burnt_in_text": "yes"} if row % 4 < 2 else {})
            connection.execute("UPDATE cases SET attributes = ? WHERE id = ?", (json.dumps(attributes), row))
    (probe,) = stored_probes(score_metric(library, "plain"))
    assert (probe.attribute, probe.groups) == ("burnt_in_text", 2)


def test_the_metric_is_probed_for_burnt_in_marks(tmp_path):
    """The marks follow the finding, which the metric finds; their number does not matter."""
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    with raw(library) as connection:
        for row, finding in connection.execute("SELECT id, finding FROM cases").fetchall():
            attributes = {"burnt_in_marks": str(1 + row % 9)} if finding == "kind 1" else {}
            connection.execute("UPDATE cases SET attributes = ? WHERE id = ?", (json.dumps(attributes), row))
    (probe,) = stored_probes(score_metric(library, "plain"))
    assert (probe.attribute, probe.groups, probe.is_beyond_chance) == ("burnt_in_marks", 2, True)
