"""The commands on whole libraries and on those that several people share on a server: ``semblance library``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import LIBRARY_HELP, Json, LibraryPath
from semblance.app.cli.output import echo, print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.core.library.address import library_path

commands = typer.Typer(no_args_is_help=True, help="Move whole libraries, and manage those on a server.")


def show_move(document: Any) -> None:
    echo(
        f"{document['target']} holds the same as {document['source']}: {document['rows']:,} rows, "
        f"{document['files']:,} files, {document['thumbnails']:,} thumbnails."
    )
    echo(
        f"{document['source']} was removed."
        if document["removed"]
        else f"{document['source']} is still there. With --remove it is removed."
    )


def show_people(document: Any) -> None:
    for one in document:
        echo(f"{one['right']:13}  {one['name']}")
    if not document:
        echo("Nobody has a right of this library. Its owner and superusers may do everything.")


def show_indexes(document: Any) -> None:
    for one in document:
        if one["candidates"] is None:
            echo(f"{one['metric']}: no candidates. {one['why_none']}")
        else:
            echo(
                f"{one['metric']}: {one['candidates']} candidates of {one['cases']:,} cases contain "
                f"{one['recall@20']:.3f} of the 20 nearest (measured with {one['measured_with']} cases)."
            )


@commands.command()
def move(
    source: Annotated[Path, typer.Argument(metavar="FROM", help=LIBRARY_HELP, parser=library_path)],
    target: Annotated[
        Path, typer.Argument(metavar="TO", help="A new folder, or an empty database.", parser=library_path)
    ],
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove FROM once TO was found to hold the same.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy a library from a folder to a server or back, and compare both. The images stay where they are."""
    from semblance.core.workflows.maintenance.move_library import move_library

    with ConsoleReporter() as reporter:
        result = move_library(source, target, remove=remove, reporter=reporter)
    print_document(result.to_json(), as_json, show_move)


@commands.command()
def index(
    library: LibraryPath,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="METRIC", help="Only this metric. The option can be repeated."),
    ] = None,
    fewest: Annotated[
        int | None,
        typer.Option(min=1, help="Set from how many cases on an index is used. [default at first: 100000]"),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            min=0.5,
            max=1.0,
            help="Set the share of the 20 nearest cases that the candidates must contain. [default at first: 0.98]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build or update the indexes on a server that find candidates for searches, and measure their recall."""
    from semblance.core.workflows.searches.index_candidates import index_candidates

    with ConsoleReporter() as reporter:
        done = index_candidates(library, tuple(metric or ()), fewest=fewest, recall=recall, reporter=reporter)
    print_document([one.to_json() for one in done], as_json, show_indexes)


@commands.command()
def people(library: LibraryPath, as_json: Json = False) -> None:
    """List who has which right in a library on a server."""
    from semblance.core.workflows.maintenance.manage_people import list_people

    print_document(list_people(library), as_json, show_people)


@commands.command()
def grant(
    library: LibraryPath,
    person: Annotated[str, typer.Argument(metavar="PERSON", help="The name of an account of the server.")],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", help="reader, annotator, curator, administrator, or none.")
    ],
    create: Annotated[
        bool,
        typer.Option("--create", help="Create the account. Its password is asked for, or read from stdin."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Give a person a right in a library on a server, in place of the one they had."""
    import sys

    from semblance.core.workflows.maintenance.manage_people import set_right

    password = None
    if create and sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    elif create:
        password = sys.stdin.readline().rstrip("\r\n")
    print_document(set_right(library, person, right, password), as_json, show_people)


@commands.command()
def watch(library: LibraryPath, as_json: Json = False) -> None:
    """Print what others change in a library on a server, as it happens. End it with Ctrl-C."""
    import json
    import sys

    from semblance.core.workflows.maintenance.watch_library import AWAY, BACK, WATCHING, library_changes

    def say(event: str, text: str, **more: Any) -> None:
        # One JSON document a line, because there is no end.
        echo(json.dumps({"event": event, **more}) if as_json else text)
        sys.stdout.flush()

    for event in library_changes(library):
        if event.kind == AWAY:
            say(event.kind, f"{event.reason} Trying again.", reason=event.reason)
        elif event.kind in (WATCHING, BACK):
            say(event.kind, f"Watching {library}." if event.kind == WATCHING else "The server answers again.")
        else:
            by = f" by {', '.join(sorted(event.authors))}" if event.authors else ""
            text = f"Changed{by}: {', '.join(event.tables)}."
            say(event.kind, text, tables=list(event.tables), authors=dict(event.authors))
