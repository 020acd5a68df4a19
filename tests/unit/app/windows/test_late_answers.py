"""Answers that come when their library is open no more."""

from __future__ import annotations

import shutil

import pytest

from app.operations import searching
from app.operations.library import close_library
from app.screenshot import settle
from core.searches.query import Query
from tests.helpers.windows import open_window

pytestmark = pytest.mark.usefixtures("without_processes")


def test_a_ranking_that_comes_after_its_library_was_closed_is_none(library):
    with open_window(library) as window:
        searching.ask(window.context, Query(case=window.state.columns.ids[0]))
        close_library(window.context)
        settle(window)
        assert window.state.ranking is None


def test_a_ranking_that_comes_after_another_library_was_opened_is_not_shown_in_it(library, tmp_path):
    other = shutil.copytree(library, tmp_path / "Other.semblance")
    with open_window(library) as window:
        window.open_library(other)
        searching.ask(window.context, Query(case=window.state.columns.ids[0]))
        settle(window)
        assert window.state.path == other
        assert window.state.ranking is None
        assert window.state.query is None
