"""What the command line shows: progress on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from core.tasks import Cancelled, Reporter

_errors = Console(stderr=True, highlight=False, soft_wrap=True)
#: Tables that go into a file or a pipe are not cut at a terminal's width.
PIPE_WIDTH = 200
#: Case ids shown without --json.
FEW = 10
_out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def say(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(text.rstrip() + "\n")


class ConsoleReporter(Reporter):
    """A progress bar with time left on stderr; Ctrl-C cancels, and a second one ends at once."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=_errors,
            transient=True,
            disable=not _errors.is_terminal,
        )
        self._tasks: dict[str, Any] = {}
        self._cancelled = threading.Event()
        self._before: Any = None

    def __enter__(self) -> Self:
        self._bars.start()
        with contextlib.suppress(ValueError):  # only the main thread may take signals
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def progress(self, done: int, total: int | None, what: str) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _interrupted(self, _signal: int, _frame: FrameType | None) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt
        self._cancelled.set()


def show_list(document: Any) -> None:
    """Any document as indented lines."""
    for line in _lines(document, 0):
        typer.echo(line)


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(value, Mapping):
        out = []
        for key, inner in value.items():
            if isinstance(inner, Mapping | list | tuple) and inner:
                out += [f"{pad}{key}:", *_lines(inner, depth + 1)]
            else:
                out.append(f"{pad}{key}: {_plain(inner)}")
        return out
    if isinstance(value, Sequence) and not isinstance(value, str):
        out = []
        for inner in value:
            block = _lines(inner, depth + 1)
            out += [f"{pad}- {block[0].lstrip()}", *block[1:]] if block else []
        return out
    return [f"{pad}{_plain(value)}"]


def _plain(value: Any) -> str:
    if value is None or value in ([], {}, ()):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show_info(document: Mapping[str, Any]) -> None:
    """A library, of its case ids the first few."""
    ids = document["case_ids"]
    more = len(ids) > FEW
    show_list({**document, "case_ids": [*ids[:FEW], "… (--json lists them)"] if more else ids})


def show_import(document: Mapping[str, Any]) -> None:
    """Counts, then every file that gave no case with its reason."""
    typer.echo(
        f"{document['added']} added, {document['unchanged']} unchanged, {len(document['failed'])} failed, "
        f"{len(document['ignored'])} ignored ({document['kind']})"
    )
    counts = ", ".join(f"{finding} {n}" for finding, n in document["findings"].items())
    typer.echo(f"{document['library']}: {document['cases']} cases; {counts}")
    for case_id in document["removed"]:
        typer.echo(f"  removed: {case_id}: its file no longer holds it")
    for path in document["missing"]:
        typer.echo(f"  missing: {path}")
    for label in ("failed", "ignored"):
        for item in document[label]:
            typer.echo(f"  {label}: {item['path']}: {item['reason']}")


def show_cases(document: Mapping[str, Any]) -> None:
    """A ranking as a table."""
    table = Table(box=None, pad_edge=False)
    for column, justify in (("rank", "right"), ("case", "left"), ("finding", "left"), ("distance", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for line in document["results"]:
        table.add_row(str(line["rank"]), line["case_id"], line["finding"] or "–", f"{line['distance']:.4f}")
    _out.print(table)
    hidden = document["hidden"]
    typer.echo(
        f"hidden: {hidden['same_patient']} of the same patient, {hidden['near_duplicates']} alike; "
        f"of the 10 nearest: "
        + (", ".join(f"{n} {f}" for f, n in document["vote"]["counts"].items()) or "none")
    )
    if document["no_good_match"]:
        typer.echo("No good match: the nearest case is farther than is usual in this library.")


def show_scores(document: Mapping[str, Any]) -> None:
    """Scores of an evaluation as a table: mean and 95 % interval."""
    chosen = (
        "retrieval_accuracy@1",
        "retrieval_accuracy@10",
        "retrieval_accuracy@50",
        "auc",
        "knn_accuracy@10",
    )
    results = document["results"]
    names = [name for name in chosen if any(name in result["scores"] for result in results)]
    if not names and results:
        names = list(results[0]["scores"])[:6]
    table = Table(box=None, pad_edge=False)
    table.add_column("learner")
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("fit s", justify="right")
    for result in results:
        cells = []
        for name in names:
            score = result["scores"].get(name)
            if score is None or score["mean"] is None:
                cells.append("–")
            else:
                low, high = score["ci95"] or (None, None)
                spread = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
                cells.append(f"{score['mean']:.3f}{spread}")
        table.add_row(result["learner"], *cells, f"{result['fit_seconds']['median']:.3g}")
    _out.print(table)
    source = document["source"]
    typer.echo(
        f"{document['protocol']}, {document['repeats']} repeats, seed {document['seed']}; "
        f"{source['n_cases']} cases; measured on {document['measured_on']} cases, "
        f"patients {source['patients']}"
    )
    for failure in document["failed"]:
        typer.echo(f"failed: {failure['learner']}: {failure['reason']}")
