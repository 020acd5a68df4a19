"""Two programs on one library: each reports the other, and nothing that either does is lost."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.close_library import close_library
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.maintenance.verify_library import verify_library
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import open_metric
from tests.helpers.images import striped_folder
from tests.helpers.window_process import WindowProcess
from tests.soak.process_usage import family

OTHER = "open in another window too"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    library = folder / "Shared.semblance"
    import_source(striped_folder(folder / "images", n=24), library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    striped_folder(folder / "more", n=3, seed=5)
    striped_folder(folder / "others", n=4, seed=6)
    return folder


@pytest.fixture
def library(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "Shared.semblance"
    shutil.copytree(made / copy.name, copy)
    return copy


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], WindowProcess]]:
    started: list[WindowProcess] = []

    def one() -> WindowProcess:
        started.append(WindowProcess(tmp_path / f"home{len(started)}"))
        return started[-1]

    yield one
    for window in started:
        window.kill()


def errors(state: dict) -> list[list[str]]:
    return [message for message in state["messages"] if message[0] == "error"]


def held(window: WindowProcess, library: Path) -> list[str]:
    """Files of ``library`` that any process of ``window`` has open."""
    found = []
    for pid in family(window.pid):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = str(handle.readlink())
            except OSError:
                continue
            found += [target] if str(library) in target else []
    return found


def test_two_windows_judge_train_and_import_without_losing_data(made, library, start):
    first, second = start(), start()
    state = first.run_command("open", library)
    assert state["messages"] == []
    first.run_command("ask", 0)
    state = second.run_command("open", library)
    (message,) = state["messages"]
    assert OTHER in message[1]
    assert str(first.pid) in message[1]
    # The second shows the search that the first began: both judge into one ledger, at the same time.
    assert second.run_command("look")["ledger"] == first.run_command("look")["ledger"]
    assert state["ranked"] > 10
    first.send_command("judge", [0, 1, 2, 3, 4], 1)
    second.send_command("judge", [18, 17, 16, 15, 14], -1)
    answers = [first.read_state(), second.read_state()]
    for window, name in ((first, "by the first"), (second, "by the second")):
        window.send_command("train", name)
    answers += [first.read_state(), second.read_state()]
    for window, name in ((first, "more"), (second, "others")):
        window.send_command("import", made / name)
    answers += [first.read_state(), second.read_state()]
    assert [errors(state) for state in answers] == [[]] * 6
    assert [window.quit() for window in (first, second)] == [0, 0]
    with open_library(library) as opened:
        assert len(opened.catalogue.all_cases()) == 24 + 3 + 4
        assert {metric.name for metric in opened.metrics()} == {
            "plain",
            "by the first",
            "by the second",
            "encoder + Euclidean",
        }
    ledger = open_metric(library, "plain").ledger(state["ledger"])
    assert len(ledger.in_force) == 10
    close_library()
    assert verify_library(library).unrepaired_problems == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_library_closed_in_one_window_stays_usable_in_the_other(library, start):
    first, second = start(), start()
    for window, case in ((first, 1), (second, 6)):
        window.run_command("open", library)
        window.run_command("ask", case)
        window.run_command("judge", [2], 1)
    first.run_command("train", "by the first")
    assert held(first, library)
    state = first.run_command("close")
    assert state["library"] is None
    assert held(first, library) == []
    state = second.run_command("judge", [15, 16], -1)
    assert errors(state) == []
    assert state["judged"] == 4
    second.kill()
    state = first.run_command("open", library)
    assert OTHER not in "".join(message[1] for message in state["messages"])
    assert state["metrics"] == ["plain", "by the first"]
    assert errors(state) == []


def test_a_library_removed_under_a_window_is_reported_as_a_sentence(made, library, tmp_path, start):
    copy = tmp_path / "Copy.semblance"
    shutil.copytree(library, copy)
    window = start()
    window.run_command("open", library)
    state = window.run_command("ask", 0)
    shutil.rmtree(library)
    for what, *args in (("ask", 3), ("train", "gone"), ("import", made / "more"), ("close",)):
        before = len(errors(state))
        state = window.run_command(what, *args)
        new = errors(state)[before:]
        assert new
        assert {message[1] for message in new} == {f"{library} does not exist."}
    assert state["library"] is None
    assert not library.exists()
    state = window.run_command("open", copy)
    assert state["cases"] == 24
    assert window.run_command("ask", 3)["ranked"] > 10
    assert window.quit() == 0
