from __future__ import annotations

from PySide6.QtCore import Qt

from semblance.app.search.why.waterfall import Contribution, Waterfall
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.section_header import SectionHeader


def test_short_names_give_their_width_to_the_bars(qtbot) -> None:
    widths = []
    for name in ("Gabor, 5 px", "A name as long as that of any group of features"):
        waterfall = Waterfall()
        qtbot.addWidget(waterfall)
        waterfall.resize(290, 120)
        waterfall.show_contributions(
            [Contribution(name, 0.4, key="a"), Contribution("Size", 0.6, key="b")], 1.0
        )
        waterfall.show()
        qtbot.waitExposed(waterfall)
        widths.append(waterfall.rows[0].bar.width())
    assert widths[0] > widths[1] + 20


def test_section_header_has_the_same_height_with_an_action(qtbot) -> None:
    head = SectionHeader("Contributions to the distance", note="untick to leave out")
    qtbot.addWidget(head)
    before = head.sizeHint().height()
    head.set_note("")
    head.set_action("Reset")
    assert head.sizeHint().height() == before


def test_small_contributions_are_shown_in_full(qtbot) -> None:
    waterfall = Waterfall()
    qtbot.addWidget(waterfall)
    waterfall.resize(290, 120)
    waterfall.show_contributions(
        [Contribution("word 22", 0.000646, key="a"), Contribution("others", 0.0074, key="b")], 0.008046
    )
    waterfall.show()
    qtbot.waitExposed(waterfall)
    label = waterfall.rows[0]._amount
    assert label.text() == label.shown_text() == "+0.00065"
    assert waterfall.total.amount_text == "0.00805"


def test_text_elided_in_the_middle_fits(qtbot) -> None:
    label = ElidedLabel("BDM+V refined", mode=Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(label)
    for width in range(30, 110):
        label.resize(width, 20)
        assert label.fontMetrics().horizontalAdvance(label.shown_text()) <= width
