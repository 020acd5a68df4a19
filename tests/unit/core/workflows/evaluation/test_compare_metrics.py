from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import Cancelled
from semblance.core.workflows.evaluation.compare_metrics import compare_metrics, disagreements
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.libraries import join
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """60 rows of 30 patients, two metrics."""
    return table_library(
        tmp_path_factory.mktemp("two"),
        metrics=(PLAIN, TrainRequest("bdm_v", "learnt", settings={"rounds": 20})),
    )


def _orders(library, case):
    found = [nearest_cases(library, name, Query(case=case), k=1000) for name in ("plain", "learnt")]
    return [[line.case_id for line in one.ranked] for one in found]


def _some_case(library):
    return disagreements(library, "plain", "learnt").lines[0].case_id


def test_every_line_shows_its_rank_under_the_other_metric(library):
    case = _some_case(library)
    left, right = _orders(library, case)
    both = compare_metrics(library, "plain", "learnt", Query(case=case))
    assert [line.case_id for line in both.left] == left[:50]
    assert [line.case_id for line in both.right] == right[:50]
    assert [line.rank for line in both.left] == list(range(1, 51))
    # Equal distances behind the first fifty are ordered by row alone.
    for lines, other in ((both.left, right), (both.right, left)):
        assert [line.other for line in lines if line.other <= 50] == [
            other.index(line.case_id) + 1 for line in lines if line.other <= 50
        ]


def test_what_is_shared_and_who_moved_most_is_counted_from_the_orders(library):
    case = _some_case(library)
    left, right = _orders(library, case)
    both = compare_metrics(library, "plain", "learnt", Query(case=case))
    assert both.shared(10) == len(set(left[:10]) & set(right[:10]))
    rises = {c: left.index(c) - right.index(c) for c in right[:10]}
    assert both.largest_rise(10).rise == max(rises.values())
    falls = {c: right.index(c) - left.index(c) for c in left[:10]}
    assert both.largest_fall(10).rise == max(falls.values())


def test_a_metric_agrees_with_itself(library):
    both = compare_metrics(library, "plain", "plain", Query(case=_some_case(library)))
    assert both.agreement.tau == 1.0
    assert both.shared(15) == 15
    assert both.largest_rise(15) is None
    assert both.largest_fall(15) is None
    every = disagreements(library, "plain", "plain")
    assert {line.shared for line in every.lines} == {10}
    assert every.mean_shared == 1.0


def test_the_table_of_queries_says_of_each_what_its_own_page_says(library):
    found = disagreements(library, "plain", "learnt")
    assert (found.n_queries, found.cases, found.sampled) == (60, 60, False)
    assert [line.shared for line in found.lines] == sorted(line.shared for line in found.lines)
    for line in (found.lines[0], found.lines[-1]):
        both = compare_metrics(library, "plain", "learnt", Query(case=line.case_id))
        assert line.shared == both.shared(10)
        assert line.agreement == both.agreement
        for lines, same in ((both.left, line.left_same), (both.right, line.right_same)):
            assert same == sum(one.finding == line.finding for one in lines[:10])


def test_a_large_library_is_sampled_by_its_seed(library):
    one = disagreements(library, "plain", "learnt", most=12, seed=3)
    assert (one.n_queries, one.cases, one.sampled) == (12, 60, True)
    again = disagreements(library, "plain", "learnt", most=12, seed=3)
    assert one == again
    other = disagreements(library, "plain", "learnt", most=12, seed=4)
    assert {line.row for line in one.lines} != {line.row for line in other.lines}


def test_the_table_can_be_cancelled(library):
    with pytest.raises(Cancelled):
        disagreements(library, "plain", "learnt", reporter=RecordingReporter(cancel_after=1))


def test_a_query_is_needed(library):
    with pytest.raises(BadArguments):
        compare_metrics(library, "plain", "learnt", Query())


def test_each_side_has_the_vote_its_own_search_has(library):
    case = _some_case(library)
    both = compare_metrics(library, "plain", "learnt", Query(case=case))
    for name, vote in zip(("plain", "learnt"), both.votes, strict=True):
        assert vote == nearest_cases(library, name, Query(case=case), k=20).vote


def test_every_case_is_a_query_as_judgements_refine_its_metric(library):
    case = _some_case(library)
    plain = _orders(library, case)[0]
    refined = Search("plain", Query(case=case), ledger="mine")
    nothing = disagreements(library, "plain", refined)
    assert nothing.mean_shared == 1.0
    judgements = [Judgement(JudgementKind.ALIKE, case, far) for far in plain[-8:]]
    judgements += [Judgement(JudgementKind.NOT_ALIKE, case, near) for near in plain[:8]]
    open_metric(library, "plain").ledger("mine").add(judgements)
    found = disagreements(library, "plain", refined)
    assert found.mean_shared < 1.0
    # Given marks belong to the search's own query.
    moved = replace(refined, like=(plain[3],))
    assert disagreements(library, "plain", moved) == found


def test_cases_of_one_lesion_stand_where_the_nearest_of_them_stands(library, tmp_path):
    library = shutil.copytree(library, tmp_path / library.name)
    case = _some_case(library)
    before = compare_metrics(library, "plain", "learnt", Query(case=case))
    first, copy = before.left[0].row, before.left[2].row
    with Library.open(library) as opened:
        join(opened, [first, copy])
    both = compare_metrics(library, "plain", "learnt", Query(case=case))
    assert copy not in [line.row for line in both.left]
    assert both.left[2].row == before.left[3].row
    for line in both.right:
        if line.row in (first, copy):
            assert line.other == 1
    line = next(line for line in disagreements(library, "plain", "learnt").lines if line.case_id == case)
    assert line.shared == both.shared(10)
    every = compare_metrics(library, "plain", "learnt", Query(case=case), group_duplicates=False)
    assert copy in [line.row for line in every.left]


def test_the_table_says_which_metric_was_trained_on_a_query(library):
    for line in disagreements(library, "plain", "learnt").lines[:20]:
        results = [nearest_cases(library, name, Query(case=line.case_id)) for name in ("plain", "learnt")]
        assert line.trained == tuple(one.vote.trained for one in results)
