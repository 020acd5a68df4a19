from __future__ import annotations

import numpy as np

from semblance.app.search.similar.other_diagnoses import CaseStrip, StripCase, _wrap_once
from semblance.app.shell.theme import SMALL
from semblance.app.widgets.cards import card_painter
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.workflows.imaging.card_images import CardImage

NOTE = "differs in stripes 7.1 px wide"


def test_difference_fits_on_two_lines(qtbot) -> None:
    strip = CaseStrip("Nearest")
    qtbot.addWidget(strip)
    strip.resize(524, strip.sizeHint().height())
    strip.set_cases([StripCase(row, str(row), "4.5", NOTE) for row in range(6)])
    width, small = strip.cell_rect(0).width() - 50 - 12, text_cache(SMALL)
    assert max(map(small.width, _wrap_once(NOTE, small.width, width))) <= width
    assert strip.cell_rect(strip.visible_count() - 1).right() < strip.width()


def test_no_repaint_for_images_of_cases_that_are_no_longer_shown(qtbot, monkeypatch) -> None:
    strip = CaseStrip("Nearest")
    qtbot.addWidget(strip)
    strip.resize(524, strip.sizeHint().height())
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
