"""What papers print: the right row and column, as a fraction, and only for the same data."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.data_sources import builtin_table
from semblance.core.library.importers.table import read_table
from semblance.core.metrics import make_learner
from semblance.core.research.printed_values import _BLOCKS, _TABLES, _cells, printed_values

WINE = ((178, 13), {"1": 59, "2": 71, "3": 48})
BEST = "balanced_error_best_on_test"


def printed(protocol, learner, data=WINE, **params):
    values = printed_values(protocol, *data, learner, make_learner(learner, **params).get_params())
    return {value.score: value for value in values}


def test_values_are_fractions_with_their_deviation_row_and_source():
    found = printed("metricboost", "metricboost")
    assert set(found) == {"triplet_accuracy", "knn_accuracy@1"}
    assert found["triplet_accuracy"].to_json() == {
        "score": "triplet_accuracy", "value": 0.914, "std": 0.026, "row": "Binary MetricBoost",
        "source": "Bi et al. 2011, Table 1", "note": "",
    }  # fmt: skip
    assert "raw features" in printed("metricboost", "euclidean")["knn_accuracy@1"].note
    letter = ((20000, 16), {chr(65 + n): (734 if n == 0 else 813 if n == 1 else 770) for n in range(26)})
    assert printed("boostmetric", "nca", letter) == {}
    assert printed("boostmetric", "lmnn", letter)["knn_error@3"].std is None


@pytest.mark.parametrize(
    ("protocol", "learner", "params", "score", "value"),
    [
        ("metricboost", "metricboost", {"weak": "normalised"}, "triplet_accuracy", 0.827),
        ("metricboost", "mmc", {}, "knn_accuracy@1", 0.947),
        ("metricboost", "boostmetric", {"loss": "exponential"}, "knn_accuracy@1", 0.964),
        ("boostmetric", "boostmetric", {"loss": "exponential"}, "knn_error@3", 0.0308),
        ("boostmetric", "boostmetric", {"passes": 3}, "knn_error@3", 0.0115),
        ("boostmetric", "boostmetric", {"corrective": "total"}, "knn_error@3", 0.0385),
        ("boostmetric", "rca", {}, "knn_error@3", 0.0038),
        ("online", "passive_aggressive", {"variant": "pa1", "psd": "always"}, BEST, 0.018),
        ("online", "passive_aggressive", {"variant": "pals"}, BEST, 0.019),
        ("ccml", "ccml", {}, "ccknn_error", 0.0204),
        ("ccml", "lmnn", {}, "knn_error", 0.0259),
    ],
)  # fmt: skip
def test_parameters_of_a_learner_select_the_printed_row(protocol, learner, params, score, value):
    assert printed(protocol, learner, **params)[score].value == value


@pytest.mark.parametrize(
    ("protocol", "learner", "params"),
    [
        ("bdm", "euclidean", {}),
        ("pairs", "euclidean", {}),
        ("metricboost", "metricboost", {"weak": "real"}),
        ("metricboost", "metricboost", {"anchors": 20}),
        ("metricboost", "boostmetric", {"loss": "logistic"}),
        ("boostmetric", "boostmetric", {"loss": "hinge"}),
        ("boostmetric", "bdm", {}),
        ("online", "passive_aggressive", {"variant": "pa"}),
        ("online", "passive_aggressive", {"start": "euclidean"}),
        ("ccml", "metricboost", {}),
    ],
)
def test_values_that_no_paper_prints(protocol, learner, params):
    assert printed(protocol, learner, **params) == {}


@pytest.mark.parametrize(
    "data",
    [
        ((177, 13), {"1": 59, "2": 71, "3": 47}),
        ((178, 12), WINE[1]),
        ((178, 13), {"1": 59, "2": 119}),
        ((178, 13), {"1": 60, "2": 70, "3": 48}),
    ],
)
def test_other_data_have_no_printed_value(data):
    assert printed("metricboost", "euclidean", data) == {}


def test_every_row_is_complete_and_of_a_known_table():
    for block in _BLOCKS:
        cells = _cells(block.text)
        assert {table for _, table in cells} <= set(_TABLES)
        assert all(0 < value * block.unit < 1 for value, _ in cells.values())


def test_builtin_tables_are_recognised():
    wine, breast = builtin_table("wine"), builtin_table("breast_cancer")
    assert printed("ccml", "ccml", (wine.X.shape, wine.findings))
    found = printed("metricboost", "metricboost", (breast.X.shape, breast.findings))
    assert found["triplet_accuracy"].value == 0.877


@pytest.mark.parametrize(
    ("name", "protocol", "value"),
    [
        ("wine", "online", 0.027), ("sonar", "metricboost", 0.515), ("ionosphere", "online", 0.153),
        ("breast_cancer_original", "online", 0.033), ("balance_scale", "boostmetric", 0.186),
        ("iris", "boostmetric", 0.0364), ("satellite", "online", 0.119), ("letter", "boostmetric", 0.0542),
    ],
)  # fmt: skip
def test_real_tables_are_recognised(data, name, protocol, value):
    table = read_table(data / "tables" / f"{name}.csv")
    names, counts = np.unique(table.findings, return_counts=True)
    found = printed_values(
        protocol, table.X.shape, dict(zip(names.tolist(), counts.tolist(), strict=True)), "euclidean", {}
    )
    assert found[0].value == value
