from __future__ import annotations

import pytest

from app.context import Context
from app.messages import Messages
from app.settings import Settings
from app.state import State
from app.theme import set_theme


@pytest.fixture(autouse=True)
def dark(qapp) -> None:
    """Widgets look as in the program."""
    set_theme(qapp, "dark")


@pytest.fixture
def context(jobs):
    return Context(State(), jobs, Messages(), Settings())
