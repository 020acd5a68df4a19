"""How far an answer can be trusted: the vote, other findings, no good match, near-duplicates, variety."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadArguments
from semblance.core.evaluation.calibration import Calibration
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.metrics.metric import explained_groups
from semblance.core.searches.feedback.judgements import comparison_judgement, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import Vote
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.estimate import (
    FEWER,
    NOT_CALIBRATED,
    OWN_PATIENT,
    REFINED,
    REGION_QUERY,
    TRAINED,
    cases_by_finding,
    parse_shares,
    prevalences,
    set_prevalences,
    shift_prior,
    shift_to_prevalence,
)
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from tests.helpers.images import striped_folder
from tests.helpers.tables import PLAIN, table_library

VOTE = Vote(finding="malignant", probability=0.8, interval=(0.6, 0.9))
COUNTS = {"benign": 38, "malignant": 62}


@pytest.fixture
def table(tmp_path):
    """200 rows of 100 patients: 60 held out."""
    return table_library(tmp_path, n=200, metrics=(PLAIN,))


def held_out(library) -> list[str]:
    with Library.open(library) as opened:
        trained = set(opened.metric("plain").training.tolist())
        return [row.case_id for row in opened.catalogue.all_cases() if row.id not in trained]


def test_training_calibrates_the_vote_on_the_patients_it_held_out(table):
    with Library.open(table) as opened:
        record = opened.metric("plain")
        ids = {row.id: row.case_id for row in opened.catalogue.all_cases()}
    stored = Calibration.from_json(record.scores["calibration"])
    assert stored.measured_on == "held-out patients"
    assert {ids[row] for row, _, _ in stored.cases} == set(held_out(table))
    assert (stored.n_cases, stored.n_patients) == (60, 30)
    assert (stored.finding, stored.findings) == ("kind 1", ("kind 0", "kind 1"))
    assert record.card["scores"]["calibration_error"] == stored.ece


def test_the_estimate_is_that_of_the_votes_with_its_interval(table):
    with Library.open(table) as opened:
        stored = Calibration.from_json(opened.metric("plain").scores["calibration"])
    result = nearest_cases(table, "plain", Query(held_out(table)[0]))
    expected = stored.estimate(result.counts)
    vote = json.loads(json.dumps(result.to_json()))["vote"]
    assert vote["calibrated"] is True
    assert vote["measured_on"] == "held-out patients"
    assert vote["finding"] == next(iter(result.counts))
    assert vote["probability"] == expected.probability
    assert vote["interval"] == list(expected.interval)
    assert vote["interval"][0] < vote["probability"] < vote["interval"][1]
    assert vote["query_trained_on"] is False
    assert result.vote.voters == tuple(case.finding for case in result.ranked[:10])


@pytest.mark.parametrize(
    ("request_", "remembers"),
    [
        (TrainRequest("lda", "metric"), True),
        (TrainRequest("euclidean", "metric", steps="standardise,mrmr:3"), True),
        (TrainRequest("euclidean", "metric", steps="standardise,pca:3"), False),
    ],
    ids=["learner", "step", "numbers alone"],
)
def test_a_case_whose_finding_the_metric_learnt_from_gets_no_estimate(tmp_path, request_, remembers):
    library = table_library(tmp_path, n=200, metrics=(request_,))
    with Library.open(library) as opened:
        training = set(opened.metric("metric").training.tolist())
        cases = {row.case_id: row.id in training for row in opened.catalogue.all_cases()}
    for case, is_training in cases.items():
        vote = nearest_cases(library, "metric", Query(case), no_match_rate=0.0).vote
        assert vote.trained == (is_training and remembers)
        assert (vote.why_not, vote.calibrated) == ((TRAINED, False) if vote.trained else ("", True))
        assert sum(vote.counts.values()) == 10


def test_a_case_that_was_not_trained_on_is_remembered_with_its_patient(tmp_path):
    library = table_library(tmp_path, n=200, metrics=(TrainRequest("lda", "metric", max_cases=150),))
    with Library.open(library) as opened:
        training = set(opened.metric("metric").training.tolist())
        patients: dict[str, list[bool]] = {}
        for row in opened.catalogue.all_cases():
            patients.setdefault(row.patient, []).append(row.id in training)
    half = next(name for name, known in patients.items() if known == [True, False])
    assert nearest_cases(library, "metric", Query(f"t/c{2 * int(half[1:]) + 1}")).vote.why_not == TRAINED


def test_few_held_out_cases_give_counts_only(tmp_path):
    library = table_library(tmp_path, n=50, metrics=(PLAIN,))
    vote = nearest_cases(library, "plain", Query("t/c0")).vote
    assert (vote.probability, vote.interval, vote.measured_on) == (None, None, None)
    assert vote.why_not == NOT_CALIBRATED


def test_unknown_patients_are_reported(tmp_path):
    library = table_library(tmp_path, n=200, patients=False, metrics=(PLAIN,))
    assert (
        nearest_cases(library, "plain", Query("t/c0")).vote.measured_on == "held-out cases, unknown patients"
    )


def test_no_estimate_if_the_querys_patient_is_among_the_nearest(table):
    near = {f"t/c{n}": f"t/c{n + 1}" in _ten(table, n) for n in range(0, 200, 2)}
    assert len(set(near.values())) == 2
    for case, is_near in near.items():
        vote = nearest_cases(table, "plain", Query(case), hide_same_patient=False).vote
        assert vote.why_not == (OWN_PATIENT if is_near else "")
        assert vote.calibrated != is_near


def _ten(library, n: int) -> list[str]:
    found = nearest_cases(library, "plain", Query(f"t/c{n}"), hide_same_patient=False)
    return [case.case_id for case in found.ranked[:10]]


def test_a_part_of_an_image_has_no_counts_and_no_estimate_where_whole_ones_are_compared(tmp_path):
    images = striped_folder(tmp_path / "images", n=80)
    import_source(images, tmp_path / "lib")
    extract_features(tmp_path / "lib", "colour_edge_texture")
    train_metric(tmp_path / "lib", TrainRequest("euclidean", "plain"))
    whole = nearest_cases(tmp_path / "lib", "plain", Query("images/level/p001.png")).vote
    assert whole.calibrated, whole.why_not
    part = Query("images/level/p001.png", region=Region(2, 2, 20, 20))
    found = nearest_cases(tmp_path / "lib", "plain", part)
    assert found.ranked
    assert found.vote.why_not == REGION_QUERY
    document = found.to_json()
    assert document["vote"]["counts"] == {}
    assert document["vote"]["voters"] == 0
    assert document["vote"]["finding"] is None
    assert document["other_finding"] == []
    assert whole.library_share == 0.5


def test_a_refined_ranking_has_counts_only(table):
    request = Search("plain", Query("t/c0"), "mine")
    assert rank_cases(table, request).result.vote.calibrated
    first, *_, liked = (line.case_id for line in rank_cases(table, request, k=4).result.ranked)
    judged = add_judgements(table, request, [comparison_judgement(request, liked, first)])
    assert judged.result.vote.why_not == REFINED
    assert sum(judged.result.counts.values()) == 10
    assert not rank_cases(table, request).result.vote.calibrated


def test_marks_have_no_part_in_the_estimate(table):
    request = Search("plain", Query("t/c0"), "mine")
    before = rank_cases(table, request, k=30).result
    marked = [line.case_id for line in before.ranked[5:25:2]]
    judgements = [likeness_judgement(request, case, n % 2 == 0) for n, case in enumerate(marked)]
    after = add_judgements(table, request, judgements, k=30).result
    assert [line.case_id for line in after.ranked[:10]] != [line.case_id for line in before.ranked[:10]]
    assert after.vote.calibrated
    assert (after.vote, after.counts) == (before.vote, before.counts)


def test_a_ranking_without_some_features_has_counts_only_and_says_so(table):
    request = Search("plain", Query("t/c0"))
    group = explained_groups(open_metric(table, "plain").metric)[0]
    vote = rank_cases(table, replace(request, without=(group,))).result.vote
    assert (vote.calibrated, vote.why_not) == (False, FEWER)


def test_merged_findings_are_estimated_as_the_metric_was_scored(tmp_path):
    library = table_library(tmp_path, n=240, findings=3)
    names = "kind 0,kind 1=low;kind 2=high"
    train_metric(library, TrainRequest("euclidean", "plain", findings=names))
    vote = nearest_cases(library, "plain", Query("t/c0")).vote
    assert set(vote.counts) <= {"kind 0", "kind 1", "kind 2"}
    assert vote.findings == ("high", "low")
    assert vote.finding in ("high", "low")


def test_several_findings_are_estimated_by_the_first(tmp_path):
    library = table_library(tmp_path, n=240, findings=4, metrics=(PLAIN,))
    vote = nearest_cases(library, "plain", Query("t/c0")).vote
    assert vote.finding == next(iter(vote.counts))
    assert 0 < vote.interval[0] <= vote.probability <= vote.interval[1] <= 1


# The other finding


def test_the_nearest_with_the_other_finding_stand_apart_with_their_ranks(table):
    result = nearest_cases(table, "plain", Query("t/c0"), k=200)
    most = next(iter(result.counts))
    others = [case for case in result.ranked if case.finding != most][:6]
    assert [case.case_id for case in result.others] == [case.case_id for case in others]
    assert [case.rank for case in result.others] == [case.rank for case in others]
    few = nearest_cases(table, "plain", Query("t/c0"), k=3)
    assert [case.case_id for case in few.others] == [case.case_id for case in others]
    assert all(case.rank == 0 or case.rank <= 3 for case in few.others)
    other = few.to_json()["other_finding"]
    assert [case["rank"] for case in other] == [case.rank or None for case in few.others]


# No good match


def test_the_rate_is_that_of_the_librarys_own_cases(table):
    for rate in (0.0, 0.05, 0.2):
        judgements = [
            nearest_cases(table, "plain", Query(f"t/c{n}"), k=1, no_match_rate=rate).no_close_match
            for n in range(200)
        ]
        assert np.mean(judgements) == pytest.approx(rate, abs=0.01)


def test_a_refined_search_can_have_no_close_match(table):
    request = Search("plain", Query("t/c0"), "mine", no_match_rate=0.1)
    liked = rank_cases(table, request).result.ranked[3].case_id
    add_judgements(table, request, [likeness_judgement(request, liked, True)])
    found = [
        rank_cases(table, Search("plain", Query(f"t/c{n}"), "mine", no_match_rate=0.1), k=1).result
        for n in range(200)
    ]
    assert all(one.match is not None for one in found)
    assert 0.02 < np.mean([one.no_close_match for one in found]) <= 0.11


# Variety


def test_diverse_results_are_the_same_nearest_in_another_order(table):
    plain = nearest_cases(table, "plain", Query("t/c0"), k=10)
    mixed = nearest_cases(table, "plain", Query("t/c0"), k=10, diverse=0.5)
    among = [case.case_id for case in nearest_cases(table, "plain", Query("t/c0"), k=50).ranked]
    assert mixed.ranked[0].case_id == plain.ranked[0].case_id
    assert [case.case_id for case in mixed.ranked] != [case.case_id for case in plain.ranked]
    assert {case.case_id for case in mixed.ranked} <= set(among)
    assert [case.rank for case in mixed.ranked] == list(range(1, 11))
    # The vote stays that of the nearest.
    assert mixed.vote == plain.vote
    assert rank_cases(table, Search("plain", Query("t/c0"), diverse=0.5), k=10).result.ranked == mixed.ranked


# Near-duplicates


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """20 images. One is also saved twice more, another also under the other finding."""
    folder = tmp_path_factory.mktemp("alike")
    images = striped_folder(folder / "images", n=20, patients=False)
    with Image.open(images / "level" / "p000.png") as image:
        image.convert("RGB").save(images / "level" / "p000 anew.jpg", quality=90)
        image.convert("RGB").save(images / "level" / "p000 again.jpg", quality=95)
    with Image.open(images / "level" / "p004.png") as image:
        image.convert("RGB").save(images / "upright" / "p004 contradicts.jpg", quality=95)
    import_source(images, folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture")
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder / "lib"


def names(cases) -> list[str]:
    return [case.case_id.rpartition("/")[2] for case in cases]


def test_a_resaved_image_is_grouped_and_can_be_expanded(made):
    folded = nearest_cases(made, "plain", Query("images/level/p001.png"), k=30)
    plain = nearest_cases(made, "plain", Query("images/level/p001.png"), k=30, group_duplicates=False)
    twins = {"p000.png", "p000 anew.jpg", "p000 again.jpg"}
    assert twins <= set(names(plain.ranked))
    (stays,) = twins & set(names(folded.ranked))
    case = next(case for case in folded.ranked if names([case]) == [stays])
    with Library.open(made) as opened:
        details = opened.catalogue.details(case.near_duplicate_rows)
    assert set(names(details.values())) == twins - {stays}
    assert case.near_duplicates == 2
    # Those of p000, and the copy of p004 with another finding.
    assert folded.near_duplicates == len(plain.ranked) - len(folded.ranked) == 3
    assert [c.rank for c in folded.ranked] == list(range(1, len(folded.ranked) + 1))


def test_a_group_counts_as_one_case_in_the_ranks_that_marks_move_cases_by(made, tmp_path):
    library = shutil.copytree(made, tmp_path / "lib")
    search = Search("plain", Query("images/level/p001.png"), "mine")
    before = names(rank_cases(library, search, k=30).result.ranked)
    marked = add_judgements(
        library, search, [likeness_judgement(search, "images/level/p000.png", True)], k=30
    )
    twins = {"p000.png", "p000 anew.jpg", "p000 again.jpg"}, {"p004.png", "p004 contradicts.jpg"}
    group = {name: number for number, names_of_one in enumerate(twins) for name in names_of_one}
    was = [group.get(name, name) for name in before]
    now = [group.get(name, name) for name in names(marked.result.ranked)]
    assert sorted(map(str, was)) == sorted(map(str, now))
    assert list(marked.shifts) == [was.index(case) - rank for rank, case in enumerate(now)]
    assert sum(marked.shifts) == 0


def test_near_duplicates_with_another_finding_are_grouped_too(made):
    twins = {"p000.png", "p000 anew.jpg", "p000 again.jpg"}

    def most(fold: bool) -> int:
        queries = [Query(f"images/upright/p{number:03d}.png") for number in (2, 3, 6, 7, 10, 11, 14, 15)]
        found = [nearest_cases(made, "plain", query, k=3, group_duplicates=fold).others for query in queries]
        return max(len(twins & set(names(others))) for others in found)

    assert (most(fold=False), most(fold=True)) == (3, 1)


def test_a_copy_with_another_finding_is_of_one_lesion_and_counts_once(made):
    shown = names(nearest_cases(made, "plain", Query("images/level/p001.png"), k=30).ranked)
    assert len({"p004.png", "p004 contradicts.jpg"} & set(shown)) == 1


def test_a_case_says_that_a_grouped_copy_contradicts_it(made):
    ranked = nearest_cases(made, "plain", Query("images/level/p001.png"), k=30).ranked
    twins = {"p004.png": ("upright",), "p004 contradicts.jpg": ("level",)}
    contradicted = {
        names([case])[0]: case.near_duplicate_findings for case in ranked if case.near_duplicate_findings
    }
    (name,) = contradicted
    assert contradicted[name] == twins[name]


def test_grouping_leaves_as_many_as_requested(made):
    assert len(nearest_cases(made, "plain", Query("images/level/p001.png"), k=12).ranked) == 12


def test_exact_copies_can_be_shown_too(made, tmp_path):
    library = table_library(tmp_path, n=60, metrics=(PLAIN,))
    folder = tmp_path / "more"
    folder.mkdir()
    rows = (tmp_path / "t.csv").read_text().splitlines()
    copy = rows[5].replace("c4,P2", "copy,Pcopy")
    (folder / "u.csv").write_text("\n".join([rows[0], copy]) + "\n")
    import_source(folder / "u.csv", library)
    extract_features(library, "raw")
    result = nearest_cases(library, "plain", Query("t/c20"), k=60)
    (case,) = [case for case in result.ranked if case.near_duplicates]
    assert case.case_id in ("t/c4", "u/copy")
    with Library.open(library) as opened:
        (other,) = opened.catalogue.details(case.near_duplicate_rows).values()
    assert {case.case_id, other.case_id} == {"t/c4", "u/copy"}


# Warnings


def test_a_whole_image_query_of_a_library_of_regions_is_warned_of(made, monkeypatch, tmp_path):
    query_file = tmp_path / "asked.png"
    with Image.open(made.parent / "images" / "level" / "p001.png") as image:
        image.save(query_file)
    assert nearest_cases(made, "plain", Query(image=query_file)).warnings == ()
    close_loaded_metrics()
    monkeypatch.setattr("semblance.core.workflows.searches.loaded_metric.LoadedMetric.with_regions", True)
    (warning,) = nearest_cases(made, "plain", Query(image=query_file)).warnings
    assert "Draw the region" in warning
    assert nearest_cases(made, "plain", Query(image=query_file, region=Region(2, 2, 20, 20))).warnings == ()
    assert nearest_cases(made, "plain", Query("images/level/p001.png")).warnings == ()


def test_estimates_that_err_more_than_chance_allows_carry_a_caution(table):
    with Library.open(table) as opened:
        scores = opened.metric("plain").scores
    case = held_out(table)[0]

    def caution(error, chance):
        with Library.open(table) as opened:
            opened.set_scores(
                "plain", scores | {"calibration": scores["calibration"] | {"ece": error, "perfect": chance}}
            )
        close_loaded_metrics()
        result = nearest_cases(table, "plain", Query(case))
        assert result.vote.measured == 60
        return result.to_json()["vote"]["caution"]

    assert caution(0.17, 0.18) is None
    assert caution(0.201, 0.175) == "calibrated poorly: error 0.20, 0.17 by chance"
    assert caution(0.184, 0.181) == "calibrated poorly: error 0.184, 0.181 by chance"


def test_an_estimate_is_for_the_prevalence_that_was_set():
    shifted = shift_to_prevalence(VOTE, {"malignant": 0.1}, COUNTS)
    assert shifted.probability == shift_prior(0.8, 0.62, 0.1)
    assert shifted.interval == (shift_prior(0.6, 0.62, 0.1), shift_prior(0.9, 0.62, 0.1))
    assert shifted.prevalence == (0.1, 0.62)
    # With two findings one share gives the other.
    benign = shift_to_prevalence(replace(VOTE, finding="benign", probability=0.2), {"malignant": 0.1}, COUNTS)
    assert benign.prevalence == pytest.approx((0.9, 0.38))
    assert benign.probability == pytest.approx(1 - shifted.probability)


def test_findings_that_are_not_named_share_the_rest_as_in_the_library():
    counts = {"benign": 30, "malignant": 50, "normal": 20}
    shifted = shift_to_prevalence(replace(VOTE, finding="benign"), {"malignant": 0.1}, counts)
    assert shifted.prevalence == pytest.approx((0.9 * 0.6, 0.3))


def test_an_estimate_stays_without_a_prevalence_for_its_findings():
    assert shift_to_prevalence(VOTE, {"other": 0.1}, COUNTS) == VOTE
    assert shift_to_prevalence(VOTE, {"malignant": 0.1}, {"malignant": 9}) == VOTE
    assert shift_to_prevalence(Vote(), {"malignant": 0.1}, COUNTS) == Vote()


def test_cases_are_counted_as_the_metric_names_findings():
    findings = ["a", "b", None, "c", "c"]
    assert cases_by_finding(findings, {"a": "x", "b": "x", "c": "-"}, "-") == {"x": 2}


def test_a_library_keeps_its_prevalence_and_searches_follow_it(tmp_path):
    library = table_library(tmp_path, n=200, metrics=(PLAIN,))
    before = nearest_cases(library, "plain", Query("t/c0"), no_match_rate=0.0).vote
    assert (before.prevalence, before.to_json()["prevalence"]) == (None, None)
    set_prevalences(library, {"kind 1": 0.02})
    assert prevalences(library) == {"kind 1": 0.02}
    after = nearest_cases(library, "plain", Query("t/c0"), no_match_rate=0.0).vote
    share = 0.02 if after.finding == "kind 1" else 0.98
    assert after.prevalence == pytest.approx((share, 0.5))
    assert after.probability == pytest.approx(shift_prior(before.probability, 0.5, share))
    assert after.counts == before.counts
    set_prevalences(library, {})
    assert nearest_cases(library, "plain", Query("t/c0"), no_match_rate=0.0).vote == before


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ({"kind 1": 1.2}, "impossible"),
        ({"kind 1": 0.7, "kind 0": 0.6}, "more than 1"),
        ({"kind 9": 0.1}, "no finding 'kind 9'"),
    ],
)
def test_impossible_prevalences_are_refused(tmp_path, shares, says):
    library = table_library(tmp_path)
    with pytest.raises(BadArguments, match=says):
        set_prevalences(library, shares)
    assert prevalences(library) == {}


def test_shares_are_read_from_arguments():
    assert parse_shares(["malignant=0.1", "a=b=.5"]) == {"malignant": 0.1, "a=b": 0.5}
    for texts in (["malignant"], ["=0.1"], ["a=x"], ["a=0.1", "a=0.2"]):
        with pytest.raises(BadArguments, match="how frequent"):
            parse_shares(texts)


def test_the_same_prevalence_changes_nothing():
    assert shift_prior(0.71, 0.62, 0.62) == pytest.approx(0.71)


def test_the_odds_change_by_the_ratio_of_the_prior_odds():
    shifted = shift_prior(0.8, 0.5, 0.1)
    assert shifted / (1 - shifted) == pytest.approx(4 / 9)


def test_shifted_probabilities_are_true_where_the_finding_is_rarer():
    rng = np.random.default_rng(0)

    def draw(prevalence: float, n: int):
        truth = rng.random(n) < prevalence
        return truth, rng.normal(np.where(truth, 1.0, 0.0))

    truth, seen = draw(0.1, 200_000)
    # Bayes' rule where half of the cases have the finding.
    probability = 1 / (1 + np.exp(0.5 - seen))
    shifted = np.array([shift_prior(p, 0.5, 0.1) for p in probability])
    for low in (0.0, 0.1, 0.2, 0.3):
        bin_ = (shifted >= low) & (shifted < low + 0.1)
        assert truth[bin_].mean() == pytest.approx(shifted[bin_].mean(), abs=0.01)
