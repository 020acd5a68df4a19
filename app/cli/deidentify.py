"""The command that de-identifies DICOM files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Json, Location, names_in
from semblance.app.cli.output import echo, print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.library.location import library_location

commands = typer.Typer()

#: Files that are named in the terminal. With --json all are.
MAX_FILES = 10


def show_files(document: Any) -> None:
    echo(f"{document['folder']}: {document['files']:,} files of {document['patients']:,} patients.")
    echo(f"What was removed and by which rule: {document['receipt']}")
    if document["burnt_in_text_not_checked"]:
        echo(
            f"{document['burnt_in_text_not_checked']:,} files may have text burnt into their pixels: check them, "
            "or add --clean pixels."
        )
    hidden = document["burnt_in_text"]
    if hidden["boxes"]:
        echo(
            f"Text was blacked out in {hidden['frames']:,} images of {hidden['files']:,} files "
            f"({hidden['boxes']:,} boxes). Look at them before you pass them on."
        )
    for file in document["failed"][:MAX_FILES]:
        echo(f"Not written: {file['file']}: {file['reason']}")
    if len(document["failed"]) > MAX_FILES:
        echo(f"{len(document['failed']) - MAX_FILES:,} more were not written; --json lists them.")


@commands.command()
def deidentify(
    source: Annotated[
        Location,
        typer.Argument(
            metavar="SOURCE", help="A folder, zip, DICOM file or library.", parser=library_location
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the files and their receipt.")],
    profile: Annotated[str, typer.Option(metavar="basic", help="The profile of PS3.15 Annex E.")] = "basic",
    retain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            help="What to retain: full-dates, modified-dates, patient, device, uids, safe-private or institution. "
            "The option can be repeated.",
        ),
    ] = None,
    clean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            help="What to clean: pixels (text burnt into images), or instead of removing it descriptors, structured "
            "or graphics. Can be repeated.",
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The same project gives the same codes, UIDs and date shifts again."
        ),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="With --clean pixels: a new folder for the images with boxes around the text, which they still show.",
        ),
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --clean pixels: the file boxes.json of a review, with your changes."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """De-identify DICOM files by the Basic Profile of DICOM PS3.15, with a receipt of what was removed."""
    from semblance.core.imaging.deidentification.profile import CLEANING, RETAINING, parse_options
    from semblance.core.workflows.imaging.deidentify_files import deidentify_files

    if profile != "basic":
        raise BadArguments(f"There is no profile '{profile}'.", "The profile is basic.")
    retained = parse_options(names_in(",".join(retain or [])), RETAINING)
    cleaned = parse_options(names_in(",".join(clean or [])), CLEANING)
    with ConsoleReporter() as reporter:
        result = deidentify_files(
            source, out, retained | cleaned, project, review=review, boxes=boxes, reporter=reporter
        )
    print_document(result.to_json(), as_json, show_files)
    if not result.files:
        raise SemblanceError(f"No DICOM file of {source} was de-identified.", "See the reasons above.")
