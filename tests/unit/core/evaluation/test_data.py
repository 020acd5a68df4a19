"""The rows of an evaluation: findings merged and dropped, subsets drawn, bad tables refused."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import NAMES, builtin_table


def nodules(groups=None):
    y = ["1"] * 4 + ["2"] * 6 + ["3"] * 8 + ["4"] * 5 + ["5"] * 3 + [""] * 2
    return EvaluationData(np.arange(56.0).reshape(28, 2), np.array(y), groups, source="nodules.csv")


def test_findings_are_merged_and_dropped():
    merged = prepare(nodules(), findings=parse_findings_map("1,2=low; 4 , 5 = high;3=-"))
    assert merged.findings == {"high": 8, "low": 10}
    np.testing.assert_array_equal(merged.X[0], [0.0, 1.0])
    np.testing.assert_array_equal(merged.X[10], [36.0, 37.0])


def test_findings_not_named_stay_and_names_with_an_equals_sign_work():
    assert parse_findings_map("a=b=c") == {"a=b": "c"}
    assert prepare(nodules(), findings={"3": "-"}).findings == {"1": 4, "2": 6, "4": 5, "5": 3}


@pytest.mark.parametrize("text", ["", ";", "1", "1=", "=low", "1,=low", "1=a;1=b"])
def test_invalid_findings_map_shows_the_format(text):
    with pytest.raises(BadArguments) as caught:
        parse_findings_map(text)
    assert "1,2=low" in caught.value.hint


def test_unknown_finding_is_refused_with_the_known_ones():
    with pytest.raises(BadArguments, match=r"'6'.*1, 2, 3, 4, 5"):
        prepare(nodules(), findings={"6": "low"})


def test_cases_without_finding_are_left_out():
    assert prepare(nodules()).n_cases == 26


def test_one_finding_alone_cannot_be_evaluated():
    with pytest.raises(BadInput, match=r"'nodules.csv' has only the finding 'all'"):
        prepare(nodules(), findings=parse_findings_map("1,2,3,4,5=all"))
    with pytest.raises(BadInput, match="no findings"):
        prepare(EvaluationData(np.zeros((2, 1)), np.array(["", ""])))


def test_max_cases():
    assert prepare(nodules(), max_cases=13, seed=1).n_cases == 13
    assert prepare(nodules(), max_cases=1000).n_cases == 26
    with pytest.raises(BadArguments, match="3 cases cannot hold 5 findings"):
        prepare(nodules(), max_cases=3)


def test_patients_are_known_only_when_every_case_has_one():
    assert nodules().patients == "unknown"
    assert nodules(np.array([f"p{row}" for row in range(28)])).patients == "known"
    some = nodules([None, *(f"p{row}" for row in range(27))])
    assert some.patients == "unknown"
    assert some.groups[0] == ""


def test_the_source_for_json():
    data = EvaluationData([[1.0, np.nan], [2.0, 3.0]], ["b", "a"], source="t.csv")
    assert data.source_json() == {
        "path": "t.csv",
        "n_cases": 2,
        "n_features": 2,
        "findings": {"a": 1, "b": 1},
        "patients": "unknown",
        "n_patients": None,
    }
    assert data.feature_names == ("feature 1", "feature 2")


@pytest.mark.parametrize(
    ("X", "y", "groups", "what"),
    [
        (np.zeros((2, 1)), ["a"], None, "differ in number"),
        (np.zeros((2, 1)), ["a", "b"], ["p"], "differ in number"),
        (np.zeros(2), ["a", "b"], None, "differ in number"),
        ([[np.inf], [0.0]], ["a", "b"], None, "infinite"),
    ],
)
def test_data_that_does_not_fit_is_refused(X, y, groups, what):
    with pytest.raises(BadInput, match=what):
        EvaluationData(X, y, groups)


@pytest.mark.parametrize("name", NAMES)
def test_builtin_tables(name):
    data = builtin_table(f"builtin:{name}")
    assert data.source == f"builtin:{name}"
    assert data.n_cases > 100
    assert len(data.feature_names) == data.X.shape[1]
    assert len(data.findings) >= 2


def test_an_unknown_builtin_table_names_the_known_ones():
    with pytest.raises(BadArguments, match="breast_cancer, digits, iris, wine"):
        builtin_table("builtin:boston")


def test_rows_of_local_descriptors_stay_single_precision_and_are_not_copied_without_need():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    data = EvaluationData(X, np.array(["a", "b"] * 3))
    assert data.X.dtype == np.float32
    assert prepare(data).X is X
    assert prepare(data, max_cases=4).X.dtype == np.float32
    whole = EvaluationData(X.astype(np.int64), data.y)
    assert whole.X.dtype == np.float64
    back = data.rows(np.arange(6)[::-1])
    np.testing.assert_array_equal(back.X, X[::-1])


def test_attributes_go_with_their_cases():
    views = np.array(["prone", "supine", ""])
    data = EvaluationData(np.eye(3), np.array(["a", "b", "a"]), attributes={"view": views})
    assert data.rows(np.array([2, 0])).attributes["view"].tolist() == ["", "prone"]
    assert prepare(data).attributes["view"].tolist() == views.tolist()
    with pytest.raises(BadInput, match="differ in number"):
        EvaluationData(np.eye(3), np.array(["a", "b", "a"]), attributes={"view": views[:2]})
