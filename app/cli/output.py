"""What commands print: lines, tables, any document and JSON on stdout; errors and progress on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self, TextIO

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from semblance.core.language import visible, visible_lines
from semblance.core.log import PhaseLog
from semblance.core.tasks import Cancelled, Reporter

#: Columns of a table that goes into a pipe, and into one that must not be cut.
PIPE_WIDTH, FILE_WIDTH = 200, 1000
_STDOUT, _STDERR = 1, 2
#: Where JSON goes while :func:`json_alone`.
_json_output: TextIO | None = None
stderr = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
stdout = Console(
    highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else PIPE_WIDTH
)


def echo(line: str) -> None:
    """Print one line on stdout. Names in it may hold anything."""
    typer.echo(visible(line))


def echo_lines(text: str) -> None:
    """Print a text of several lines on stdout."""
    typer.echo(visible_lines(text))


def print_error(text: str) -> None:
    """Print one line on stderr."""
    sys.stderr.write(visible_lines(text.rstrip()) + "\n")


def print_table(table: Table) -> None:
    """Print a table; into a file in its full width."""
    if sys.stdout.isatty():
        stdout.print(table)
    else:
        Console(highlight=False, markup=False, soft_wrap=True, width=FILE_WIDTH).print(table)


def show_fields(document: Any) -> None:
    """Print any document as indented lines."""
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
    if value is None or (isinstance(value, str | list | dict | tuple) and not value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


#: A line: a text with ``{key}`` for values of the document, or what a function makes of it, also several lines; nothing
#: where empty.
Text = str | Callable[[Any], str | tuple[str, ...]]


def score_text(score: Mapping[str, Any] | None) -> str:
    """A mean with its 95 % interval, such as "0.812 (0.790–0.834)"; a dash where nothing was measured."""
    if score is None or score["mean"] is None:
        return "–"
    low, high = score["ci95"] or (None, None)
    spread = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return f"{score['mean']:.3f}{spread}"


@dataclass(frozen=True)
class EntryLines:
    """A line for each entry of the list ``key``, or of the document itself; ``empty`` where there is none."""

    key: str
    text: Text
    empty: str = ""
    most: int | None = None


@dataclass(frozen=True)
class EntryTable:
    """A table of the entries of the list ``key``, each column a title and its text; ``empty`` where there is none."""

    key: str
    columns: Mapping[str, Text]
    empty: str = ""


@dataclass(frozen=True)
class LineIfPresent:
    """A line where the document has a value ``key`` that is not empty, or the one ``otherwise``."""

    key: str
    text: Text
    otherwise: str = ""


def printer(*parts: Text | EntryLines | EntryTable | LineIfPresent) -> Callable[[Any], None]:
    """What prints a document as text: its ``parts`` in their order."""

    def show(document: Any) -> None:
        for part in parts:
            if isinstance(part, EntryLines | EntryTable):
                entries = document[part.key] if part.key else document
                if not entries and part.empty:
                    _echo_text(part.empty, document)
                if isinstance(part, EntryLines):
                    for entry in entries[: part.most]:
                        _echo_text(part.text, entry)
                elif entries:
                    table = Table(*part.columns, box=None)
                    for entry in entries:
                        table.add_row(*(visible(str(_text(one, entry))) for one in part.columns.values()))
                    print_table(table)
            elif isinstance(part, LineIfPresent):
                _echo_text(part.text if document[part.key] else part.otherwise, document)
            else:
                _echo_text(part, document)

    return show


def _text(text: Text, value: Any) -> str | tuple[str, ...]:
    if not isinstance(text, str):
        return text(value)
    return text.format_map(value) if isinstance(value, Mapping) else text.format(value)


def _echo_text(text: Text, value: Any) -> None:
    found = _text(text, value)
    for line in (found,) if isinstance(found, str) else found:
        if line:
            echo(line)


@contextlib.contextmanager
def json_alone() -> Iterator[None]:
    """Leave stdout to :func:`write_json`: whatever else prints there, such as a plug-in, a library in C or a worker
    process, prints on stderr."""
    global _json_output
    own = sys.stdout
    try:
        is_of_process = own.fileno() == _STDOUT
    except (OSError, ValueError, AttributeError):
        is_of_process = False
    output = own
    if is_of_process:
        own.flush()
        output = os.fdopen(os.dup(_STDOUT), "w", encoding=own.encoding, errors=own.errors)
        os.dup2(_STDERR, _STDOUT)
    _json_output, sys.stdout = output, sys.stderr
    try:
        yield
    finally:
        _json_output, sys.stdout = None, own
        if is_of_process:
            os.dup2(output.fileno(), _STDOUT)
            output.close()


def write_json(document: Any, indent: int | None = None) -> None:
    """Write plain values as one JSON document, at once."""
    output = _json_output or sys.stdout
    unicode = (output.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(document, ensure_ascii=not unicode, indent=indent, allow_nan=False, default=str)
    output.write(text + "\n")
    output.flush()


def print_document(document: Any, as_json: bool, show: Callable[[Any], None]) -> None:
    """Print ``document``, a result or plain values, as JSON, or with ``show``."""
    document = document.to_json() if hasattr(document, "to_json") else document
    if as_json:
        write_json(document, indent=2)
    else:
        show(document)


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
            console=stderr,
            transient=True,
            disable=not stderr.is_terminal,
        )
        self._tasks: dict[str, Any] = {}
        self._cancelled = threading.Event()
        self._before: Any = None
        self._phases = PhaseLog()

    def __enter__(self) -> Self:
        self._bars.start()
        with contextlib.suppress(ValueError):  # only the main thread may take signals
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        self._phases.end()
        self._bars.stop()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def progress(self, done: int, total: int | None, what: str) -> None:
        self._phases.enter(what)
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(visible(what), total=total)
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
