"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semblance.core.errors import BadArguments, BadInput

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
LibraryPath = Annotated[Path, typer.Argument(metavar="LIB", help="The library's folder.")]


def parse_region(text: str | None) -> Region | None:
    """The region an option names.

    Raises:
        BadArguments: ``text`` is none.
    """
    from semblance.core.imaging.region import Region

    try:
        return None if text is None else Region.parse(text)
    except BadInput as error:
        raise BadArguments(error.message, error.hint) from None
