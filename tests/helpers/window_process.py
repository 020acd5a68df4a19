"""The real window in another process. It reads commands line by line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

TOP = Path(__file__).resolve().parents[2]


class WindowProcess:
    """A process with the window. Each command is an action of a user; the response is the state afterwards."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(home))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.window_process"],
            cwd=TOP,
            env=os.environ | folders | {"PYTHONPATH": str(TOP), "QT_QPA_PLATFORM": "offscreen"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def send_command(self, command: str, *args: Any) -> None:
        """Send a command. :meth:`read_state` waits for its end."""
        assert self._process.stdin is not None
        print(json.dumps([command, *map(_plain, args)]), file=self._process.stdin, flush=True)

    def read_state(self) -> dict[str, Any]:
        """The state when the window is idle, see :func:`_window_state`."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the window ended with {self._process.wait()}"
        state: dict[str, Any] = json.loads(line)
        return state

    def run_command(self, command: str, *args: Any) -> dict[str, Any]:
        self.send_command(command, *args)
        return self.read_state()

    def kill(self) -> None:
        """Kill the window and its processes."""
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._wait_for_end()

    def quit(self) -> int:
        """Close the window as a user does and return the exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._wait_for_end()

    def _wait_for_end(self) -> int:
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        return status


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _window_state(window: MainWindow) -> dict[str, Any]:
    state = window.state
    return {
        "library": str(state.location) if state.location else None,
        "cases": len(state.columns),
        "metrics": [metric.name for metric in state.library.metrics] if state.library else [],
        "judged": state.judgement_count,
        "ledger": state.ledger,
        "ranked": len(state.ranking.ranked) if state.ranking else 0,
        "messages": [
            [message.level, message.what, message.hint] for message in window.context.messages.history
        ],
    }


def main() -> None:
    from semblance.app.application import make_application
    from semblance.app.library.prepare_operations import import_and_prepare
    from semblance.app.metrics.train_ticked_learner import train_ticked_learner
    from semblance.app.screenshot import wait_until_idle
    from semblance.app.shell import library_operations as libraries
    from semblance.app.shell import search_operations
    from semblance.app.window.main_window import MainWindow
    from semblance.core.library.location import library_location
    from semblance.core.searches.query import Query
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from tests.helpers.windows import flush

    make_application()
    window = MainWindow()
    window.show()
    window.start()
    wait_until_idle(window)
    context, grid = window.context, window.panels.ranking.grid

    def ask(case: int) -> None:
        search_operations.submit_query(context, Query(case=window.state.columns.ids[case]))

    def judge(ranks: list[int], verdict: int) -> None:
        """Judge cases one after another, as fast as the window accepts them."""
        ranked = [window.state.ranking.ranked[rank].row for rank in ranks] if window.state.ranking else []
        for row in ranked:
            grid.judged.emit(row, verdict)

    def train(name: str) -> None:
        train_ticked_learner(context, TrainRequest("bdm_v", name, settings={"rounds": 10}))

    commands = {
        "open": lambda path: window.open_library(library_location(path)),
        "close": lambda: libraries.close_library(context),
        "import": lambda source: import_and_prepare(context, Path(source), window.state.location, "auto"),
        "ask": ask,
        "judge": judge,
        "train": train,
        "look": lambda: None,
    }
    for line in sys.stdin:
        command, *args = json.loads(line)
        commands[command](*args)
        wait_until_idle(window)
        print(json.dumps(_window_state(window)), flush=True)
    window.close()
    window.deleteLater()
    flush()


if __name__ == "__main__":
    try:
        main()
    except Exception:
        # The window shows exceptions as messages, and nobody sees this window.
        traceback.print_exc()
        raise
