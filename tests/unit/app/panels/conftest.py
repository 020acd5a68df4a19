from __future__ import annotations

import pytest

from semblance.app.theme import set_theme


@pytest.fixture(autouse=True)
def dark(qapp) -> None:
    """Widgets look as in the program."""
    set_theme(qapp, "dark")
