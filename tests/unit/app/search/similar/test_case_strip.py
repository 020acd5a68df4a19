from __future__ import annotations

from semblance.app.search.similar.case_strip import CaseStrip, StripCase, _wrap_once
from semblance.app.shell.theme import SMALL
from semblance.app.widgets.text_cache import text_cache

NOTE = "differs in stripes 7.1 px wide"


def test_difference_fits_on_two_lines(qtbot) -> None:
    strip = CaseStrip("Nearest")
    qtbot.addWidget(strip)
    strip.resize(524, strip.sizeHint().height())
    strip.set_cases([StripCase(row, str(row), "4.5", NOTE) for row in range(6)])
    width, small = strip.cell_rect(0).width() - 50 - 12, text_cache(SMALL)
    assert max(map(small.width, _wrap_once(NOTE, small.width, width))) <= width
    assert strip.cell_rect(strip.visible_count() - 1).right() < strip.width()
