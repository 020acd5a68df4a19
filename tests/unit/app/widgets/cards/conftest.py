from __future__ import annotations

import pytest

from semblance.app.widgets.cards.case_grid import CaseGrid
from tests.helpers.gallery import sample_deck
from tests.helpers.showing import on_screen


@pytest.fixture
def grid(qtbot) -> CaseGrid:
    """Forty cases."""
    made = CaseGrid()
    made.set_model(sample_deck(40))
    return on_screen(qtbot, made, 560, 400)
