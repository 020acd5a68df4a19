from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semblance.app.widgets.cards.case_model import CaseModel, distance_text
from semblance.core.library.case_columns import case_columns


@pytest.fixture
def model() -> CaseModel:
    findings, patients = ["benign", None, "malignant"], ["P1", None, "P1"]
    columns = case_columns([10, 20, 30], ["a", "b", "c"], findings, patients, [0] * 3)
    return CaseModel(columns, np.array([2, 0]), np.array([0.2, 0.4]), full_distance=0.5)


def test_places_and_catalogue_rows_lead_to_each_other(model: CaseModel) -> None:
    assert [model.case_row(place) for place in (0, 1)] == [30, 10]
    assert [model.position_of(row) for row in (30, 10, 20, 99)] == [0, 1, -1, -1]


def test_bars_are_shares_of_the_full_distance(model: CaseModel) -> None:
    assert [model.share(place) for place in (0, 1)] == pytest.approx([0.4, 0.8])


def test_a_case_in_words(model: CaseModel) -> None:
    assert model.describe(0) == "rank 1, c, malignant, patient P1, distance 0.200"
    assert CaseModel(model.columns, np.array([1])).describe(0) == "b, finding not given"


def test_hidden_characters_of_names_are_spelled_out() -> None:
    name = "cas\u202eeno\nx"
    columns = case_columns([10], [name], [name], [name], [0])
    assert CaseModel(columns, np.array([0])).describe(0).count(r"cas\u202eeno\nx") == 3


def test_very_small_distances_differ(model: CaseModel) -> None:
    close = replace(model, distances=np.linspace(0.00121, 0.00128, len(model)))
    texts = [close.distance_text(place) for place in range(len(close))]
    assert len(set(texts)) == len(close)
    assert texts[0] == "0.0012"
    assert close.describe(0).endswith("distance 0.0012")
    assert len(close.longest_distance) == len("0.0012")


def test_they_differ_in_german_too(model: CaseModel, german: None) -> None:
    close = replace(model, distances=np.linspace(0.00121, 0.00128, len(model)))
    assert close.distance_text(0) == "0,0012"


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (0.0, "0.000"),
        (0.2134, "0.213"),
        (12.3456, "12.346"),
        (1234.5, "1234"),
        (0.00012, "1.20e-04"),
        (2.5e7, "2.50e+07"),
    ],
)
def test_distances_have_as_many_figures_as_they_need(distance: float, text: str) -> None:
    assert distance_text(distance) == text
