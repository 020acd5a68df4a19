from __future__ import annotations

import numpy as np
import pytest

from semblance.app.search.similar.other_diagnoses import (
    CaseStrip,
    StripCase,
    nearest_of_others,
    rank_text,
)
from semblance.app.widgets.cards import card_painter
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.library.case_columns import case_columns
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.searches.search_result import SearchResult


@pytest.fixture
def strip(qtbot) -> CaseStrip:
    made = CaseStrip("Nearest")
    qtbot.addWidget(made)
    made.resize(600, made.sizeHint().height())
    return made


def case(rank: int, row: int, finding: str | None) -> RankedCase:
    return RankedCase(rank, row, f"c{row}", row / 10, finding, None, "", 0)


def test_one_case_stands_for_each_other_finding_nearest_first() -> None:
    findings = ["benign", "benign", "normal", "malignant", "normal", "malignant"]
    columns = case_columns(list(range(6)), [f"c{n}" for n in range(6)], findings, [None] * 6, [0] * 6)
    ranked = tuple(case(n + 1, n, finding) for n, finding in enumerate(findings[:4]))
    result = SearchResult(
        Query(case="q"),
        "plain",
        ranked,
        6,
        same_patient=0,
        near_duplicates=0,
        no_close_match=False,
        counts={"benign": 2, "normal": 1, "malignant": 1},
        others=(case(3, 2, "normal"), case(0, 5, "malignant")),
    )
    assert [one.row for one in nearest_of_others(result, columns)] == [2, 3]


def test_a_case_beyond_rank_20_is_far() -> None:
    assert [rank_text(rank, 200) for rank in (3, 20, 78, 0)] == [
        "rank 3",
        "rank 20",
        "rank 78, far",
        "beyond rank 200, far",
    ]


def test_as_high_with_cases_as_without(strip) -> None:
    empty = strip.sizeHint()
    strip.set_cases(
        [StripCase(row, "Nearest malignant:", "rank 3", "differs in stripes") for row in range(6)]
    )
    assert strip.sizeHint() == empty
    assert strip.cell_rect(strip.visible_count() - 1).right() < strip.width()


def test_no_repaint_for_images_of_cases_that_are_no_longer_shown(qtbot, strip, monkeypatch) -> None:
    grey = np.full((8, 8), 90, dtype=np.uint8)
    source = ThumbnailLoader(lambda rows, done: done([CardImage(row, grey) for row in rows]), strip)
    strip.set_source(source)
    strip.set_cases([StripCase(1, "1", "4.5")])
    qtbot.waitUntil(lambda: source.get(1) is not None)
    # No time to scale an image in the frame in which the first case is drawn.
    monkeypatch.setattr(card_painter, "SCALE_BUDGET_S", -1)
    strip.grab()
    assert strip._images.late == {1}
    monkeypatch.undo()
    strip.set_cases([StripCase(2, "2", "4.5")])
    qtbot.waitUntil(lambda: source.get(2) is not None)
    strip.grab()
    assert strip._images.late == set()
