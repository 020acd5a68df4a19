"""The first rows of a table, or of a list of images, before their import, read with the chosen settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.importers.csv_text import read_csv
from semblance.core.library.importers.encodings import whole_lines
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.list_columns import ListColumns
from semblance.core.library.importers.source import Source
from semblance.core.library.importers.table import TablePreview, is_table, preview_table
from semblance.core.library.importers.table_file import PARAMETERS, TableFormat
from semblance.core.parameters import parse_settings
from semblance.core.tasks import SILENT, Reporter

#: Rows of a preview.
ROWS = 6
#: Bytes at the start of a list that are read for a preview.
_LIST_BYTES = 1 << 20


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


def preview_of_list(path: Path, settings: Sequence[str] = (), *, reporter: Reporter = SILENT) -> TablePreview:
    """The first rows of the largest list of images in the source ``path``, with what its columns are taken as; without
    columns where no list is read. ``settings`` as for an import of the kind folder.

    Raises:
        BadInput: the source or its list cannot be read.
        BadArguments: unknown settings.
    """
    values = parse_settings("a folder of images", FolderImporter.parameters, list(settings))
    with Source.open(path) as source:
        lists = FolderImporter().with_settings(values).lists(source)
        if not lists:
            return TablePreview((), (), ())
        name = lists[0]
        with source.stream(name) as file:
            data = file.read(_LIST_BYTES)
    if len(data) == _LIST_BYTES:
        data = whole_lines(data) or data
    text = read_csv(data, name)
    rows = tuple(tuple(row) for row in text.rows[:ROWS])
    try:
        columns = ListColumns.of(text, values, name)
    except BadArguments as error:
        return TablePreview(tuple(text.header), (), rows, error.message)
    note = f"{name} ({columns.layout})" if columns.layout else name
    return TablePreview(tuple(text.header), columns.uses(len(text.header)), rows, note=note)
