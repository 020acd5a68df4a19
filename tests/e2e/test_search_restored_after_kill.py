"""A search outlives the program: killed without warning, the next start shows it again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import load_state
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window, wait_for

#: The real window with its processes; it says when everything a person did is saved, and then hangs.
PROGRAM = """
import sys, time
from pathlib import Path


def main():
    from semblance.app.search.feedback import mark_cards
    from semblance.app.shell import search_operations
    from semblance.app.application import make_application
    from semblance.app.window.main_window import MainWindow
    from semblance.core.searches.query import Query
    from semblance.core.workflows.library.library_snapshot import load_state
    from tests.helpers.windows import wait_for

    application = make_application()
    window = MainWindow()
    window.show()
    library = Path(sys.argv[1])
    window.start(library)
    wait_for(window, lambda: window.state.library is not None)
    search_operations.submit_query(window.context, Query(case=window.state.columns.ids[4]))
    wait_for(window, lambda: window.state.ranking is not None and window.panels.query.shows_query)
    window.panels.ranking.grid.judged.emit(window.state.ranking.ranked[6].row, 1)
    wait_for(window, lambda: window.state.ranked_search.entries)
    window.state.change_search(strength=0.3)
    window.panels.query.view.zoom_by(3)
    zoom = window.panels.query.view.viewport.zoom

    def is_stored():
        state = load_state(library) or {}
        return state.get("strength") == 0.3 and (state.get("view") or {}).get("zoom", [0])[0] == zoom

    wait_for(window, is_stored)
    print("saved", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main()
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    made = tmp_path / "Striped.semblance"
    import_source(striped_folder(tmp_path / "images", n=24), made)
    extract_features(made, "colour_edge_texture")
    train_metric(made, TrainRequest("euclidean", "plain"))
    return made


def test_a_killed_program_shows_its_search_again(library: Path, tmp_path: Path, private_home: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    top = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, str(program), str(library)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=top,
        env={**os.environ, "PYTHONPATH": str(top), "QT_QPA_PLATFORM": "offscreen"},
        start_new_session=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "saved\n"
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    state = load_state(library)
    assert state is not None
    with open_window(library) as window:
        wait_for(window, lambda: window.state.ranked_search is not None and window.panels.query.shows_query)
        assert window.state.query == Query(case=window.state.columns.ids[4])
        assert window.state.search.strength == 0.3
        assert [entry.undone for entry in window.state.ranked_search.entries] == [None]
        assert [window.panels.query.view.viewport.zoom] == state["view"]["zoom"][:1]
    ledger = open_metric(library, "plain").ledger(str(state["ledger"]))
    assert len(ledger.entries) == 1
    close_loaded_metrics()
