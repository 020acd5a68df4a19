"""Text on stdout and stderr: single lines, tables, any document, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from semblance.core.language import visible, visible_lines

#: Columns of a table that goes into a pipe, and into one that must not be cut.
PIPE_WIDTH, FILE_WIDTH = 200, 1000
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


def print_document(document: Any, as_json: bool, show: Callable[[Any], None]) -> None:
    """Print ``document`` as JSON, or with ``show``."""
    if as_json:
        unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        text = json.dumps(document, ensure_ascii=not unicode, indent=2, allow_nan=False, default=str)
        sys.stdout.write(text + "\n")
    else:
        show(document)
