"""Run the notebooks and write what they show: ``python packaging/notebooks.py OUT [NAME ...]``.

A notebook is a Python file in ``resources/help/notebooks`` in cells: ``# %%`` begins code, ``# %% [markdown]`` text in
comments. Editors and Jupytext open it as a notebook. For each one OUT gets ``NAME.md``, the page of the documentation
with the results, its images beside it, and ``NAME.ipynb`` for Jupyter. Needs no Jupyter.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import html
import io
import json
import os
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "resources" / "help" / "notebooks"
#: In the order of a reader.
NAMES = ("first_search", "own_embeddings", "own_split", "own_learner", "marks_and_questions")
_CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)


@dataclass
class Cell:
    """Text in Markdown, or code with what it printed and the value of its last line.

    ``shown``: MIME type -> text, images as base64.
    """

    is_code: bool
    source: str
    printed: str = ""
    shown: dict[str, str] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)


def cells(file: Path) -> list[Cell]:
    """The cells of a notebook, not run."""
    text = file.read_text(encoding="utf-8")
    marks = list(_CELL.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        source = text[mark.end() : end].strip("\n")
        is_code = "[markdown]" not in mark.group(1)
        if not is_code:
            source = "\n".join(re.sub("^# ?", "", line) for line in source.splitlines())
        found.append(Cell(is_code, source))
    return found


def title(file: Path) -> str:
    """Its first heading."""
    return next(
        line.removeprefix("# ")
        for cell in cells(file)
        for line in cell.source.splitlines()
        if not cell.is_code
    )


def run(file: Path, folder: Path) -> list[Cell]:
    """Run every cell in the working folder ``folder``, as Jupyter does.

    Raises:
        RuntimeError: a cell failed; the message has the notebook, the cell and the error.
    """
    module = ModuleType("__main__")
    found = cells(file)
    before, main_module = Path.cwd(), sys.modules["__main__"]
    os.chdir(folder)
    # The classes of a notebook are found by pickle, as in Jupyter.
    sys.modules["__main__"] = module
    try:
        for number, cell in enumerate(found, start=1):
            if cell.is_code:
                _run_cell(cell, module, f"{file.name}, cell {number}")
    finally:
        sys.modules["__main__"] = main_module
        os.chdir(before)
    return found


def _run_cell(cell: Cell, module: ModuleType, name: str) -> None:
    parsed = ast.parse(cell.source)
    last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("default")
            exec(compile(parsed, name, "exec"), vars(module))
            if last is not None:
                value = eval(compile(ast.Expression(last.value), name, "eval"), vars(module))
                if value is not None:
                    cell.shown, cell.size = _representations(value)
    except Exception as error:
        raise RuntimeError(f"{name}: {error}\n{traceback.format_exc(limit=-4)}") from error
    cell.printed = printed.getvalue()


def _representations(value: Any) -> tuple[dict[str, str], dict[str, int]]:
    """What Jupyter would store of ``value``: MIME type -> text, and the size of an image."""
    found, size = {"text/plain": repr(value)}, {}
    if isinstance(value, type):
        return found, size
    markup = getattr(value, "_repr_html_", None)
    text = markup() if markup is not None else None
    if text is not None:
        found["text/html"] = text
    picture = getattr(value, "_repr_png_", None)
    image = picture() if picture is not None else None
    if image is not None:
        data, size = image if isinstance(image, tuple) else (image, {})
        found["image/png"] = base64.b64encode(data).decode("ascii")
    return found, size


def as_ipynb(found: list[Cell]) -> str:
    """The notebook as Jupyter's file of format 4.5, with its results if it was run."""
    stored: list[dict[str, Any]] = []
    number = 0
    for place, cell in enumerate(found):
        one: dict[str, Any] = {
            # Equal notebooks are equal files.
            "id": hashlib.sha256(f"{place} {cell.source}".encode()).hexdigest()[:12],
            "metadata": {},
            "source": cell.source.splitlines(keepends=True),
            "cell_type": "code" if cell.is_code else "markdown",
        }
        if cell.is_code:
            number += 1
            outputs: list[dict[str, Any]] = []
            if cell.printed:
                outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(cell.printed)})
            if cell.shown:
                data = {
                    kind: text if kind == "image/png" else _lines(text) for kind, text in cell.shown.items()
                }
                metadata = {"image/png": cell.size} if cell.size else {}
                outputs.append(
                    {
                        "output_type": "execute_result",
                        "execution_count": number,
                        "data": data,
                        "metadata": metadata,
                    }
                )
            one |= {"outputs": outputs, "execution_count": number if outputs else None}
        stored.append(one)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document = {
        "cells": stored,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def as_markdown(found: list[Cell], name: str) -> Iterator[tuple[str, str | bytes]]:
    """(file, content): the page ``NAME.md`` with the results as HTML, and its images."""
    parts: list[str] = []
    images: list[tuple[str, bytes]] = []
    for cell in found:
        if not cell.is_code:
            parts.append(cell.source)
            continue
        if cell.source:
            parts.append(f"```python\n{cell.source}\n```")
        if cell.printed:
            parts.append(_text_block(cell.printed))
        if "text/html" in cell.shown:
            # Without empty lines, which would end a block of HTML in Markdown.
            markup = re.sub(r"\n\s*\n", "\n", cell.shown["text/html"])
            parts.append(f'<div class="notebook-output">\n{markup}\n</div>')
        elif "image/png" in cell.shown:
            file = f"{name}_{len(images) + 1}.png"
            images.append((file, base64.b64decode(cell.shown["image/png"])))
            width = f' width="{cell.size["width"]}"' if "width" in cell.size else ""
            alternative = html.escape(cell.source.splitlines()[-1])
            parts.append(
                f'<div class="notebook-output">\n<img src="{file}" alt="{alternative}"{width}>\n</div>'
            )
        elif cell.shown:
            parts.append(_text_block(cell.shown["text/plain"]))
    yield f"{name}.md", "\n\n".join(parts) + "\n"
    yield from images


def _text_block(text: str) -> str:
    return f'<div class="notebook-output">\n<pre>{html.escape(text.rstrip())}</pre>\n</div>'.replace(
        "\n\n", "\n&#8203;\n"
    )


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def write(out: Path, name: str) -> None:
    """Run the notebook ``name`` in a folder of its own and write what it shows into ``out``.

    Raises:
        RuntimeError: a cell failed.
    """
    file = FOLDER / f"{name}.py"
    with tempfile.TemporaryDirectory(prefix="semblance-notebook-") as folder:
        found = run(file, Path(folder))
    out.mkdir(parents=True, exist_ok=True)
    for path, content in (*as_markdown(found, name), (f"{name}.ipynb", as_ipynb(found))):
        (out / path).write_bytes(content.encode() if isinstance(content, str) else content)


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    for name in arguments[1:] or NAMES:
        started = time.monotonic()
        write(Path(arguments[0]), name)
        print(f"{name}: {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
