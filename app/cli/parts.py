"""What the files of commands share: options met in many of them, and how a result is printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semblance.core.errors import BadArguments, BadInput

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
LibraryPath = Annotated[Path, typer.Argument(metavar="LIB", help="The library's folder.")]


def parsed_region(text: str | None) -> Region | None:
    """The region an option names.

    Raises:
        BadArguments: ``text`` is none.
    """
    from semblance.core.imaging.region import Region

    try:
        return None if text is None else Region.parse(text)
    except BadInput as error:
        raise BadArguments(error.message, error.hint) from None


def print_document(document: Any, as_json: bool, show: Callable[[Any], None]) -> None:
    """``document`` as JSON, or as ``show`` shows it."""
    if as_json:
        unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        text = json.dumps(document, ensure_ascii=not unicode, indent=2, allow_nan=False, default=str)
        sys.stdout.write(text + "\n")
    else:
        show(document)
