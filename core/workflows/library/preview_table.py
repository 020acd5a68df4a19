"""The first rows of a table before its import, read with the chosen settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.importers.source import Source
from semblance.core.library.importers.table import TablePreview, is_table, preview_table
from semblance.core.library.importers.table_file import PARAMETERS, TableFormat
from semblance.core.parameters import parse_settings
from semblance.core.tasks import SILENT, Reporter

#: Rows of a preview.
ROWS = 6


def preview_of_table(
    path: Path, settings: Sequence[str] = (), *, reporter: Reporter = SILENT
) -> TablePreview:
    """The first rows of the first table of the source ``path``; ``settings`` as for an import.

    Raises:
        BadInput: the source has no table, or none of its rows can be read.
        BadArguments: unknown settings.
    """
    form = TableFormat.of(parse_settings("a table", PARAMETERS, list(settings)))
    with Source.open(path) as source:
        for entry in source.entries():
            if is_table(source, entry):
                with source.stream(entry.path) as file:
                    return preview_table(file, source.label(entry.path), form, ROWS)
    raise BadInput(tr_lazy("'{source}' contains no table.", source=path), "Choose another kind.")
