from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from semblance.app.search.feedback.judgement_list import ROW, LedgerModel, time_ago
from semblance.core.imaging.region import Region
from semblance.core.library.case_columns import case_columns
from semblance.core.searches.feedback.influence import Influence
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import Ledger, contradictions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import MatchedPlace

COLUMNS = case_columns(range(1, 5), ["a", "b", "c", "d"], [None] * 4, [None] * 4, [0] * 4)
SEARCH = Search("plain", Query(case="a"))
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def shown(ledger: Ledger) -> LedgerModel:
    rows = LedgerModel()
    rows.show(SEARCH, ledger.entries, contradictions(ledger.in_force), COLUMNS)
    return rows


def test_sentences_of_judgements_newest_first():
    ledger = Ledger()
    ledger.add([Judgement(JudgementKind.ALIKE, "a", "b"), Judgement(JudgementKind.NOT_ALIKE, "a", "gone")])
    ledger.add(
        [Judgement(JudgementKind.CLOSER, "a", "b", "c"), Judgement(JudgementKind.ALIKE, "/x/y.png", "d")]
    )
    rows = shown(ledger)
    assert [row.sentence for row in rows.rows] == [
        "d is like y.png",
        "b is closer to the query than c",
        "gone is not like the query",
        "b is like the query",
    ]
    assert [(row.case, row.other, row.of_query) for row in rows.rows] == [
        (4, -1, False),
        (2, 3, True),
        (-1, -1, True),
        (2, -1, True),
    ]
    assert rows.index(1).data() == "b is closer to the query than c"
    assert rows.index(1).data(ROW) is rows.rows[1]


def test_a_mark_on_a_place_says_where_it_is():
    ledger = Ledger()
    region = Region(1, 2, 3, 4).to_json()
    ledger.add(
        [Judgement(JudgementKind.ALIKE, "a", "b", place=region), Judgement(JudgementKind.ALIKE, "a", "d")]
    )
    rows = LedgerModel()
    rows.show(SEARCH, ledger.entries, (), COLUMNS, {"b": MatchedPlace(5, 5, 5, 5, None, 0.5, 10, 12)})
    whole, place = rows.rows
    assert (whole.sentence, whole.place) == ("d is like the query", None)
    assert place.sentence == "b (3 × 4 px at 1, 2) is like the query"
    assert place.place.share == (0.1, 2 / 12, 0.4, 6 / 12)


def test_rows_of_undone_and_contradicting_judgements():
    ledger = Ledger()
    first, second, third = ledger.add(
        [
            Judgement(JudgementKind.CLOSER, "a", "b", "c"),
            Judgement(JudgementKind.CLOSER, "a", "c", "b"),
            Judgement(JudgementKind.ALIKE, "a", "d"),
        ]
    )
    ledger.undo([third])
    rows = shown(ledger)
    assert [row.undone for row in rows.rows] == [True, False, False]
    assert rows.index(0).data().endswith(", undone")
    assert rows.index(1).data().endswith(", contradicts")
    assert set(rows.row_of(first).against[0].entries) == {first, second}
    ledger.undo([second])
    assert shown(ledger).row_of(first).against == ()


def test_unchanged_judgements_keep_the_selection(qtbot):
    ledger = Ledger()
    ids = ledger.add([Judgement(JudgementKind.ALIKE, "a", "b"), Judgement(JudgementKind.ALIKE, "a", "c")])
    rows = shown(ledger)
    ledger.undo(ids[:1])
    with qtbot.assertNotEmitted(rows.modelReset), qtbot.waitSignal(rows.dataChanged):
        rows.show(SEARCH, ledger.entries, (), COLUMNS)
    ledger.add([Judgement(JudgementKind.ALIKE, "a", "d")])
    with qtbot.waitSignal(rows.modelReset):
        rows.show(SEARCH, ledger.entries, (), COLUMNS)


def test_influence_texts():
    ledger = Ledger()
    ids = ledger.add([Judgement(JudgementKind.ALIKE, "a", "b"), Judgement(JudgementKind.ALIKE, "a", "c")])
    rows = shown(ledger)
    rows.show_influences(
        [Influence(ids[0], 1.5, 7, 4, 2, -3), Influence(ids[1], 0.0, 0, 1, 1, 0)], COLUMNS, 20
    )
    assert rows.influences == {
        ids[0]: "moves 7 of 20, most \N{MINUS SIGN}3 (d)",
        ids[1]: "moves none of the first 20",
    }
    assert rows.short_influences == {ids[0]: "moves 7 of 20", ids[1]: "moves 0 of 20"}
    rows.show_influences([], COLUMNS, 20)
    assert rows.influences == {}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "now"), (80, "1 min"), (240, "4 min"), (7300, "2 h"), (3 * 86400, "3 d"), (-60, "now")],
)
def test_times_are_shown_as_how_long_ago_they_were(seconds: int, text: str):
    assert time_ago((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == text


def test_invalid_time_is_empty():
    assert time_ago("") == ""
    assert time_ago("2026-01-02T03:04:05", NOW) == "now"
