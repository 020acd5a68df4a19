"""The commands on teaching collections: ``semblance collections``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Clean, Json, LibraryArgument, case_ids, cleans_pixels, parse_region
from semblance.app.cli.output import ConsoleReporter, EntryLines, print_document, printer

commands = typer.Typer(
    no_args_is_help=True, help="Teaching collections: lists of cases, places in them, and notes."
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the collection.")]
_Cases = Annotated[str, typer.Option("--case", metavar="ID,...", help="Cases by their ids.")]


def _line(collection: Any) -> str:
    gone = sum(item["gone"] for item in collection["items"])
    listed = f"{collection['name']}: {len(collection['items'])} items"
    return f"{listed}, {gone} of them of cases that are gone" if gone else listed


_show_list = printer(EntryLines("collections", _line, empty="There is no collection."))
_show = printer(_line, EntryLines("items", "{position:4}  {case_id}  {notes}"))

_show_export = printer(EntryLines("files", "{}"), EntryLines("failed", "{case_id} is left out: {reason}"))


@commands.command("list")
def list_collections(library: LibraryArgument, as_json: Json = False) -> None:
    """List the collections with their items."""
    from semblance.core.workflows.teaching.edit_collections import list_collections as listed

    print_document({"collections": listed(library)}, as_json, _show_list)


@commands.command("add")
def add(
    library: LibraryArgument,
    name: _Name,
    cases: _Cases,
    notes: Annotated[str, typer.Option(metavar="TEXT", help="A note on each of them.")] = "",
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="The place in the image, in pixels, of one case.")
    ] = None,
    slice_: Annotated[
        int | None, typer.Option("--slice", min=1, metavar="N", help="The slice of a volume, of one case.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put cases, or a place in one, into a collection. It is made if there is none of this name."""
    from semblance.core.workflows.teaching.edit_collections import add_to_collection

    found = add_to_collection(
        library,
        name,
        case_ids(cases),
        notes=notes,
        region=parse_region(region),
        slice_number=None if slice_ is None else slice_ - 1,
    )
    print_document(found, as_json, _show)


@commands.command("remove")
def remove(
    library: LibraryArgument,
    name: _Name,
    cases: Annotated[
        str, typer.Option("--case", metavar="ID,...", help="Only these cases. Without it, the collection.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Remove cases from a collection, or the whole collection. The cases stay in the library."""
    from semblance.core.workflows.teaching.edit_collections import remove_from_collection

    found = remove_from_collection(library, name, case_ids(cases))
    print_document(found, as_json, printer("{removed} items were removed from {name}."))


@commands.command("export")
def export(
    library: LibraryArgument,
    name: _Name,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Slides (.pdf), a teaching set with covered findings (.zip, or a new folder), or DICOM key objects "
            "(.dcm).",
        ),
    ],
    identified: Annotated[bool, typer.Option(help="Include ids of cases and patients.")] = False,
    free_text: Annotated[
        bool, typer.Option("--free-text", help="Include notes and other free text, which may name patients.")
    ] = False,
    clean: Clean = None,
    marks: Annotated[
        bool, typer.Option("--marks", help="Draw measurements with their results on the images.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a collection for others. It is de-identified unless --identified is given."""
    from semblance.core.workflows.teaching.export_collection import CollectionExport, export_collection

    options = CollectionExport(identified, free_text, cleans_pixels(clean), marks)
    with ConsoleReporter() as reporter:
        result = export_collection(library, name, out, options, reporter=reporter)
    print_document(result, as_json, _show_export)
