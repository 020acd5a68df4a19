"""Every sentence that the program makes about an answer, with the condition under which it is true.

Each is said only where its condition holds, and each is said somewhere.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from semblance.app.search.similar.other_diagnoses import OtherDiagnoses
from semblance.app.search.similar.summary_strip import SHORT_REASONS, SummaryStrip
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.errors import BadInput
from semblance.core.evaluation.calibration import MIN_CASES, Estimate
from semblance.core.evaluation.evaluate_metric import stored_scores
from semblance.core.language import LazyText, format_number
from semblance.core.reports.document import ReportDocument, ReportedQuery
from semblance.core.retrieval.explanation.sentence import sentence
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import RankedCase, Vote
from semblance.core.workflows.reports.build_report_document import _notes, _order
from semblance.core.workflows.searches import estimate as reasons
from semblance.core.workflows.searches.estimate import CasesByFinding, estimate_from_neighbours
from semblance.core.workflows.searches.loaded_metric import MetricCache
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult
from tests.helpers.contexts import make_context
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.scored_snapshots import metric, snapshot
from tests.helpers.widgets import show_widget

QUERY = Query(case="c000")


@pytest.fixture
def context(qapp):
    jobs = ManualJobs()
    yield make_context(jobs)
    jobs.shutdown()
    jobs.deleteLater()


# The estimate: why there is none

#: What is true of a search that gets each sentence instead of an estimate.
WHY_NOT = {
    reasons.TRAINED: lambda one: one.trained,
    reasons.NOT_SCORED: lambda one: one.scores is None,
    reasons.NOT_READABLE: lambda one: bool((one.scores or {}).get("calibration")) and not one.calibrated,
    reasons.NOT_CALIBRATED: lambda one: not one.calibrated and one.scores["n_queries"] < MIN_CASES,
    reasons.ONE_FINDING: lambda one: not one.calibrated and one.scores["n_queries"] >= MIN_CASES,
    reasons.REFINED: lambda one: one.calibrated and one.changed == reasons.REFINED,
    reasons.SHIFTED: lambda one: one.calibrated and one.changed == reasons.SHIFTED,
    reasons.FEWER: lambda one: one.calibrated and one.changed == reasons.FEWER,
    reasons.BY_PLACE: lambda one: one.changed == reasons.BY_PLACE,
    reasons.BY_BOTH: lambda one: one.changed == reasons.BY_BOTH and not one.trained,
    reasons.REGION_QUERY: lambda one: one.query.region is not None and not one.with_regions,
    reasons.WHOLE_IMAGE_QUERY: lambda one: one.query.image is not None and one.with_regions,
    reasons.OWN_PATIENT: lambda one: 0 in one.voters and not one.hide_same_patient,
    reasons.OWN_LESION: lambda one: 1 in one.voters and not one.group_duplicates,
    reasons.SAME_LESION: lambda one: {2, 3} <= set(one.voters) and not one.group_duplicates,
    reasons.NO_FINDINGS: lambda one: not set(one.voters) & {0, 1, 2, 3},
}
#: These concern the distances, not the estimate; see the strip.
OF_DISTANCES = {reasons.NO_MATCH}
#: The reason where words change the order, whatever the vote is; test_order_by_text.py tests it.
OF_WORDS = {reasons.BY_TEXT}
#: By place: a case of the query's patient, one of its lesion, two of one lesion, one of a finding never scored.
FINDINGS = ("benign", "benign", "malignant", "malignant", "other")
SCORES = (
    None,
    {"n_queries": 50, "calibration": {"damaged": True}},
    {"n_queries": MIN_CASES - 1, "calibration": None},
    {"n_queries": 50, "calibration": None},
)


class Calibrated:
    findings, measured_on, n_cases, is_poor = ("benign", "malignant"), "held-out patients", 50, False
    n_patients = 20

    def estimate(self, counts, *, is_outside):
        known = {name: n for name, n in counts.items() if name in self.findings}
        return Estimate(max(known, key=known.get), 0.7, (0.5, 0.9)) if known else None


def searches():
    kinds = ((QUERY, False), (replace(QUERY, region=object()), False), (Query(image=object()), True))
    changes = ("", reasons.REFINED, reasons.SHIFTED, reasons.FEWER, reasons.BY_PLACE, reasons.BY_BOTH)
    nearest = ((0, 4), (1, 4), (2, 3), (4,), (2, 4), ())
    for trained, hide, group in itertools.product((False, True), repeat=3):
        for scores, (query, with_regions), changed, voters in itertools.product(
            (*SCORES, {"n_queries": 50, "calibration": {"kept": True}}), kinds, changes, nearest
        ):
            yield SimpleNamespace(
                trained=trained,
                hide_same_patient=hide,
                group_duplicates=group,
                scores=scores,
                calibrated=scores is not None and scores.get("calibration") == {"kept": True},
                query=query,
                with_regions=with_regions,
                changed=changed,
                voters=voters,
            )


def vote_of(one) -> Vote:
    n = len(FINDINGS)
    cache = MetricCache()
    cache.keep(CasesByFinding(benign=2, malignant=2))
    loaded = SimpleNamespace(
        findings=FINDINGS,
        calibration=Calibrated() if one.calibrated else None,
        record=SimpleNamespace(scores=one.scores, card={}),
        scores=stored_scores(one.scores),
        patient_codes=np.array([7, -1, -1, -1, -1]),
        keys=np.array([0, 9, 2, 2, 4]),
        rows=np.arange(n),
        trained_cases=np.array([5]) if one.trained else np.empty(0, dtype=np.int64),
        with_regions=one.with_regions,
        without_patient=False,
        prevalences={},
        cache=cache,
    )
    embedded = EmbeddedQuery(np.zeros(2), None, 5, 7, 9)
    loaded.rows = np.arange(n + 1)
    search = Search(
        "m", one.query, hide_same_patient=one.hide_same_patient, group_duplicates=one.group_duplicates
    )
    return estimate_from_neighbours(loaded, search, embedded, one.voters, changed=one.changed)


def test_what_is_said_instead_of_an_estimate_is_true():
    constants = {one for one in vars(reasons).values() if isinstance(one, LazyText)}
    assert constants == set(WHY_NOT) | OF_DISTANCES | OF_WORDS
    said = set()
    for one in searches():
        vote = vote_of(one)
        if vote.why_not:
            assert WHY_NOT[vote.why_not](one), (vote.why_not, one)
            assert not vote.calibrated
            said.add(vote.why_not)
        else:
            assert vote.calibrated
            # A sentence on a metric that is not calibrated is asked of such a metric only.
            untrue = [text for text, holds in WHY_NOT.items() if one.calibrated and holds(one)]
            assert not untrue, (untrue, one)
    assert said == set(WHY_NOT)


# The strip and the other diagnoses


def result(counts, **more) -> SearchResult:
    voters = tuple(name for name, n in counts.items() for _ in range(n))
    ranked = tuple(
        RankedCase(rank, rank, f"c{rank:03d}", rank / 10, finding, None, "")
        for rank, finding in enumerate(voters, 1)
    )
    vote = Vote(voters, dict(counts), next(iter(counts), None))
    return replace(SearchResult(QUERY, "m", ranked, 99, 0, 0, dict(counts), False, None, vote=vote), **more)


def test_the_strip_has_a_short_form_of_every_reason_and_says_it(qtbot):
    assert set(SHORT_REASONS) == set(WHY_NOT) | OF_WORDS
    strip = show_widget(qtbot, SummaryStrip(), 700, 60)
    columns = snapshot(metric("m", 0.9)).columns
    made = result({"benign": 6, "malignant": 4})
    for why, short in SHORT_REASONS.items():
        strip.show_ranking(replace(made, vote=replace(made.vote, why_not=why)), columns)
        assert strip._note.text() == f"No estimate: {short}"
        assert str(why) in " ".join(strip._note.toolTip().split())
        assert not strip.badge.isVisible()
    strip.show_ranking(replace(made, no_close_match=True), columns)
    assert strip._note.text() == "No close match, no estimate"
    estimated = replace(
        made.vote, finding="benign", probability=0.7, interval=(0.5, 0.9), findings=("benign", "malignant")
    )
    for stale in (False, True):
        strip.show_ranking(replace(made, vote=estimated), columns, stale=stale)
        assert not strip._note.isVisible()
        assert (strip.badge.kind == "stale") is stale


@pytest.mark.parametrize(
    ("counts", "other", "rank", "words"),
    [
        ({"malignant": 7, "benign": 3}, "benign", 4, "Nearest benign: rank 8"),
        ({"benign": 10}, "malignant", 78, "Nearest malignant: rank 78, far"),
        ({"malignant": 10}, "benign", 0, "Nearest benign: beyond rank 10, far"),
    ],
)
def test_other_diagnoses_are_called_what_they_are(qtbot, context, counts, other, rank, words):
    columns = snapshot(metric("m", 0.9)).columns
    number = next(n for n, code in enumerate(columns.finding) if columns.findings[code] == other)
    row = int(columns.case_row[number])
    near = RankedCase(rank, row, columns.ids[number], 0.4, other, None, "")
    made = result(counts, others=(near,))
    panel = show_widget(
        qtbot, OtherDiagnoses(context, ThumbnailLoader(lambda _rows, done: done([]))), 600, 90
    )
    panel.show_ranking(made, columns, {})
    assert [f"{one.title} {one.value}" for one in panel.strip.cases] == [words]


# Why these cases


def parts(text: str, pattern: str) -> list[str]:
    found = re.search(pattern, text)
    return re.findall(r"\b(?:aa|bb|cc)\b", found[1]) if found else []


def test_why_says_close_and_far_of_what_is_close_and_far():
    names, said = ("aa", "bb", "cc"), set()
    for ranks in itertools.product((0.1, 0.25, 0.4, 0.6, 0.75, 0.9), repeat=3):
        for amounts in ((1.0, 2.0, 3.0), (3.0, 1.0, 2.0)):
            rank, amount = dict(zip(names, ranks, strict=True)), dict(zip(names, amounts, strict=True))
            text = str(sentence(names, amounts, ranks))
            close, far = parts(text, r"[Cc]lose in ([^,;.]*)"), parts(text, r"[Ff]ar in ([^.]*)")
            assert all(rank[name] <= 0.25 for name in close)
            assert all(rank[name] >= 0.75 for name in far)
            for name in parts(text, r"less so in (\w+)"):
                assert rank[name] > max(rank[one] for one in close)
            for name in parts(text, r"most apart in (\w+)"):
                assert amount[name] == max(amounts)
            if "everything" in text:
                assert max(ranks) <= 0.25
            if "usual" in text:
                assert all(0.25 < one < 0.75 for one in ranks)
            said.add(re.sub(r"\b(?:aa|bb|cc)\b(?:(?:, | and )\b(?:aa|bb|cc)\b)*", "X", text))
    assert said == {
        "Close in everything; most apart in X.",
        "Close in X, far in X.",
        "Far in X.",
        "Close in X, less so in X.",
        "As far apart as usual; most in X.",
    }
    assert sentence(names, (0.0, 0.0, 0.0), (0.5, 0.5, 0.5)).startswith("None of the compared features")
    for rank in (0.1, 0.4, 0.6, 0.9):
        text = str(sentence(("aa",), (1.0,), (rank,)))
        assert text.startswith("Nearer" if rank <= 0.5 else "Farther")
        assert format_number(max(rank, 1 - rank), ".0%") in text


# The report


def test_the_report_says_what_the_vote_is():
    for counts, probability, far, unclear in itertools.product(
        ({}, {"benign": 3}), (None, 0.7), (False, True), (False, True)
    ):
        vote = Vote((), counts, next(iter(counts), None), probability, why_not="A reason.")
        report = ReportDocument(
            "t",
            "now",
            "l",
            "m",
            ReportedQuery(None, None),
            (),
            vote=vote,
            no_close_match=far,
            unclear=unclear,
        )
        text = str(report.estimate_text())
        assert ("No estimate. A reason." in text) == (not counts or probability is None)
        without = replace(report, vote=replace(vote, why_not=""))
        assert ("None of the nearest has a finding" in str(without.estimate_text())) == (not counts)
        assert ("Estimate for benign: 0.70" in text) == (bool(counts) and probability is not None)
        match = str(report.match_text())
        assert ("No close match" in match) == far
        assert ("Unclear" in match) == (unclear and not far)
        for same, copies in itertools.product((0, 2), repeat=2):
            hidden = replace(report, hidden={"same_patient": same, "near_duplicates": copies}).hidden_text()
            assert bool(hidden) == bool(same or copies)
            assert ("same patient" in hidden) == bool(same)
            assert ("of the same lesion or cop" in hidden) == bool(copies)


#: A part of each note of a report -> when it is true, of (search, ranked search).
NOTES = {
    "marks refined the metric by": lambda search, ranked: (
        search.strength > 0
        and ranked.refused is None
        and any(e.judgement.query != "c000" for e in ranked.entries)
    ),
    "because it could not be refined": lambda _search, ranked: ranked.refused is not None,
    "Ranked without": lambda search, _ranked: bool(search.without),
    "Moved along": lambda search, _ranked: any(amount for _, amount in search.concepts),
    "A warning": lambda _search, ranked: bool(ranked.result.warnings),
}


def test_the_notes_of_a_report_are_true_of_its_search():
    made = result({"benign": 3})
    entries = {
        "none": (),
        "mark": (LedgerEntry(1, Judgement(JudgementKind.ALIKE, "c000", "c001")),),
        "other": (LedgerEntry(2, Judgement(JudgementKind.ALIKE, "c050", "c001")),),
    }
    said = set()
    for strength, judged, refused, without, amount, shown, warned in itertools.product(
        (0.0, 1.0), entries, (None, BadInput("No.")), ((), ("size",)), (0.0, 0.5), *[(False, True)] * 2
    ):
        search = Search("m", QUERY, strength=strength, without=without, concepts=(("round", amount),))
        found = replace(made, without_patient=shown, warnings=("A warning.",) if warned else ())
        ranked = RankedSearch(search, found, entries=entries[judged], trust=0.5, refused=refused)
        notes = [str(note) for note in _notes(search, ranked)]
        for part, holds in NOTES.items():
            assert sum(part in note for note in notes) == holds(search, ranked), (part, search)
        assert ("trained again without the query" in _order(search, found, None)) == shown
        assert len(notes) == sum(holds(search, ranked) for holds in NOTES.values())
        said |= {part for part in NOTES if any(part in note for note in notes)}
    assert said == set(NOTES)
