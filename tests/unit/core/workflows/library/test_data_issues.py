"""Each check finds what it is for and nothing beside it."""

from __future__ import annotations

import itertools

import numpy as np

from semblance.core.imaging.region import Region
from semblance.core.workflows.library.data_issues import (
    CheckedCase,
    ImageMeasures,
    IssueKind,
    Severity,
    contradictory_rows,
    few_patients,
    image_issues,
    label_conflicts,
    wrong_sides,
)

_numbers = itertools.count(1)


def case(finding="benign", patient=None, **values):
    row = next(_numbers)
    fields = {"content": f"c{row}", "lesion": row, "image": row} | values
    return CheckedCase(row, f"s/{row}.png", finding, patient, **fields)


def rows(issues):
    return [issue.rows for issue in issues]


def test_findings_of_one_lesion_conflict_and_can_be_given_to_all():
    same = [case("benign", lesion=1000), case("malignant", lesion=1000), case("benign", lesion=1001)]
    copies = [case(f, lesion=1002, content="x") for f in ("benign", "malignant")]
    table = [case(f, lesion=1003, content="y", image=None) for f in ("a", "b")]
    agreed = [case("benign", lesion=1004), case("benign", lesion=1004), case(None, lesion=1004)]
    issues = label_conflicts([*same, *copies, *table, *agreed])
    assert rows(issues) == [tuple(c.row for c in part) for part in (same[:2], copies, table)]
    assert [issue.severity for issue in issues] == [Severity.HIGH, Severity.HIGH, Severity.LOW]
    assert [issue.findings for issue in issues] == [("benign", "malignant")] * 2 + [("a", "b")]
    assert [issue.text.split(" have")[0] for issue in issues] == [
        "Images of one lesion", "Equal images", "Equal rows of the table",
    ]  # fmt: skip


def test_one_region_of_an_image_has_one_finding():
    near, far = Region(10, 10, 20, 20), Region(100, 100, 20, 20)
    contradiction = [
        case("benign", image=7, region=near),
        case("malignant", image=7, region=Region(12, 11, 20, 20)),
    ]
    two_lesions = [case("benign", image=8, region=near), case("malignant", image=8, region=far)]
    whole = [case("normal", image=9), case("malignant", image=9, region=near)]
    scattered = [case("benign", image=10), case("malignant", image=10, region=near)]
    issues = contradictory_rows([*contradiction, *two_lesions, *whole, *scattered])
    assert rows(issues) == [tuple(c.row for c in part) for part in (contradiction, whole)]


def test_one_side_of_a_patient_has_one_finding_in_one_view_and_study():
    def breast(finding, side, view="CC", study="1", patient="P"):
        return case(finding, patient, attributes={"laterality": side, "view": view, "study": study})

    found = [breast("benign", "L"), breast("malignant", "L")]
    others = [
        breast("normal", "R"), breast("normal", "L", view="MLO"), breast("normal", "L", study="2"),
        breast("normal", "L", patient="Q"), breast("normal", ""), breast("malignant", ""),
    ]  # fmt: skip
    (issue,) = contradictory_rows([*found, *others])
    assert (issue.rows, issue.severity) == (tuple(c.row for c in found), Severity.MEDIUM)
    assert "left side" in issue.text


def test_findings_of_few_patients_are_listed_by_patients_not_cases():
    many = [case("benign", f"P{n}") for n in range(10)]
    repeated = [case("malignant", f"Q{n // 4}") for n in range(16)]
    (issue,) = few_patients([*many, *repeated, case(None)])
    assert (issue.severity, len(issue.rows)) == (Severity.MEDIUM, 16)
    assert (
        issue.text == "The finding 'malignant' has only 4 patients. Its scores and estimates are uncertain."
    )
    (issue,) = few_patients([case("rare", lesion=n // 2) for n in range(12)])
    assert (issue.severity, "only 6 cases" in issue.text) == (Severity.LOW, True)


def seen(**values):
    return ImageMeasures(**({"is_blank": False, "missing_share": 0.0, "lines_of_text": 0} | values))


def test_images_are_listed_once_for_all_their_cases():
    shared = [case(image=5), case(image=5)]
    stated = case(attributes={"burnt_in_text": "yes"})
    issues = image_issues(
        [
            *((one, seen(is_blank=True, missing_share=0.5)) for one in shared),
            (case(), seen(missing_share=0.25)),
            (case(), seen(lines_of_text=2)),
            (stated, seen()),
            (case(attributes={"burnt_in_text": "possible"}), seen()),
        ]
    )
    assert [issue.check for issue in issues] == [
        IssueKind.BLANK,
        IssueKind.CUT,
        IssueKind.TEXT,
        IssueKind.TEXT,
    ]
    assert issues[0].rows == tuple(one.row for one in shared)
    assert issues[3].rows == (stated.row,)


def mammogram(side, wall):
    return case(attributes={"breast": side}, kind="mammograms"), seen(chest_wall=wall)


def test_the_side_that_most_images_do_not_show_is_wrong():
    for turned in [1, -1]:
        right = [mammogram("right", 0.8 * turned) for _ in range(10)]
        left = [mammogram("left", -0.8 * turned) for _ in range(10)]
        wrong, unclear = mammogram("left", 0.7 * turned), mammogram("left", 0.1 * turned)
        issues, reason = wrong_sides([*left, wrong, unclear, *right])
        assert (rows(issues), reason) == ([(wrong[0].row,)], ""), turned
        assert "a left breast" in issues[0].text, turned


def test_few_images_are_judged_by_the_usual_hanging_and_mirrored_ones_not_at_all():
    issues, reason = wrong_sides([mammogram("left", 0.9), mammogram("right", 0.9)])
    assert (len(issues), reason) == (1, "")
    issues, reason = wrong_sides([mammogram(side, -0.9) for side in ("left", "right") for _ in range(9)])
    assert (issues, "mirrored" in reason) == ([], True)
    walls = np.tile([0.9, -0.9], 8)
    issues, reason = wrong_sides([mammogram("left", wall) for wall in walls])
    assert (issues, "do not show" in reason) == ([], True)
