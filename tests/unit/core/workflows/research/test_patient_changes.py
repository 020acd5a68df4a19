"""Changes of patients: which images are compared, and that changes of one direction are alike."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.workflows.research.patient_changes import (
    combined_scores,
    patient_changes,
    place_differences,
    similar_changes,
)
from tests.helpers.libraries import numbers_set

#: Patient, date, view, numbers.
_CASES = (
    ("A", "2020-01-01", "PA", (1.0, 0.0, 0.1)),
    ("A", "2020-03-01", "PA", (1.0, 0.5, 0.1)),
    ("A", "2020-03-01", "LAT", (0.3, 0.3, 0.3)),
    ("B", "2019-05-01", "PA", (0.9, 0.1, 0.3)),
    ("B", "2020-05-01", "PA", (0.9, 0.7, 0.3)),
    ("C", "2021-01-01", "PA", (1.0, 0.1, 0.0)),
    ("C", "2021-01-11", "PA", (1.0, 0.1, 0.6)),
    ("D", "2021-01-01", "PA", (1.0, 0.1, 0.0)),
    ("D", "2021-01-01", "PA", (1.0, 0.1, 0.6)),
    ("", "2021-02-01", "PA", (1.0, 0.1, 0.6)),
)


@pytest.fixture
def library(tmp_path):
    folder = tmp_path / "l"
    with Library.create(folder) as made:
        source = made.catalogue.add_source("folder", "s", tmp_path / "images")
        made.catalogue.put(
            source,
            [FileRecord(f"{n}.png", 100, n, f"h{n}", "ok") for n in range(len(_CASES))],
            [
                CaseRecord(
                    f"s/{n}",
                    f"{n}.png",
                    finding="f",
                    patient=patient or None,
                    attributes={"view": view, "date": date},
                    width=10,
                    height=10,
                    content=f"c{n}",
                )
                for n, (patient, date, view, _) in enumerate(_CASES)
            ],
        )
        values = np.array([one[3] for one in _CASES], dtype=np.float32)
        made.features.write_chunk(numbers_set(made), made.catalogue.case_rows(), values)
    return folder


def test_dated_images_of_one_kind_that_follow_each_other_are_changes(library):
    found = patient_changes(library)
    assert [(one.patient[-1:], one.prior, one.current, one.days) for one in found] == [
        ("A", "s/0", "s/1", 60),
        ("B", "s/3", "s/4", 366),
        ("C", "s/5", "s/6", 10),
    ]


def test_the_change_of_the_same_direction_comes_first(library):
    found = similar_changes(library, "s/1")
    assert [one.change.current for one in found] == ["s/4", "s/6"]
    assert found[0].whole > 0.9 > found[1].whole
    assert found[0].places is None
    with pytest.raises(BadInput, match="no earlier image"):
        similar_changes(library, "s/0")


def test_the_places_that_changed_are_found_although_the_patient_lies_differently():
    prior = np.random.default_rng(0).normal(size=(14, 14, 8)).astype(np.float32)
    current = np.roll(prior, 1, axis=0)
    current[0] = prior[0]
    change = np.array([0, 0, 9, 0, 0, 0, 0, 0], dtype=np.float32)
    current[4:6, 5:8] += change
    found = place_differences(prior, current)
    assert found @ change / (np.linalg.norm(found) * np.linalg.norm(change)) > 0.9
    assert np.abs(place_differences(prior, prior)).max() == 0.0


def test_changes_without_places_are_ordered_by_the_whole():
    whole = np.array([1.0, 0.8, 0.2, 0.5], dtype=np.float32)
    places = np.array([1.0, np.nan, 0.1, 0.9], dtype=np.float32)
    others = np.array([False, True, True, True])
    assert (np.argsort(-combined_scores(whole, None, others)[1:]) == [0, 2, 1]).all()
    assert np.isfinite(combined_scores(whole, places, others)).all()
