"""What a report says of the nearest cases together."""

from __future__ import annotations

import math

import pytest

from semblance.core.imaging.region import Region
from semblance.core.metrics.card import MetricCard, Split
from semblance.core.reports.card_document import card_facts, score_text
from semblance.core.reports.document import leading_parts, relative_distance, waterfall
from semblance.core.reports.formatting import distance_text, region_text, signed_text, time_text
from tests.helpers.reports import report, row
from tests.helpers.reports import vote as make_vote


def test_the_estimate_names_the_prevalence_it_is_for():
    vote = make_vote(
        {"malignant": 7},
        "malignant",
        probability=0.128,
        interval=(0.05, 0.3),
        measured_on="held-out patients",
        prevalence=(0.1, 0.62),
    )
    assert report(vote=vote).estimate_text() == (
        "Estimate for malignant: 0.13 (0.05–0.30) for a prevalence of 10 % instead of the library's 62 %, "
        "from held-out patients."
    )


def test_leading_parts_sum_to_the_distance() -> None:
    parts = tuple((f"p{n}", (-1) ** n * 0.1 * n) for n in range(1, 10))
    distance = sum(amount for _, amount in parts)
    shown = leading_parts(row(1, parts=parts, distance=distance))
    assert len(shown) == 5
    assert shown[-1][0] == "5 others"
    assert sum(amount for _, amount in shown) == pytest.approx(distance)


def test_parts_outside_a_row_are_summed_as_others() -> None:
    assert leading_parts(row(1, parts=(("a", 0.25),), distance=1.0)) == [("a", 0.25), ("others", 0.75)]
    many = leading_parts(row(1, parts=tuple((f"p{n}", 0.1) for n in range(6)), distance=1.0))
    assert (len(many), many[-1][0]) == (5, "others")
    assert sum(amount for _, amount in many) == pytest.approx(1.0)


def test_waterfall_steps_join() -> None:
    steps = waterfall(row(1, parts=(("a", 0.4), ("b", -0.1), ("c", 0.2)), distance=0.5))
    assert [name for name, *_ in steps] == ["a", "c", "b"]
    assert steps[0][2] == 0
    assert steps[1][2] == pytest.approx(steps[0][3])
    assert max(left + width for _, _, left, width in steps) == pytest.approx(1.0)


def test_waterfall_without_contributions() -> None:
    assert waterfall(row(1, parts=())) == []
    assert waterfall(row(1, parts=(("a", 0.0),), distance=0.0)) == [("a", 0.0, 0.0, 0.0)]


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (0.0, "0.000"),
        (0.2134, "0.213"),
        (12.0, "12.000"),
        (123.4, "123"),
        (0.0001, "1.00e-04"),
        (1e6, "1.00e+06"),
    ],
)
def test_distances_have_three_figures(distance: float, text: str) -> None:
    assert distance_text(distance) == text
    assert signed_text(-distance) == (f"−{text}" if distance else f"+{text}")


def test_reach_is_a_share_of_the_farthest() -> None:
    rows = (row(1, distance=0.0), row(2, distance=0.5), row(3, distance=1.0))
    assert [relative_distance(ranked, rows) for ranked in rows] == [0.0, 0.5, 1.0]
    assert relative_distance(rows[0], rows[:1]) == 0.0


def test_moments() -> None:
    assert time_text("2026-03-01T14:05:59+00:00") == "2026-03-01 14:05 UTC"
    assert time_text("yesterday") == "yesterday"


def test_marks_follow_the_library_and_are_all_different() -> None:
    document = report(findings=("malignant", "benign", "maybe"), ranking=(row(1, finding="other"),))
    marks = document.marks()
    assert list(marks) == ["malignant", "benign", "maybe", "other"]
    assert marks["malignant"].colour == "#D55E00"
    assert len({mark.letter for mark in marks.values()}) == 4


def test_the_card_in_lines() -> None:
    card = MetricCard(
        "bdm_v",
        parameters={"rounds": 200},
        steps=("standardise", "pca: 139 components"),
        feature_set="gabor",
        findings={"malignant": 98, "benign": 98},
        n_cases=196,
        n_patients=70,
        split=Split(3, 0.3, True),
        constraints={"similar": 5120, "triplets": 0},
        scores={"retrieval_accuracy@10": 0.833, "auc": {"mean": 0.88, "ci95": [0.83, 0.92]}, "none": None},
        dropped_columns=tuple(f"c{n}" for n in range(10)),
        selected_columns=("area", "edge"),
        notes=("Converged after 1 rounds.", "Two of three."),
        rounds=1,
        created="2026-03-01T14:05:00+00:00",
    )
    facts = {fact.label: fact.value for fact in card_facts(card, "BDM+V")}
    assert facts["Learner"] == "BDM+V, 1 round"
    assert facts["Trained on"] == "196 cases, 70 patients: 98 malignant, 98 benign"
    assert facts["Constraints"] == "5,120 similar"
    assert facts["Split"] == "30 % held out, by patient, seed 3"
    assert facts["Search accuracy @10"] == "0.83"
    assert facts["Mean AUC over findings"] == "0.88 (0.83–0.92)"
    assert facts["Constant columns"].endswith("c7 and 2 more")
    assert facts["Selected columns"] == "area, edge"
    assert facts["Training"] == "Converged after 1 rounds. Two of three."
    assert "None" not in facts
    assert card_facts(MetricCard("euclidean"))[0].value == "euclidean"


def test_scores_without_a_value_are_empty() -> None:
    assert score_text(math.nan) == score_text(None) == score_text({"mean": None}) == ""


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (Region(4, 5, 30, 20), "30 × 20 px at 4, 5"),
        (Region(4, 5, 30, 20, z=20), "30 × 20 px at 4, 5, slice 21"),
        (Region(4, 5, 30, 20, z=20, depth=3), "30 × 20 px at 4, 5, slices 21 to 23"),
    ],
)
def test_a_region_of_a_volume_says_on_which_slices(region: Region, text: str) -> None:
    assert region_text(region) == text
