from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.open_library import open_library
from semblance.core.workflows.evaluation.hardest_queries import hardest_queries
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import table_library


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = table_library(tmp_path_factory.mktemp("hardest"), n=80)
    train_metric(made, TrainRequest("euclidean", "plain"))
    return made


def test_the_worst_come_first_and_are_no_training_cases(library):
    found = hardest_queries(library, "plain")
    assert list(found.accuracies) == sorted(found.accuracies)
    assert all(accuracy < 1 for accuracy in found.accuracies)
    with open_library(library) as opened:
        training = opened.metric("plain").training
    assert not np.isin(found.rows, training).any()
    assert found.n_queries == found.cases


def test_their_accuracies_are_those_of_the_score(library):
    found = hardest_queries(library, "plain", most=10_000)
    mean = score_metric(library, "plain")["retrieval_accuracy"]["mean"][found.k - 1]
    perfect = found.n_queries - len(found.rows)
    assert (sum(found.accuracies) + perfect) / found.n_queries == pytest.approx(mean)


def test_of_one_finding_only(library):
    every = hardest_queries(library, "plain", most=10_000)
    with open_library(library) as opened:
        findings = {int(row.id): row.finding for row in opened.catalogue.all_cases()}
    some = sorted(set(findings.values()))[0]
    own = hardest_queries(library, "plain", some, most=10_000)
    assert set(own.rows) == {row for row in every.rows if findings[row] == some}
    with pytest.raises(BadInput):
        hardest_queries(library, "plain", "no such finding")
