from __future__ import annotations

import pytest

from semblance.app.widgets.cards.case_grid import CaseGrid
from tests.helpers.gallery import sample_cases
from tests.helpers.widgets import show_widget


@pytest.fixture
def grid(qtbot) -> CaseGrid:
    """Forty cases."""
    made = CaseGrid()
    made.set_model(sample_cases(40))
    return show_widget(qtbot, made, 560, 400)
