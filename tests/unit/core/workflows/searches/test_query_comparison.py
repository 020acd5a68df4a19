"""Every path that orders cases has one order: that of the distances, and of the features where these are equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import semblance as sb
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.evaluation.compare_metrics import compare_metrics
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements, undo_judgements
from semblance.core.workflows.searches.rank_cases import nearest_cases
from semblance.core.workflows.searches.saved_searches import reopen, save_result
from tests.helpers.ranked_searches import ids
from tests.helpers.tables import PLAIN, table_library

QUERY = Query("t/c0")


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """120 rows of 60 patients under a metric of three bits."""
    folder = tmp_path_factory.mktemp("few")
    return table_library(
        folder, n=120, metrics=(PLAIN, TrainRequest("bdm", "few", steps="pca:5", settings={"rounds": 3}))
    )


@pytest.fixture(scope="module")
def order(few) -> list[str]:
    """The whole order, compared case by case."""
    library = sb.open_library(few)
    features, metric = library.features("raw"), library.metric("few").fitted
    distances = metric.distances(features.array[:1], features.array)[0]
    assert len(np.unique(distances)) <= 8
    after_steps = metric.transform(features.array)
    by = sorted(
        range(2, 120), key=lambda row: (distances[row], ((after_steps[row] - after_steps[0]) ** 2).sum(), row)
    )
    assert by != sorted(range(2, 120), key=lambda row: (distances[row], row))
    return [features.case_ids[row] for row in by]


def undone_mark(library: Path) -> list[str]:
    search = Search("few", QUERY, "mine")
    add_judgements(library, search, [likeness_judgement(search, "t/c9", True)])
    return ids(undo_judgements(library, search, k=200).result)


def options(**changed: object) -> Callable[[Path], list[str]]:
    return lambda library: ids(nearest_cases(library, "few", QUERY, k=200, **changed))


def other_ranks(library: Path) -> list[str]:
    """By the ranks that the cases of another metric's list have under this one."""
    cases = compare_metrics(library, "plain", "few", QUERY).left
    return [case.case_id for case in sorted(cases, key=lambda case: case.other)]


def saved(library: Path) -> list[str]:
    save_result(library, "kept", nearest_cases(library, "few", QUERY, k=200))
    return ids(reopen(library, "kept").ranked_search.result)


PATHS = {
    "plain": options(),
    "marks of strength 0": options(like=("t/c9",), unlike=("t/c40",), strength=0.0),
    "words of no case": options(text="nothing has this"),
    "words of the query's patient alone": options(text="hidden"),
    "a concept that is gone": options(concepts=(("gone", 1.0),)),
    "that and words": options(concepts=(("gone", 1.0),), text="hidden"),
    "an undone mark": undone_mark,
    "ranks beside another metric": other_ranks,
    "a saved search": saved,
    "Python": lambda library: [
        case.case_id for case in sb.open_library(library).search("t/c0", k=200, metric="few")
    ],
}


@pytest.mark.parametrize("path", PATHS)
def test_equal_distances_are_ordered_by_the_features(few, order, path):
    with Library.open(few) as library:
        library.notes.set("t/c1", "hidden")
    found = PATHS[path](few)
    assert found == [case for case in order if case in set(found)]
    assert len(found) >= 50
