"""The real window in a process of its own, told what to do line by line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

TOP = Path(__file__).resolve().parents[2]


class DrivenWindow:
    """A program with its window; every line is a thing a person does, its answer what is there afterwards."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(home))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.driven"],
            cwd=TOP,
            env=os.environ | folders | {"PYTHONPATH": str(TOP), "QT_QPA_PLATFORM": "offscreen"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def begin(self, what: str, *args: Any) -> None:
        """Start something; :meth:`told` waits for it."""
        assert self._process.stdin is not None
        print(json.dumps([what, *map(_plain, args)]), file=self._process.stdin, flush=True)

    def told(self) -> dict[str, Any]:
        """What is there once the window rests: see :func:`_there`."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the window ended with {self._process.wait()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def do(self, what: str, *args: Any) -> dict[str, Any]:
        self.begin(what, *args)
        return self.told()

    def kill(self) -> None:
        """End it and its processes without a word."""
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._over()

    def quit(self) -> int:
        """Close the window as a person does; the exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._over()

    def _over(self) -> int:
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        return status


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _there(window: MainWindow) -> dict[str, Any]:
    state = window.state
    return {
        "library": str(state.path) if state.path else None,
        "cases": len(state.columns),
        "metrics": [metric.name for metric in state.library.metrics] if state.library else [],
        "judged": state.judgement_count,
        "ledger": state.ledger,
        "ranked": len(state.ranking.ranked) if state.ranking else 0,
        "told": [[one.level, one.what, one.hint] for one in window.context.messages.history],
    }


def main() -> None:
    from semblance.app.metrics import train_metric
    from semblance.app.program import make_application
    from semblance.app.screenshot import settle
    from semblance.app.shell import library_operations as libraries
    from semblance.app.shell import search_operations
    from semblance.app.window.main_window import MainWindow
    from semblance.core.searches.query import Query
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from tests.helpers.windows import flush

    make_application()
    window = MainWindow()
    window.show()
    window.start()
    settle(window)
    context, grid = window.context, window.panels.ranking.grid

    def ask(case: int) -> None:
        search_operations.submit_query(context, Query(case=window.state.columns.ids[case]))

    def judge(ranks: list[int], verdict: int) -> None:
        """One after another, as fast as the window takes them."""
        ranked = [window.state.ranking.ranked[rank].row for rank in ranks] if window.state.ranking else []
        for row in ranked:
            grid.judged.emit(row, verdict)

    def train(name: str) -> None:
        train_metric.train(context, TrainRequest("bdm_v", name, settings={"rounds": 10}), name, 10)

    commands = {
        "open": lambda path: window.open_library(Path(path)),
        "close": lambda: libraries.close_library(context),
        "import": lambda source: libraries.import_source(context, Path(source), window.state.path, "auto"),
        "ask": ask,
        "judge": judge,
        "train": train,
        "look": lambda: None,
    }
    for line in sys.stdin:
        what, *args = json.loads(line)
        commands[what](*args)
        settle(window)
        print(json.dumps(_there(window)), flush=True)
    window.close()
    window.deleteLater()
    flush()


if __name__ == "__main__":
    main()
