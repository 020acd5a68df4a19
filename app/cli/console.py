"""What the command line shows: progress on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Self

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from semblance.core.tasks import Cancelled, Reporter

_errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
#: Tables that go into a file or a pipe are not cut at a terminal's width.
PIPE_WIDTH, WIDE = 200, 1000
#: Control characters, but for ends of lines and tabs.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: Case ids shown without --json.
FEW = 10
_out = Console(
    highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else PIPE_WIDTH
)


def clean(text: str) -> str:
    """``text`` with what a terminal would obey spelled out: a file may be called anything."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def echo(text: str) -> None:
    """Text on stdout."""
    typer.echo(clean(text))


def say(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(clean(text.rstrip()) + "\n")


class _Bars(Progress):
    """Progress bars, and above them what has been found so far."""

    above: RenderableType | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.above is not None:
            yield self.above
        yield from super().get_renderables()


class ConsoleReporter(Reporter):
    """A progress bar with time left on stderr; Ctrl-C cancels, and a second one ends at once."""

    def __init__(self) -> None:
        self._bars = _Bars(
            TextColumn("{task.description}", markup=False),
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
            self._tasks[what] = self._bars.add_task(clean(what), total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)

    def show_above(self, found: RenderableType) -> None:
        """Show ``found`` above the bars, in place of what was there."""
        self._bars.above = found

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _interrupted(self, _signal: int, _frame: FrameType | None) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt
        self._cancelled.set()


def show_rich(table: Table) -> None:
    """A table on stdout, as wide as it is where that is a file."""
    if sys.stdout.isatty():
        _out.print(table)
    else:
        Console(highlight=False, markup=False, soft_wrap=True, width=WIDE).print(table)


def show_list(document: Any) -> None:
    """Any document as indented lines."""
    for line in _lines(document, 0):
        echo(line)


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
    echo(
        f"{document['added']} added, {document['unchanged']} unchanged, {len(document['failed'])} failed, "
        f"{len(document['ignored'])} ignored ({document['kind']})"
    )
    counts = ", ".join(f"{finding} {n}" for finding, n in document["findings"].items())
    echo(f"{document['library']}: {document['cases']} cases; {counts}")
    for note in document.get("notes", ()):
        echo(note)
    for case_id in document["removed"]:
        echo(f"  removed: {case_id}: its file no longer holds it")
    for path in document["missing"]:
        echo(f"  missing: {path}")
    for label in ("failed", "ignored"):
        for item in document[label]:
            echo(f"  {label}: {item['path']}: {item['reason']}")


def _distance(distance: float) -> str:
    """Four decimals, and four figures of what is smaller; English as all of the command line."""
    return f"{distance:#.4g}" if 0 < distance < 0.1 else f"{distance:.4f}"


def show_cases(document: Mapping[str, Any]) -> None:
    """A ranking as a table."""
    table = Table(box=None, pad_edge=False)
    for column, justify in (("rank", "right"), ("case", "left"), ("finding", "left"), ("distance", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for line in document["results"]:
        cells = (str(line["rank"]), line["case_id"], line["finding"] or "–", _distance(line["distance"]))
        table.add_row(*map(clean, cells))
    _out.print(table)
    hidden = document["hidden"]
    echo(
        f"hidden: {hidden['same_patient']} of the same patient, {hidden['near_duplicates']} alike; "
        f"of the 10 nearest: "
        + (", ".join(f"{n} {f}" for f, n in document["vote"]["counts"].items()) or "none")
    )
    vote = document["vote"]
    if vote["calibrated"]:
        low, high = vote["interval"]
        echo(
            f"estimate for {vote['finding']}: {vote['probability']:.2f} ({low:.2f}–{high:.2f}), "
            f"from {vote['measured_on']}; support, not a diagnosis"
        )
        if vote["caution"]:
            echo(f"The estimate is {vote['caution']}.")
        if vote["query_trained_on"]:
            echo("The metric was trained on this query or its patient: it may know it better than others.")
    elif vote["why_not"]:
        echo(f"Counts only. {vote['why_not']}")
    if document["no_good_match"]:
        echo("No good match: the nearest case is farther than is usual in this library.")
    for warning in document["warnings"]:
        echo(warning)


def show_scores(document: Mapping[str, Any]) -> None:
    """Scores of an evaluation as a table: mean and 95 % interval; beside them what its paper prints."""
    results = document["results"]
    names = [name for name in document["compared"] if any(name in result["scores"] for result in results)]
    printed = any(result["printed"] for result in results)
    table = Table(box=None, pad_edge=False)
    table.add_column("learner")
    for name in names:
        table.add_column(name, justify="right")
    if printed:
        table.add_column("paper (printed)")
    table.add_column("fit s", justify="right")
    for result in results:
        cells = [_score(result["scores"].get(name)) for name in names]
        if printed:
            cells.append("; ".join(_printed(value) for value in result["printed"]) or "–")
        table.add_row(result["learner"], *cells, f"{result['fit_seconds']['median']:.3g}")
    _out.print(table)
    source = document["source"]
    echo(
        f"{document['protocol']}, {document['repeats']} repeats, seed {document['seed']}; "
        f"{source['n_cases']} cases; measured on {document['measured_on']} cases, "
        f"patients {source['patients']}"
    )
    for failure in document["failed"]:
        echo(f"failed: {failure['learner']}: {failure['reason']}")


def show_table_scores(document: Mapping[str, Any]) -> None:
    """The scores on every table, then the learners' ranks over all of them and every two compared."""
    for one in document["tables"]:
        echo(f"{one['source']['path']}:")
        show_scores(one)
        echo("")
    for score, test in document["friedman"].items():
        ranks = sorted(test["ranks"].items(), key=lambda pair: pair[1])
        echo(
            f"{score}, {test['tables']} tables: Friedman chi-squared {test['statistic']:.3f}, "
            f"p {test['p_value']:.3g}; average ranks "
            + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks)
        )
        for pair in document["holm"]:
            if pair["score"] == score:
                echo(
                    f"  {pair['a']} and {pair['b']}: z {pair['z']:.2f}, p {pair['p_value']:.3g}, "
                    f"after Holm {pair['p_adjusted']:.3g}"
                )
    for failure in document["failed_tables"]:
        echo(f"failed: {failure['path']}: {failure['reason']}")


def _score(score: Mapping[str, Any] | None) -> str:
    if score is None or score["mean"] is None:
        return "–"
    low, high = score["ci95"] or (None, None)
    spread = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return f"{score['mean']:.3f}{spread}"


def _printed(value: Mapping[str, Any]) -> str:
    return f"{value['score']} {value['value']:.3f}"
