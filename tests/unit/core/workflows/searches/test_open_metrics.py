"""Ranking by the metric trained again without the query's patient."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from semblance.core.evaluation.data_sources import library_data
from semblance.core.library.library import Library
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.registry import make_learner
from semblance.core.metrics.steps.sequence import parse_steps
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.metrics import refit_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.explain_distance import explain_distance
from semblance.core.workflows.searches.open_metrics import (
    close_loaded_metrics,
    open_search_metric,
    train_without_patient,
)
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.tables import table_library


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return table_library(tmp_path_factory.mktemp("made"), n=160, metrics=(TrainRequest("lda", "trained"),))


@pytest.fixture
def library(made, tmp_path):
    yield shutil.copytree(made, tmp_path / "lib.semblance")
    close_loaded_metrics()


def cases(library) -> tuple[list[str], list[str]]:
    """The cases trained on, and the others."""
    with Library.open(library) as opened:
        training = set(opened.metric("trained").training.tolist())
        rows = [(row.case_id, row.id in training) for row in opened.catalogue.all_cases()]
    return [case for case, known in rows if known], [case for case, known in rows if not known]


def test_the_order_is_that_of_a_metric_that_never_saw_the_patient(library):
    case = cases(library)[0][0]
    with Library.open(library) as opened:
        data = library_data(opened, opened.features.get(None))
        training = np.isin(data.case_rows, opened.metric("trained").training)
    query = data.case_ids.tolist().index(case)
    patient = data.groups == data.groups[query]
    assert (training & patient).sum() == 2
    rows = training & ~patient
    metric = fit_metric(make_learner("lda"), data.X[rows], data.y[rows], steps=parse_steps("standardise"))
    distances = metric.distances(data.X[[query]], data.X)[0]
    distances[patient] = np.inf
    result = nearest_cases(library, "trained", Query(case), k=30, without_patient=True)
    assert result.without_patient
    assert [line.case_id for line in result.ranked] == data.case_ids[np.argsort(distances)[:30]].tolist()
    assert [line.distance for line in result.ranked] == pytest.approx(np.sort(distances)[:30].tolist())
    search = Search("trained", Query(case), without_patient=True)
    first = result.ranked[0]
    assert explain_distance(library, search, first.case_id).distance == pytest.approx(first.distance)


def test_it_gets_the_estimate_that_the_metric_itself_may_not_give(library):
    trained, held_out = cases(library)
    assert nearest_cases(library, "trained", Query(trained[0])).vote.trained
    vote = nearest_cases(library, "trained", Query(trained[0]), without_patient=True).vote
    assert (vote.trained, vote.why_not, vote.measured_on) == (False, "", "held-out patients")
    loaded = open_search_metric(library, Search("trained", Query(trained[0]), without_patient=True))
    with Library.open(library) as opened:
        ids = {row.id: row.case_id for row in opened.catalogue.all_cases()}
    # Calibrated on those the metric never saw; the query is none of them.
    assert {ids[row] for row, _, _ in loaded.calibration.cases} == set(held_out)


def test_for_a_held_out_case_it_is_the_metric_itself(library):
    case = Query(cases(library)[1][0])
    plain, without = (
        nearest_cases(library, "trained", case, without_patient=asked) for asked in (False, True)
    )
    assert not without.without_patient
    assert without.ranked == plain.ranked
    assert without.vote == plain.vote


def test_it_is_trained_once(library, monkeypatch):
    case = cases(library)[0][4]
    train_without_patient(library, Search("trained", Query(case), without_patient=True))
    monkeypatch.setattr(refit_metric, "_fit", None)
    nearest_cases(library, "trained", Query(case), without_patient=True)
    # Training another metric, or this one again, removes the metrics without a patient that belong to a deleted one.
    train_metric(library, TrainRequest("euclidean", "other"))
    nearest_cases(library, "trained", Query(case), without_patient=True)
    monkeypatch.undo()
    train_metric(library, TrainRequest("lda", "trained", seed=4))
    assert not list((library / "derived").glob("*.metric"))
