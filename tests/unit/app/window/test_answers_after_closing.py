"""Answers that come when their library is open no more."""

from __future__ import annotations

import shutil

import pytest

from semblance.app.application import make_application
from semblance.app.screenshot import wait_until_idle
from semblance.app.search.saved import save_search
from semblance.app.shell import search_operations
from semblance.app.shell.library_operations import close_library
from semblance.app.window.main_window import MainWindow
from semblance.core.searches.query import Query
from tests.helpers.windows import flush, open_window

pytestmark = pytest.mark.usefixtures("without_processes")


def test_a_ranking_that_comes_after_its_library_was_closed_is_none(library):
    with open_window(library) as window:
        search_operations.submit_query(window.context, Query(case=window.state.columns.ids[0]))
        close_library(window.context)
        wait_until_idle(window)
        assert window.state.ranking is None


def test_a_ranking_that_comes_after_another_library_was_opened_is_not_shown_in_it(library, tmp_path):
    other = shutil.copytree(library, tmp_path / "Other.semblance")
    with open_window(library) as window:
        opened_with = window.state.query
        asked = Query(case=next(case for case in window.state.columns.ids if case != opened_with.case))
        window.open_library(other)
        search_operations.submit_query(window.context, asked)
        wait_until_idle(window)
        assert window.state.location == other
        assert window.state.query == window.state.ranking.query == opened_with


@pytest.mark.parametrize("do", [save_search.save, save_search.branch])
def test_a_name_that_comes_after_its_library_was_closed_names_nothing(library, do):
    with open_window(library) as window:
        search_operations.submit_query(window.context, Query(case=window.state.columns.ids[0]))
        wait_until_idle(window)
        do(window.context, "mine")
        close_library(window.context)
        wait_until_idle(window)
        assert window.state.search_name == ""


def test_the_library_of_the_start_does_not_take_the_place_of_one_that_was_chosen_sooner(library, tmp_path):
    other = shutil.copytree(library, tmp_path / "Other.semblance")
    make_application()
    window = MainWindow()
    try:
        window.start(library)
        window.open_library(other)
        wait_until_idle(window)
        assert window.state.location == other
    finally:
        window.close()
        window.deleteLater()
        flush()
